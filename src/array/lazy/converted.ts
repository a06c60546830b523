import { cloneTensor } from '../../core/dense.ts'
import { type DType, toElement } from '../../core/dtype.ts'
import { HyperslabError, rethrowWithin, within } from '../../core/errors.ts'
import { eachIndex } from '../../core/shape.ts'
import { type Tensor, tensorOf } from '../../core/tensor.ts'
import { eachMasked, placeAt } from '../../core/tensor-index.ts'
import { type Box, boxShape, viewOf } from '../../grid/range.ts'
import { type Element, isAnyMissing, type MissingOf, missingElement, missingElements } from '../missing.ts'
import { missingTest } from '../missing-test.ts'
import type { BlockOptions, BlockSource, PartStats, PartVisitor } from '../source.ts'
import type { Kind, WriteWhere } from './derive.ts'
import { readPicks, requestsThrough, writePicks } from './picked.ts'

/** Converts an element to another, both as they are stored. */
export type Convert = (element: never) => unknown

/**
 * Treatment of missing elements. `spare`: they become the missing value of the result. `convert`: they are
 * converted like others. `distinguish`: they are converted, too, but another element that would become equal
 * to one of them is rejected.
 */
export type Treatment = 'spare' | 'convert' | 'distinguish'

/** Elements that are `step` apart in memory, beginning at `at`. */
export interface ElementRun {
  readonly data: ArrayLike<unknown>
  readonly at: number
  readonly step: number
}

/** Conversion of elements in both directions. */
export interface Converting {
  /** Converts an element of the source to one of the result. */
  readonly forth: Convert
  /** Converts `count` elements, if one loop is faster than a call for each. */
  readonly forthAll?: ((below: ElementRun, above: ElementRun, count: number) => void) | undefined
  /** Converts an element of the result to one of the source. Optional: read-only arrays omit it. */
  readonly back?: Convert | undefined
  /** Treatment of missing elements; default `convert`. */
  readonly treatment?: Treatment
  /**
   * Converts statistics of source elements to those of the result. Optional: without it, results have no
   * statistics.
   */
  readonly statsOf?: ((below: PartStats) => PartStats | undefined) | undefined
}

/** A conversion that is loaded on first use. */
export interface Loading {
  readonly load: () => Converting | Promise<Converting>
  /** Whether there is a reverse conversion, so that the array is writable. */
  readonly back: boolean
}

/** Definition of an array whose elements are converted from those of a source. */
export interface Conversion {
  readonly source: BlockSource
  readonly kind: Kind<DType>
  readonly converting: Converting | Loading
}

/** Returns a conversion between two sources that applies the treatment of missing elements. */
function treating(treatment: Treatment = 'convert', from: MissingOf, to: MissingOf, convert: Convert): Convert {
  const [below, above] = [missingElements(from), missingElements(to)]
  if (treatment === 'convert' || !isAnyMissing(below) || !isAnyMissing(above)) return convert
  const isMissing = missingTest(below)!
  const missing = missingElement(above)
  if (treatment === 'spare') return (element: Element) => (isMissing(element) ? missing : convert(element as never))
  const becomesMissing = missingTest({ ...above, nan: false }) ?? (() => false)
  const { dtype } = to
  return (element: Element) => {
    const converted = convert(element as never)
    // The value as it will be stored.
    const stored = dtype === 'float32' ? toElement(dtype, converted) : converted
    if (!becomesMissing(stored) || isMissing(element)) return converted
    const text = `${String(element)} as ${dtype} is ${String(stored)}, which stands for missing elements`
    throw new HyperslabError('InvalidArgumentError', text, { actual: element, expected: dtype })
  }
}

const loaded = async ({ converting }: Conversion): Promise<Converting> => ('load' in converting ? converting.load() : converting)

async function loadForth(
  conversion: Conversion,
): Promise<Pick<Converting, 'statsOf'> & { convert: Convert; all: Converting['forthAll'] }> {
  const { treatment, forth, forthAll, statsOf } = await loaded(conversion)
  const convert = treating(treatment, conversion.source, conversion.kind, forth)
  return { convert, all: convert === forth ? forthAll : undefined, statsOf }
}

/** Returns the number of blocks that a read of these boxes fetches. */
export const requestsOfConverted = ({ source }: Conversion, boxes: readonly Box[]): Promise<number | undefined> =>
  requestsThrough(source, boxes.map((box) => box.map(viewOf))) // biome-ignore format: one line

/** Reads a box and converts its elements to `out`. */
export async function readConverted(conversion: Conversion, box: Box, out: Tensor, options?: BlockOptions): Promise<void> {
  const { source } = conversion
  const { convert, all } = await loadForth(conversion)
  const below = tensorOf(source.dtype, out.shape)
  await readPicks(source, box.map(viewOf), below, options)
  await within(source.label ?? {}, async () => convertTensor(below, out, convert, { all }))
}

/** Visits the converted elements of a box. */
export async function* visitConverted<D extends DType, R>(
  conversion: Conversion,
  box: Box,
  visitor: PartVisitor<D, R>,
  options?: BlockOptions,
): AsyncGenerator<R, void, undefined> {
  const { source, kind } = conversion
  const { convert, all, statsOf } = await loadForth(conversion)
  const below: PartVisitor<DType, R> = {
    shouldRead: (part, stats) => visitor.shouldRead(part, stats && statsOf?.(stats)),
    visit: (part, elements) => {
      const converted = tensorOf(kind.dtype as D, elements.shape)
      try {
        // Functions of users may keep or change their input, so they never receive shared memory.
        convertTensor(cloneTensor(source.dtype, elements), converted, convert, { all })
      } catch (error) {
        rethrowWithin(error, source.label ?? {})
      }
      return visitor.visit(part, converted)
    },
  }
  yield* source.bulk!.visit!(box, below, options)
}

/** Converts `values` and writes them to a box. */
export async function writeConverted(
  conversion: Conversion,
  ...[box, values, mask, options]: Parameters<WriteWhere<DType>>
): Promise<void> {
  const { source, kind } = conversion
  const { treatment, back } = await loaded(conversion)
  const convert = treating(treatment, kind, source, back!)
  const below = tensorOf(source.dtype, boxShape(box))
  await within(source.label ?? {}, async () => convertTensor(values, below, convert, { mask }))
  await writePicks(source, box.map(viewOf), below, mask, options)
}

/**
 * Converts every element of a tensor into another of its shape, with an inner loop over the innermost axis.
 * With a mask, only elements whose mask is 1 are converted, because others may not be convertible.
 */
function convertTensor(
  from: Tensor,
  to: Tensor,
  convert: Convert,
  { mask, all = oneByOne(convert) }: { readonly mask?: Tensor<'bool'> | undefined; readonly all?: Converting['forthAll'] } = {},
): void {
  if (mask !== undefined) {
    eachMasked(mask, (index) => {
      to.data[placeAt(to, index)] = convert(from.data[placeAt(from, index)] as never) as never
    })
    return
  }
  const { shape } = from
  const isMerged = (tensor: Tensor, axis: number): boolean => tensor.stride[axis - 1] === tensor.stride[axis]! * shape[axis]!
  let last = shape.length - 1
  let count = last < 0 ? 1 : shape[last]!
  const [stepFrom, stepTo] = [from.stride[last] ?? 0, to.stride[last] ?? 0]
  // Axes that are contiguous in both tensors are merged.
  while (last > 0 && isMerged(from, last) && isMerged(to, last)) count *= shape[--last]!
  eachIndex(shape.slice(0, Math.max(0, last)), (index) => {
    all(
      { data: from.data, at: placeAt(from, index), step: stepFrom },
      { data: to.data, at: placeAt(to, index), step: stepTo },
      count,
    )
  })
}

const oneByOne =
  (convert: Convert): NonNullable<Converting['forthAll']> =>
  (below, above, count) => {
    const [input, output] = [below.data, above.data as unknown[]]
    let [a, b] = [below.at, above.at]
    for (let i = 0; i < count; i++, a += below.step, b += above.step) output[b] = convert(input[a] as never)
  }
