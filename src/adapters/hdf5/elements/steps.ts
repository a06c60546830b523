import type { Step } from '../../../codec/chain.ts'
import { type Codec, inKernel, type KernelCodec } from '../../../codec/codec.ts'
import { decodeText } from '../../../core/characters.ts'
import { elementBytes, isFixed } from '../../../core/dtype.ts'
import { sizeOf, stridesOf } from '../../../core/shape.ts'
import { encodeChunk } from '../../../engine/write-box.ts'
import { copyStrided, type ElementBytes } from '../../../kernels/copy.ts'
import { filters } from '../../../kernels/filters.ts'
import { type Cursor, damaged } from '../cursor.ts'
import type { FileBytes } from '../file-bytes.ts'
import { type GlobalHeap, referencesIn } from '../structures/global-heap.ts'
import type { ElementPlan, ReferenceTarget } from './plan.ts'

/** File that values outside the elements are read from. */
export interface ValueSource {
  readonly file: FileBytes
  readonly heap: GlobalHeap
  /** Returns the paths of objects by their addresses. */
  paths(): Promise<ReadonlyMap<number, string>>
}

/** Whether stored elements are the payload of a chunk as they are. */
export const isPayload = ({
  isBigEndian,
  convert,
  target,
  innerShape,
  innerStrides,
  offset,
  recordBytes,
  valueBytes,
}: ElementPlan): boolean =>
  !isBigEndian &&
  convert === undefined &&
  target === undefined &&
  isDense({ innerShape, innerStrides, offset, recordBytes, valueBytes })

/** Whether values follow one another without gaps. */
function isDense({
  innerShape,
  innerStrides,
  offset,
  recordBytes,
  valueBytes,
}: Pick<ElementPlan, 'innerShape' | 'innerStrides' | 'offset' | 'recordBytes' | 'valueBytes'>): boolean {
  const dense = stridesOf(innerShape)
  return (
    offset === 0 &&
    recordBytes === valueBytes * sizeOf(innerShape) &&
    innerStrides.every((stride, i) => stride === dense[i]! * valueBytes)
  )
}

/**
 * Returns the steps from stored elements to the payload of a chunk.
 * @param count number of values in the chunk
 */
export function valueSteps(plan: ElementPlan, count: number, source: ValueSource): Step[] {
  const steps: Step[] = []
  if (!isDense(plan)) steps.push(gatherStep(plan))
  if (plan.isBigEndian) steps.push(swapStep(plan.valueBytes))
  if (plan.convert !== undefined) steps.push(convertStep(plan, plan.convert, count))
  if (plan.target !== undefined) steps.push(targetStep(plan, plan.target, count, source))
  return steps
}

/** Takes values out of elements, in kernel memory. */
function gatherStep({ recordBytes, offset, innerShape, innerStrides, valueBytes }: ElementPlan): Step {
  const size = valueBytes * sizeOf(innerShape)
  const places = [recordBytes, ...innerStrides, offset, valueBytes]
  const unit = ([8, 4, 2] as ElementBytes[]).find((unit) => places.every((each) => each % unit === 0)) ?? 1
  const from = [...[recordBytes, ...innerStrides].map((stride) => stride / unit), 1]
  return {
    name: 'field',
    encodedBytes: (decoded) => (decoded / size) * recordBytes,
    decodeIn(arena, pointer, length) {
      const copied = [length / recordBytes, ...innerShape, valueBytes / unit]
      const target = arena.alloc(sizeOf(copied) * unit)
      copyStrided(arena, unit, copied, pointer + offset, from, target, stridesOf(copied))
      return { pointer: target, length: sizeOf(copied) * unit }
    },
  }
}

const VECTOR = Uint8Array.from({ length: 16 }, (_, i) => i)

/** Reverses the byte order of numbers. */
function swapStep(wordBytes: number): Step {
  // Within a number, the position of a byte and that of its source differ in all bits.
  const places = VECTOR.map((i) => i ^ (wordBytes - 1))
  return {
    name: 'byte order',
    encodedBytes: (bytes) => bytes,
    decodeIn(arena, pointer, length) {
      if (length > 0) arena.scratch(() => filters(arena).swap(pointer, length, arena.put(places)))
      return { pointer, length }
    },
  }
}

function convertStep({ dtype, valueBytes }: ElementPlan, convert: NonNullable<ElementPlan['convert']>, count: number): Step {
  return {
    name: 'values',
    ...(isFixed(dtype)
      ? { encodedBytes: (bytes: number) => (bytes / elementBytes(dtype)) * valueBytes }
      : { inputBytes: count * valueBytes }),
    decode: (stored) => convert(stored, stored.length / valueBytes),
  }
}

/** Replaces references by the values that they refer to. */
function targetStep({ valueBytes }: ElementPlan, target: ReferenceTarget, count: number, source: ValueSource): Step {
  return {
    name: target.kind === 'path' ? 'paths' : target.kind === 'text' ? 'texts' : 'lists',
    inputBytes: count * valueBytes,
    decode: (stored) => decodeTargets(target, stored, count, source),
  }
}

/** Returns the bytes before the first NUL. */
function terminated(bytes: Uint8Array): Uint8Array {
  const end = bytes.indexOf(0)
  return end < 0 ? bytes : bytes.subarray(0, end)
}

/** Returns a codec as the first step of a chain. */
export const asStep = (codec: (Codec | KernelCodec) & { ready?(): unknown }): Step => ({
  name: codec.name,
  ready: async () => void (await codec.ready?.()),
  ...(inKernel(codec)
    ? {
        decodeIn: (arena, pointer, length, decodedBytes) => ({
          pointer: codec.decodeIn(arena, pointer, length, decodedBytes!),
          length: decodedBytes!,
        }),
      }
    : { decode: (bytes, decodedBytes) => codec.decode(bytes, decodedBytes!) }),
})

/**
 * Decodes stored elements that are not in a block, such as fill values and attributes, to the payload of a
 * chunk. Needs no kernels.
 */
export async function decodeElements(plan: ElementPlan, stored: Uint8Array, source: ValueSource): Promise<Uint8Array> {
  const { recordBytes, valueBytes, isBigEndian, innerShape, offset } = plan
  const records = Math.floor(stored.length / recordBytes)
  const places = innerPlaces(plan)
  const count = records * sizeOf(innerShape)
  const values = new Uint8Array(count * valueBytes)
  for (let record = 0, at = 0; record < records; record++)
    for (const place of places) {
      const start = record * recordBytes + offset + place
      const value = stored.slice(start, start + valueBytes)
      values.set(isBigEndian ? value.reverse() : value, at)
      at += valueBytes
    }
  if (plan.convert !== undefined) return plan.convert(values, count)
  return plan.target === undefined ? values : decodeTargets(plan.target, values, count, source)
}

/** Returns the positions of the values in an element. */
function innerPlaces({ innerShape, innerStrides }: ElementPlan): number[] {
  let places = [0]
  for (const [axis, length] of innerShape.entries())
    places = places.flatMap((place) => Array.from({ length }, (_, i) => place + i * innerStrides[axis]!))
  return places
}

/** Reads values by their references, of which `count` follow one another. */
async function decodeTargets(
  target: ReferenceTarget,
  references: Uint8Array,
  count: number,
  source: ValueSource,
): Promise<Uint8Array> {
  const cursor = referencesIn(source.file, references)
  if (target.kind === 'path') return encodeChunk('string', await findPaths(cursor, count, source))
  if (target.kind === 'text') {
    const texts = await source.heap.values(cursor, count, 1)
    return encodeChunk(
      'string',
      texts.map((bytes) => decodeText(terminated(bytes))),
    )
  }
  const { items } = target
  const lists = await source.heap.values(cursor, count, items.recordBytes)
  return encodeChunk('binary', await Promise.all(lists.map((list) => decodeElements(items, list, source))))
}

/**
 * Returns the paths of objects; '' for references to none.
 * @throws FormatError if no link of the file leads to an object
 */
async function findPaths(references: Cursor, count: number, source: ValueSource): Promise<string[]> {
  const paths = await source.paths()
  return Array.from({ length: count }, () => {
    const address = references.address()
    if (address === undefined || address === 0) return ''
    const text = `a reference leads to the address ${address}, to which no link of the file leads`
    return paths.get(address) ?? damaged(text, source.file.position(address), address)
  })
}
