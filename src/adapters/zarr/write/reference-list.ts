import type { DiskArray } from '../../../array/disk-array.ts'
import type { NamedValues } from '../../../array/source.ts'
import { largestDivisor } from '../../../core/divisors.ts'
import { type DType, elementBytes, isFixed } from '../../../core/dtype.ts'
import { HyperslabError } from '../../../core/errors.ts'
import { floatsIn, markFloats, withoutMembers, writeJson } from '../../../core/json.ts'
import { eachIndex, sizeOf, stridesOf } from '../../../core/shape.ts'
import { isStrided, type PinnedChunks, type StridedChunk } from '../../../engine/block.ts'
import type { ChunkIndex } from '../../../engine/chunk-index.ts'
import type { ChunkGrid } from '../../../grid/chunks.ts'
import type { JsonObject } from '../document.ts'
import { attributesDocument, entriesOf, fillDocument, storedTypeOf, withOneFill } from './document.ts'

/** Where a chunk is: bytes of a file. */
type Reference = readonly [file: string, offset: number, length: number]

/** An array of a format, which tells where its chunks are. */
export type IndexedArray = DiskArray & { readonly index: ChunkIndex }

/** How the chunks of an array lie in files, as Zarr of version 2 describes it. */
export interface ReferencedArray {
  readonly metadata: JsonObject
  readonly attributes: JsonObject
  /** By their keys. */
  readonly chunks: ReadonlyMap<string, Reference>
}

/** Larger pieces of an array that is stored as one are cut, where its length allows. */
const PIECE_BYTES = 4 * 1024 * 1024

/** What numcodecs decodes as blocks of containers are encoded. */
const COMPRESSORS: Readonly<Record<string, JsonObject | null>> = {
  none: null,
  lz4: { id: 'lz4', acceleration: 1 },
  zstd: { id: 'zstd', level: 0 },
}

/**
 * Where the chunks of an array of NetCDF or of a container lie.
 * @param along an axis of which the pieces have a length that divides `unit`: arrays are joined along it
 * @throws UnsupportedError for what Zarr has no words for: chunks that are cut off at the end of an axis, or
 *   that share compressed blocks, texts of containers
 */
export function referenceArray(array: IndexedArray, along?: { readonly axis: number; readonly unit: number }): ReferencedArray {
  const { index } = array
  const snapshot = index.snapshot().pinned()
  const first = snapshot.grid.count === 0 ? undefined : snapshot.locate(0)
  return isStrided(first) ? inPlace(index, snapshot, first as StridedChunk, along) : inBlocks(index, snapshot, along)
}

function inPlace(
  index: ChunkIndex,
  { grid }: PinnedChunks,
  { layout, offset }: StridedChunk,
  along: Parameters<typeof referenceArray>[1],
): ReferencedArray {
  const { shape } = grid
  const { byteStrides, elementBytes: bytes, origin, bigEndian } = layout
  const chunkShape = contiguousPieces(shape, byteStrides, bytes, along)
  const length = sizeOf(chunkShape) * bytes
  const chunks = new Map<string, Reference>()
  eachPiece(shape, chunkShape, (piece) => {
    const at = piece.reduce((sum, k, axis) => sum + k * chunkShape[axis]! * byteStrides[axis]!, offset)
    chunks.set(keyOf(piece), [origin.file, at, length])
  })
  const dtype = index.dtype === 'string' ? `|S${bytes}` : typeName(index.dtype, bigEndian)
  // What the file itself calls its fill value: the defaults of the library are no business of Zarr's readers.
  const fill = index.dtype === 'string' ? null : fillIn(index.attrs, index.dtype)
  return described(index, { shape, chunkShape, dtype, compressor: null, fill }, chunks)
}

/**
 * The shape of pieces that lie in one row: all of the last axes, a part of one whose length it divides, one
 * position of those before.
 */
function contiguousPieces(
  shape: readonly number[],
  byteStrides: readonly number[],
  bytes: number,
  along: Parameters<typeof referenceArray>[1],
): number[] {
  const dense = stridesOf(shape).map((stride) => stride * bytes)
  const pieces = shape.map(() => 1)
  for (let axis = shape.length - 1, room = PIECE_BYTES / bytes; axis >= 0; axis--) {
    const isDense = shape.every((length, at) => at < axis || length === 1 || dense[at] === byteStrides[at])
    const unit = along?.axis === axis ? along.unit : shape[axis]!
    const most = isDense ? Math.max(1, Math.floor(room)) : 1
    pieces[axis] = largestDivisor(unit, most)
    if (pieces[axis] !== shape[axis]!) break
    room /= pieces[axis]!
  }
  return pieces
}

function inBlocks(index: ChunkIndex, snapshot: PinnedChunks, along: Parameters<typeof referenceArray>[1]): ReferencedArray {
  const { grid } = snapshot
  const { dtype } = index
  if (!isFixed(dtype)) return unsuited(`arrays of ${dtype} are stored in another way than Zarr has them`)
  const chunkShape = wholeChunks(grid, along)
  const chunks = new Map<string, Reference>()
  const codecs = new Set<string>()
  for (const number of new Set(snapshot.stored())) {
    const found = snapshot.locate(number)
    if (found === undefined) continue
    if (found instanceof Uint8Array || isStrided(found)) return unsuited('some of its chunks are not in a file')
    const { block, offset, size } = found
    codecs.add(block.codec)
    if (COMPRESSORS[block.codec] === undefined) return unsuited(`numcodecs does not decode blocks of '${block.codec}'`)
    if (block.codec !== 'none' && size !== block.uncompressedBytes)
      return unsuited('several of its chunks are compressed together: write each to a block of its own (import --block-bytes 1)')
    const place = block.codec === 'none' ? [block.fileOffset + offset, size] : [block.fileOffset, block.compressedBytes]
    chunks.set(keyOf(grid.index(number)), [block.origin.file, place[0]!, place[1]!])
  }
  if (codecs.size > 1)
    return unsuited(`its chunks are compressed in several ways: ${[...codecs].join(', ')}; compact the container`)
  const [codec = 'none'] = codecs
  const fill = index.fillValue === undefined ? null : fillDocument(index.fillValue, storedTypeOf(dtype))
  const stored = { shape: grid.shape, chunkShape, dtype: typeName(dtype, false), compressor: COMPRESSORS[codec]!, fill }
  return described(index, stored, chunks)
}

/** Chunks of the container end with the array, those of Zarr do not. */
function wholeChunks({ axes }: ChunkGrid, along: Parameters<typeof referenceArray>[1]): number[] {
  return axes.map(({ chunkLength, length, count, offset }, axis) => {
    const own = count <= 1 && along?.axis !== axis ? Math.max(1, length) : chunkLength
    if (offset === 0 && length % own === 0 && (along?.axis !== axis || along.unit % own === 0)) return own
    return unsuited(
      `its chunks of ${chunkLength} do not divide axis ${axis} of ${length}, and Zarr has the last one whole: export it`,
    )
  })
}

interface StoredAs {
  readonly shape: readonly number[]
  readonly chunkShape: readonly number[]
  readonly dtype: string
  readonly compressor: JsonObject | null
  readonly fill: unknown
}

function described(
  { dtype, attrs, dimensionNames }: ChunkIndex,
  { shape, chunkShape, dtype: stored, compressor, fill }: StoredAs,
  chunks: ReadonlyMap<string, Reference>,
): ReferencedArray {
  const own = withoutMembers(
    attributesDocument(withOneFill(attrs, dtype), dtype),
    (name) => name === '_FillValue' || name === '_ARRAY_DIMENSIONS',
  )
  const attributes = markFloats({ ...own, _ARRAY_DIMENSIONS: dimensionNames ?? [] }, floatsIn(own))
  const metadata = {
    ...{ zarr_format: 2, shape: [...shape], chunks: [...chunkShape], dtype: stored, compressor, fill_value: fill },
    ...{ order: 'C', filters: null },
  }
  return { metadata, attributes, chunks }
}

/** Returns the fill value that attributes name, as the metadata spell it; null if they name no element. */
function fillIn(attrs: NamedValues | undefined, dtype: DType): unknown {
  const value = new Map(entriesOf(withOneFill(attrs, dtype) ?? {})).get('_FillValue')
  return typeof value === 'number' || typeof value === 'bigint' ? fillDocument(value, storedTypeOf(dtype)) : null
}

const LETTERS: Readonly<Record<string, string>> = { int: 'i', uint: 'u', float: 'f' }

/** The data type as numpy writes it. */
function typeName(dtype: DType, bigEndian: boolean): string {
  if (!isFixed(dtype)) return unsuited(`arrays of ${dtype} are stored in another way than Zarr has them`)
  const bytes = elementBytes(dtype)
  const order = bytes === 1 ? '|' : bigEndian ? '>' : '<'
  if (dtype === 'bool') return '|b1'
  if (dtype === 'timestamp_ns') return `${order}M8[ns]`
  return `${order}${LETTERS[dtype.replace(/\d+/, '')]}${bytes}`
}

const keyOf = (index: readonly number[]): string => (index.length === 0 ? '0' : index.join('.'))

function eachPiece(shape: readonly number[], chunkShape: readonly number[], visit: (index: readonly number[]) => void): void {
  if (!shape.includes(0))
    eachIndex(
      shape.map((length, axis) => length / chunkShape[axis]!),
      visit,
    )
}

function unsuited(text: string): never {
  throw new HyperslabError('UnsupportedError', `no references are written: ${text}`)
}

/**
 * Several arrays as one, end to end along an axis.
 * @throws UnsupportedError when they differ in more than their length along it
 */
export function joinReferences(parts: readonly ReferencedArray[], axis: number): ReferencedArray {
  const [first] = parts as [ReferencedArray]
  const factsOf = ({ metadata, attributes }: ReferencedArray): JsonObject => {
    const shape = (metadata['shape'] as number[]).with(axis, 0)
    return { ...metadata, shape, attributes }
  }
  const chunks = new Map<string, Reference>()
  let length = 0
  for (const part of parts) {
    const [facts, own] = [factsOf(first), factsOf(part)]
    const other = Object.keys(facts).find((name) => writeJson(facts[name]) !== writeJson(own[name]))
    if (other !== undefined)
      return unsuited(`its ${other} is ${writeJson(own[other])} in one file and ${writeJson(facts[other])} in another`)
    const unit = (part.metadata['chunks'] as number[])[axis]!
    for (const [key, place] of part.chunks) {
      const index = key.split('.').map(Number)
      chunks.set(keyOf(index.with(axis, index[axis]! + length / unit)), place)
    }
    length += (part.metadata['shape'] as number[])[axis]!
  }
  const shape = (first.metadata['shape'] as number[]).with(axis, length)
  return { ...first, metadata: { ...first.metadata, shape }, chunks }
}

/** The document of version 1 that kerchunk writes. */
export function referenceDocument(
  arrays: ReadonlyMap<string, ReferencedArray>,
  attributes: JsonObject,
  urlOf: (file: string) => string,
): JsonObject {
  const refs: Record<string, unknown> = { '.zgroup': writeJson({ zarr_format: 2 }), '.zattrs': writeJson(attributes) }
  for (const [name, { metadata, attributes, chunks }] of arrays) {
    refs[`${name}/.zarray`] = writeJson(metadata)
    refs[`${name}/.zattrs`] = writeJson(attributes)
    for (const [key, [file, offset, length]] of chunks) refs[`${name}/${key}`] = [urlOf(file), offset, length]
  }
  return { version: 1, refs }
}
