import type { Codec, KernelCodec } from '../../../codec/codec.ts'
import { decodeWith, inKernel } from '../../../codec/codec.ts'
import { type DataOf, type DType, elementBytes, fillElement, isFixed, type ScalarOf } from '../../../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../../../core/errors.ts'
import { forEachLimited, Limiter } from '../../../core/limiter.ts'
import { numbersFrom } from '../../../core/numbers.ts'
import { yieldToEventLoop } from '../../../core/pace.ts'
import { sizeOf } from '../../../core/shape.ts'
import type { Signal } from '../../../core/signal.ts'
import { copyTensor, fillTensor, type Tensor, tensorOf, viewTensor } from '../../../core/tensor.ts'
import { eachMasked, placeAt } from '../../../core/tensor-index.ts'
import { decodeChunk } from '../../../engine/chunk-values.ts'
import { encodeChunk } from '../../../engine/write-box.ts'
import type { ChunkGrid } from '../../../grid/chunks.ts'
import type { AxisProjection } from '../../../grid/projection.ts'
import { type Box, rangeOf } from '../../../grid/range.ts'
import { TouchedChunks } from '../../../grid/touched.ts'
import { withArena } from '../../../kernels/arena.ts'
import type { CodecMetadata, ShardLevel, StoredType } from '../metadata.ts'
import type { ChunkPlace } from '../places.ts'
import { type ChunkEncoder, chunkEncoder } from './encode.ts'
import type { ChangeOptions, ObjectWriter } from './object-writer.ts'
import { packShard, unpackShard } from './pack-shard.ts'

/** An array to be written. */
export interface WrittenArray {
  readonly objects: ObjectWriter
  /**
   * Set by the holder of a claim, see {@link ChangeOptions}. Chunks that contain only the fill value are then
   * stored, too.
   */
  readonly holds: ChangeOptions['holds']
  /** Rejects if another process has replaced the array. Awaited before an object is stored. */
  readonly checked?: Promise<void> | undefined
  readonly type: StoredType
  readonly fillValue: ScalarOf<DType> | undefined
  /** Values of an unwritten stored element, if they differ. */
  readonly fillValues: readonly ScalarOf<DType>[] | undefined
  /** Codecs of a chunk. */
  readonly codecs: readonly CodecMetadata[]
  readonly users: readonly Codec[]
  /** Whether chunks that contain only the fill value are stored. */
  readonly writeEmptyChunks: boolean
  /** Maximum size of a decoded chunk in bytes. */
  readonly mostBytes: number
  /** Decoded bytes of objects that are written at the same time. A larger object is written alone. */
  readonly writeBytes: number | undefined
  readonly levels: readonly ShardLevel[]
  /** Grids of the chunks and of the objects that contain them, as they are stored. */
  readonly chunks: ChunkGrid
  readonly shards: ChunkGrid
  keyOf(object: readonly number[]): string
  placeOf(chunkIndex: number): ChunkPlace
  /** Returns the decoder of chunks of a shape. */
  decoderOf(shape: readonly number[]): Codec | KernelCodec
}

/**
 * Limits of the objects that are written at the same time: their number, and the default of their decoded
 * bytes.
 */
const OBJECTS_AT_ONCE = 16
const BYTES_AT_ONCE = 256 * 1024 * 1024
/** Number of chunks of a shard that are encoded at the same time. */
const CHUNKS_AT_ONCE = 8
/** Assumed bytes of a string or binary, whose length is unknown. */
const GUESSED_BYTES = 64

/** Elements to be written to an array. */
export interface BoxToWrite {
  readonly box: Box
  /** Has the shape of the box. */
  readonly source: Tensor
  /**
   * Has the shape of the box, too. Elements with mask 0 keep their values. Without a mask, all elements are
   * written.
   */
  readonly mask?: Tensor<'bool'> | undefined
}

/** Change of one chunk. */
interface ChunkChange {
  readonly place: ChunkPlace
  /** Changed positions along each axis: in the chunk, and in `values`. */
  readonly projections: readonly AxisProjection[]
  readonly values: Tensor
  readonly mask: Tensor<'bool'> | undefined
}

/**
 * Writes a box, object by object. Reads partly covered objects first. Omits chunks that contain only the fill
 * value, and objects without chunks.
 * @throws ReadOnlyError if some codec of the array can only be read
 */
export async function writeObjects(array: WrittenArray, written: BoxToWrite, signal: Signal | undefined): Promise<void> {
  const kinds = createChunkKinds(array)
  const touched = new TouchedChunks(written.box, array.shards)
  const { dtype, bytes = GUESSED_BYTES } = array.type
  const each = isFixed(dtype) ? elementBytes(dtype) : bytes
  const limiter = new Limiter(OBJECTS_AT_ONCE, array.writeBytes ?? BYTES_AT_ONCE)
  await forEachLimited(numbersFrom(0, touched.count), OBJECTS_AT_ONCE, async (at) => {
    // Otherwise all objects would be encoded before the store gets the first one.
    await yieldToEventLoop()
    signal?.throwIfAborted()
    const projections = touched.projections(at)
    const size = sizeOf(projections.map(({ length }) => length))
    await limiter.run(size * each, () => writeObject(array, kinds, projections, written, signal), signal)
  })
}

async function writeObject(
  array: WrittenArray,
  kinds: ChunkKinds,
  projections: readonly AxisProjection[],
  { source, mask }: BoxToWrite,
  signal: Signal | undefined,
): Promise<void> {
  const object = projections.map(({ chunk }) => chunk)
  const box = projections.map(({ chunk, from }, axis) => {
    const start = array.shards.axes[axis]!.start(chunk)
    return rangeOf({ ...from, start: start + from.start })
  })
  const places = projections.map(({ to }) => to)
  const values = viewTensor(source, places)
  const own = mask && viewTensor(mask, places)
  const touched = new TouchedChunks(box, array.chunks)
  const changes = Array.from(numbersFrom(0, touched.count), (at): ChunkChange => {
    const inner = touched.projections(at)
    return { place: array.placeOf(touched.numberOf(inner)), projections: inner, values, mask: own }
  })
  const key = array.keyOf(object)
  const { holds } = array
  // Covered with its full shape, not only within the array, because another writer may have made the array
  // longer and stored data there.
  if (mask === undefined && isCovered(projections)) {
    const bytes = await changed(array, kinds, 0, undefined, changes, holds === undefined)
    await array.checked
    await array.objects.replace(key, bytes, { holds, signal })
    return
  }
  await array.objects.change(key, { signal, holds }, async (old, isRemovable) => {
    // A chunk of a replaced array may not decode.
    await array.checked
    if (old?.length === 0) throw new HyperslabError('CodecError', 'the chunk is an object without bytes', { file: key })
    return changed(array, kinds, 0, old, changes, isRemovable)
  })
}

const isCovered = (projections: readonly AxisProjection[]): boolean =>
  projections.every(({ from, length }) => from.length === length)

/**
 * Returns the new bytes of an object, or of an inner shard or chunk.
 * @param isRemovable whether it may be removed
 */
async function changed(
  array: WrittenArray,
  kinds: ChunkKinds,
  depth: number,
  old: Uint8Array | undefined,
  changes: readonly ChunkChange[],
  isRemovable: boolean,
): Promise<Uint8Array | undefined> {
  const level = array.levels[depth]
  if (level === undefined) return changedChunk(array, kinds, old, changes[0]!, isRemovable)
  const groups = new Map<number, ChunkChange[]>()
  for (const change of changes) {
    const position = change.place.positions[depth]!
    const known = groups.get(position)
    if (known === undefined) groups.set(position, [change])
    else known.push(change)
  }
  const count = sizeOf(changes[0]!.place.tableShapes[depth]!)
  const parts = await unpackShard(level, count, old)
  await forEachLimited(groups, CHUNKS_AT_ONCE, async ([position, inner]) => {
    parts[position] = await changed(array, kinds, depth + 1, parts[position], inner, true)
  })
  return isRemovable && parts.every((part) => part === undefined) ? undefined : packShard(level, parts)
}

async function changedChunk(
  array: WrittenArray,
  kinds: ChunkKinds,
  old: Uint8Array | undefined,
  { place: { shape }, projections, values, mask }: ChunkChange,
  isRemovable: boolean,
): Promise<Uint8Array | undefined> {
  const { dtype } = array.type
  const { encode, spare } = kinds(shape)
  const isWhole = mask === undefined && isCovered(projections)
  // Without bytes, the decoder returns an unwritten chunk.
  const before = old ?? (array.fillValues && NO_BYTES)
  const chunk = isWhole || before === undefined ? tensorOf(dtype, shape, spare.pop()) : await decoded(array, shape, before)
  if (!isWhole && before === undefined) fillTensor(chunk, fillElement(dtype, array.fillValue))
  const places = projections.map(({ to }) => to)
  const target = viewTensor(
    chunk,
    projections.map(({ from }) => from),
  )
  if (mask === undefined) copyTensor(viewTensor(values, places), target)
  else copyMasked(viewTensor(values, places), viewTensor(mask, places), target)
  const isLeftOut = isRemovable && !array.writeEmptyChunks && isEmpty(array, chunk.data)
  const bytes = isLeftOut ? undefined : await encode(encodeChunk(dtype, chunk.data))
  // Unless a codec changed them, the stored bytes are the buffer of the chunk.
  if (bytes?.buffer !== (chunk.data as Partial<Uint8Array>).buffer) spare.push(chunk.data)
  return bytes
}

/** Copies the elements whose mask is 1. */
function copyMasked(source: Tensor, mask: Tensor<'bool'>, target: Tensor): void {
  const [from, to] = [viewBits(source.data), viewBits(target.data)] as [ArrayLike<unknown>, { [index: number]: unknown }]
  eachMasked(mask, (index) => {
    to[placeAt(target, index)] = from[placeAt(source, index)]
  })
}

async function decoded(array: WrittenArray, shape: readonly number[], stored: Uint8Array): Promise<Tensor> {
  const { type, mostBytes } = array
  const { dtype } = type
  const codec = array.decoderOf(shape)
  const count = sizeOf(shape)
  const size = isFixed(dtype) ? count * elementBytes(dtype) : Infinity
  if (isFixed(dtype) && size > mostBytes) {
    const text = `a chunk has ${size} bytes, at most \`limits.blockBytes\`, ${mostBytes}, are read`
    throw new HyperslabError('TooLargeError', text, { actual: size, expected: mostBytes })
  }
  const bytes = inKernel(codec)
    ? withArena((arena) => {
        const pointer = codec.decodeIn(arena, arena.put(stored), stored.length, size)
        return arena.bytes(pointer, size).slice()
      })
    : // What a codec of others gives may be theirs.
      (await decodeWith(codec, stored, size)).slice()
  return tensorOf(dtype, shape, decodeChunk(dtype, bytes, count))
}

const NO_BYTES = new Uint8Array(0)

/** Whether each element is the fill value, bit for bit. Without one, nothing can be left out. */
function isEmpty({ type: { dtype }, fillValue, fillValues }: WrittenArray, data: DataOf<DType>): boolean {
  if (fillValues !== undefined) {
    const fills = viewBits(fillsOf(dtype, fillValues))
    const bits = viewBits(data)
    for (let i = 0; i < bits.length; i++) if (bits[i] !== fills[i % fills.length]) return false
    return true
  }
  if (fillValue === undefined) return false
  const fill = fillElement(dtype, fillValue)
  if (dtype === 'string') return (data as string[]).every((value) => value === fill)
  if (dtype === 'binary') return (data as Uint8Array[]).every((value) => sameBytes(value, fill as Uint8Array))
  const one = tensorOf(dtype, [1])
  one.data[0] = fill as never
  return sameElements(viewBits(data), viewBits(one.data)[0]!)
}

/** Returns the values of an unwritten stored element as data. */
export function fillsOf(dtype: DType, fillValues: readonly ScalarOf<DType>[]): DataOf<DType> {
  const { data } = tensorOf(dtype, [fillValues.length])
  for (const [i, value] of fillValues.entries()) data[i] = fillElement(dtype, value) as never
  return data
}

const sameElements = (bits: ArrayLike<number | bigint>, fill: number | bigint): boolean => {
  for (let i = 0; i < bits.length; i++) if (bits[i] !== fill) return false
  return true
}

/** Returns integers of the same bits, which distinguish 0 from -0, and compare a NaN as equal to itself. */
function viewBits(data: DataOf<DType>): ArrayLike<number | bigint> {
  if (data instanceof Float32Array) return new Uint32Array(data.buffer, data.byteOffset, data.length)
  if (data instanceof Float64Array) return new BigUint64Array(data.buffer, data.byteOffset, data.length)
  return data as ArrayLike<number | bigint>
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i])

/** Shared data of chunks of one shape during a write. */
interface ChunkKind {
  readonly encode: ChunkEncoder
  /** Buffers of encoded chunks for reuse, because touching fresh memory takes longer than filling it. */
  readonly spare: DataOf<DType>[]
}

/** Returns the shared data by the shape of a chunk. */
type ChunkKinds = (shape: readonly number[]) => ChunkKind

/** @throws ReadOnlyError for a shape whose chunks cannot be encoded */
function createChunkKinds({ codecs, type, users }: WrittenArray): ChunkKinds {
  const known = new Map<string, ChunkKind>()
  return (shape) => {
    const name = shape.join()
    let kind = known.get(name)
    if (kind === undefined) {
      kind = { encode: writable(() => chunkEncoder(codecs, type, shape, users)), spare: [] }
      known.set(name, kind)
    }
    return kind
  }
}

/** @throws ReadOnlyError if a codec cannot encode */
function writable<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!isHyperslabError(error, 'UnsupportedError', 'CodecError')) throw error
    throw new HyperslabError('ReadOnlyError', `the array can be read but not written: ${error.message}`, { cause: error })
  }
}
