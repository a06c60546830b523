import type { Reduction } from '../aggregate/reduction.ts'
import type { BlockSource, PartStats } from '../array/source.ts'
import { cloneTensor } from '../core/dense.ts'
import { type DataOf, type DType, fillElement, isBigInt, isFixed, isNumeric } from '../core/dtype.ts'
import { coordsAt, sizeOf } from '../core/shape.ts'
import { copyTensor, type Tensor, tensorOf, viewTensor } from '../core/tensor.ts'
import { placeAt } from '../core/tensor-index.ts'
import { chunkBoxes } from '../grid/chunks.ts'
import { type Box, boxShape, rangeLength, wholeBox } from '../grid/range.ts'
import { resolveSelection } from '../grid/selection.ts'
import { plan } from '../grid/split-list.ts'
import { type Conformance, equal } from './check.ts'

type Check = (source: BlockSource, content: Tensor) => Promise<void>

/**
 * Returns the requirements for every source, within its declared capabilities.
 * @param make called for each case; returns a source, and all its elements as they must be read
 */
export function sourceConformance(
  make: () => Promise<{ readonly source: BlockSource; readonly content: Tensor }>,
): Conformance[] {
  return CASES.map(([name, check]) => ({
    name,
    run: async () => {
      const { source, content } = await make()
      await check(source, content)
    },
  }))
}

const ownShape: Check = async (source, content) => {
  equal(source.shape, content.shape)
  equal(source.chunks.shape, content.shape)
  if (source.dimensionNames !== undefined) equal(source.dimensionNames.length, content.shape.length)
}

const everything: Check = async (source, content) => {
  if (sizeOf(content.shape) > 0) await expectRead(source, content, wholeBox(source.shape))
}

const chunkByChunk: Check = async (source, content) => {
  for (const box of someChunks(source)) await expectRead(source, content, box)
}

const acrossChunks: Check = async (source, content) => {
  for (const box of someBoxes(source)) await expectRead(source, content, box)
}

const withSteps: Check = async (source, content) => {
  if (!source.capabilities?.steps) return
  for (const box of someBoxes(source)) {
    for (const step of [2, 3]) {
      const stepped = box.map(({ start, stop }) =>
        stop - start > step ? { start, stop, step } : { start, stop: start + 1, step: 1 },
      )
      await expectRead(source, content, stepped)
    }
  }
}

const anyStrides: Check = async (source, content) => {
  for (const box of someBoxes(source).slice(0, 4)) {
    const shape = boxShape(box)
    const wanted = viewTensor(content, toViews(box))
    // Output that is transposed, reversed and has gaps: every second element of a larger tensor.
    const room = marked(
      source,
      [...shape].reverse().map((length) => 2 * length),
    )
    const out = {
      data: room.data,
      shape,
      stride: room.stride.map((step) => -2 * step).reverse(),
      offset: room.stride.reduce((sum, step, axis) => sum + 2 * (room.shape[axis]! / 2 - 1) * step, 0),
    }
    await source.readBlock(box, out)
    equal(cloneTensor(source.dtype, out).data, cloneTensor(source.dtype, wanted).data)
    const touched = new Set(elementsOf(out))
    for (let i = 0; i < room.data.length; i++) if (!touched.has(i)) equal(room.data[i], marked(source, []).data[0])
  }
}

const manyAtOnce: Check = async (source, content) => {
  await Promise.all(someBoxes(source).flatMap((box) => [expectRead(source, content, box), expectRead(source, content, box)]))
}

const readsWhatIsWritten: Check = async (source, content) => {
  if (source.writeBlock === undefined) return
  const expected = cloneTensor(source.dtype, content)
  const values = cloneTensor(source.dtype, content)
  for (const box of someBoxes(source)) {
    const views = toViews(box)
    // Elements of the array in another order are valid values.
    const turned = viewTensor(
      values,
      views.map(({ start, step, length }) => ({ start: start + (length - 1) * step, step: -step, length })),
    )
    await source.writeBlock(box, turned)
    copyTensor(turned, viewTensor(expected, views))
    await expectRead(source, expected, box)
  }
  await everything(source, expected)
}

const bulkRead: Check = async (source, content) => {
  if (source.bulk?.read === undefined) return
  const reads = someBoxes(source).map((box) => ({ box, out: marked(source, boxShape(box)) }))
  await source.bulk.read(reads)
  for (const { box, out } of reads) equal(out.data, elementsIn(source, content, box))
}

const bulkGather: Check = async (source, content) => {
  if (source.bulk?.gather === undefined || sizeOf(source.shape) === 0) return
  const lists = source.shape.map((length) => [0, length - 1, length >> 1])
  const { transfers, fullShape } = plan(resolveSelection(lists, source.shape), source.chunks, {
    steps: source.capabilities?.steps,
  })
  const out = marked(source, fullShape)
  await source.bulk.gather(transfers, out)
  const wanted = tensorOf(source.dtype, fullShape)
  for (let place = 0; place < sizeOf(fullShape); place++) {
    const index = coordsAt(place, fullShape).map((i, axis) => lists[axis]![i]!)
    wanted.data[place] = content.data[placeAt(content, index)] as never
  }
  equal(out.data, wanted.data)
}

const bulkRequests: Check = async (source) => {
  const requests = await source.bulk?.requests?.([])
  if (requests !== undefined) equal(requests, 0)
  // Several boxes may share a block. Together they need at most the sum of their requests, and at least the
  // requests of each one.
  const boxes = someBoxes(source)
  const each = await Promise.all(boxes.map((box) => source.bulk?.requests?.([box])))
  const all = await source.bulk?.requests?.(boxes)
  if (all === undefined || !each.every((count) => count !== undefined)) return
  equal(all <= each.reduce((sum, count) => sum + count, 0) && all >= Math.max(0, ...each), true)
}

const bulkReduce: Check = async (source, content) => {
  const { dtype, bulk } = source
  if (bulk?.reduce === undefined || !isNumeric(dtype)) return
  for (const box of someBoxes(source)) {
    for (const op of ['min', 'max'] as const) {
      const reduction: Reduction<'min' | 'max'> = { op, dtype, skip: 'none', reduced: source.shape.map(() => true) }
      const parts: number[] = []
      await bulk.reduce(box, reduction, ({ parts: [part] }) => {
        if (part!.counts[0]! > 0) parts.push(part!.values[0] as number)
      })
      const extreme = (all: number[]): number =>
        all.reduce((a, b) => (Number.isNaN(a) || (op === 'min' ? a <= b : a >= b) ? a : b))
      equal(extreme(parts), extreme([...elementsIn(source, content, box)] as number[]))
    }
  }
}

const bulkWritten: Check = async (source, content) => {
  const written = await source.bulk?.written?.(source.chunks)
  if (written === undefined) return
  const known = new Set(written)
  const fill = fillElement(source.dtype, source.fillValue)
  let number = 0
  for (const box of chunkBoxes(source.chunks))
    if (!known.has(number++)) for (const element of elementsIn(source, content, box)) equal(element, fill)
}

const bulkVisit: Check = async (source, content) => {
  const { bulk, capabilities, dtype } = source
  if (bulk?.visit === undefined) return
  const fill = source.fillValue === undefined ? undefined : fillElement(dtype, source.fillValue)
  const steps = capabilities?.steps ? [1, 3] : [1]
  for (const box of someBoxes(source).flatMap((each) => steps.map((step) => each.map((range) => ({ ...range, step }))))) {
    const shape = boxShape(box)
    const whole = tensorOf(dtype, shape, elementsIn(source, content, box))
    const inPart = (part: Box): DataOf<DType> => cloneTensor(dtype, viewTensor(whole, toViews(part))).data
    const visited = new Uint8Array(sizeOf(shape))
    const shouldRead = (part: Box, stats: PartStats | undefined): boolean => {
      if (stats !== undefined) equal(agree(stats, [...inPart(part)], fill), true)
      return true
    }
    const visit = (part: Box, elements: Tensor): void => {
      equal(elements.shape, boxShape(part))
      equal([...cloneTensor(dtype, elements).data], [...inPart(part)])
      const own = { data: visited, shape, stride: whole.stride, offset: 0 } as unknown as Tensor
      for (const at of elementsOf(viewTensor(own, toViews(part)))) visited[at]!++
    }
    for await (const _ of bulk.visit(box, { shouldRead, visit }));
    equal(visited, new Uint8Array(visited.length).fill(1))
    // Refused parts must not be passed on.
    const refused = new Set<string>()
    let number = 0
    const some = (part: Box): boolean => {
      const isRead = number++ % 2 === 0
      if (!isRead) refused.add(JSON.stringify(part))
      return isRead
    }
    for await (const part of bulk.visit(box, { shouldRead: some, visit: (part) => JSON.stringify(part) }))
      equal(refused.has(part), false)
  }
}

/** Whether statistics match some elements or, if they are not exact, exclude none of them. */
function agree({ min, max, count, fillCount, exact }: PartStats, elements: readonly unknown[], fill: unknown): boolean {
  const numbers = elements.filter((each) => each !== fill && !Number.isNaN(each)) as number[]
  const fills = elements.filter((each) => each === fill).length
  const isBetween = (each: number): boolean => count > 0 && each >= min! && each <= max!
  if (!numbers.every(isBetween)) return false
  if (!exact) return fills === 0 || fillCount > 0 || isBetween(fill as number)
  return numbers.length === count && (Number.isNaN(fill) || fills === fillCount)
}

const CASES: readonly (readonly [string, Check])[] = [
  ['shape, chunks and names fit together', ownShape],
  ['everything at once', everything],
  ['chunk by chunk', chunkByChunk],
  ['boxes across chunks', acrossChunks],
  ['boxes with steps, where it takes them', withSteps],
  ['into tensors of any strides, and nothing beside their elements', anyStrides],
  ['many at once', manyAtOnce],
  ['what is written is read, and nothing else changes, where it takes writes', readsWhatIsWritten],
  ['many boxes at once, where it reads in bulk', bulkRead],
  ['lists, where it gathers', bulkGather],
  ['requests of several boxes, where it counts them', bulkRequests],
  ['extremes of boxes, where it reduces', bulkReduce],
  ['unwritten elements have the fill value, if it knows them', bulkWritten],
  ['each part once, with what is known of it, where it visits', bulkVisit],
]

const elementsIn = ({ dtype }: BlockSource, content: Tensor, box: Box): DataOf<DType> =>
  cloneTensor(dtype, viewTensor(content, toViews(box))).data

async function expectRead(source: BlockSource, content: Tensor<DType>, box: Box): Promise<void> {
  const out = marked(source, boxShape(box))
  await source.readBlock(box, out)
  equal(out.data, elementsIn(source, content, box))
}

/** Returns memory full of a marker, which reveals elements that are skipped or wrongly written. */
function marked({ dtype }: BlockSource, shape: readonly number[]): Tensor {
  const tensor = tensorOf(dtype, shape)
  if (isFixed(dtype)) (tensor.data as { fill(value: unknown): unknown }).fill(isBigInt(dtype) ? 1n : 1)
  return tensor
}

const toViews = (box: Box): { start: number; step: number; length: number }[] =>
  box.map((range) => ({ start: range.start, step: range.step, length: rangeLength(range) }))

const LIMIT = 12

function someChunks({ chunks }: BlockSource): Box[] {
  const every = Math.max(1, Math.floor(chunks.count / LIMIT))
  return Array.from({ length: Math.min(chunks.count, LIMIT) }, (_, i) => chunks.box(chunks.index(i * every)))
}

/** Returns boxes that start and stop within chunks, spread over the array. */
function someBoxes({ shape }: BlockSource): Box[] {
  if (sizeOf(shape) === 0) return []
  return Array.from({ length: LIMIT }, (_, i) =>
    shape.map((length, axis) => {
      const start = ((i + 1) * (axis + 3) * 7) % length
      const stop = start + 1 + (((i + 2) * (axis + 5)) % (length - start))
      return i === 0 ? { start: 0, stop: length, step: 1 } : { start, stop, step: 1 }
    }),
  )
}

/** Returns the positions of the elements of a tensor in its data. */
function elementsOf({ shape, stride, offset }: Tensor): number[] {
  return shape.reduce<number[]>(
    (bases, length, axis) => bases.flatMap((base) => Array.from({ length }, (_, i) => base + i * stride[axis]!)),
    [offset],
  )
}
