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
import { attributesDocument, checkedEntries, fillDocument, toStoredType, withOneFill } from './document.ts'

/** Location of a chunk: bytes of a file. */
type Reference = readonly [file: string, offset: number, length: number]

/** An array of a format with an index of its chunks. */
export type IndexedArray = DiskArray & { readonly index: ChunkIndex }

/** Location of the chunks of an array in files, in the terms of Zarr version 2. */
export interface ReferencedArray {
  readonly metadata: JsonObject
  readonly attributes: JsonObject
  /** By their keys. */
  readonly chunks: ReadonlyMap<string, Reference>
}

/**
 * An array that is stored as one piece is divided into pieces of this size, in bytes, if its length allows.
 */
const PIECE_BYTES = 4 * 1024 * 1024

/** Compressors of numcodecs that decode blocks of containers. */
const COMPRESSORS: Readonly<Record<string, JsonObject | null>> = {
  none: null,
  lz4: { id: 'lz4', acceleration: 1 },
  zstd: { id: 'zstd', level: 0 },
}

/**
 * Returns the location of the chunks of an array of NetCDF or of a container.
 * @param along the axis along which arrays are joined. Lengths of pieces along it divide `unit`
 * @throws UnsupportedError for chunks that Zarr cannot describe: those truncated at the end of an axis, those
 *   that share compressed blocks, and texts of containers
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
  // Only the fill value in the file itself counts, because Zarr's readers do not know the defaults of netCDF.
  const fill = index.dtype === 'string' ? null : fillIn(index.attrs, index.dtype)
  return described(index, { shape, chunkShape, dtype, compressor: null, fill }, chunks)
}

/**
 * Returns the shape of pieces that are contiguous: whole last axes, a divisor of one axis, one index of the
 * axes before.
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
      return unsuited(
        'several of its chunks are compressed together: write each to a block of its own (import with `blockBytes: 1`)',
      )
    const place = block.codec === 'none' ? [block.fileOffset + offset, size] : [block.fileOffset, block.compressedBytes]
    chunks.set(keyOf(grid.index(number)), [block.origin.file, place[0]!, place[1]!])
  }
  if (codecs.size > 1)
    return unsuited(`its chunks are compressed in several ways: ${[...codecs].join(', ')}; compact the container`)
  const [codec = 'none'] = codecs
  const fill = index.fillValue === undefined ? null : fillDocument(index.fillValue, toStoredType(dtype))
  const stored = { shape: grid.shape, chunkShape, dtype: typeName(dtype, false), compressor: COMPRESSORS[codec]!, fill }
  return described(index, stored, chunks)
}

/** Returns the chunk shape of Zarr. Chunks of the container end with the array, those of Zarr do not. */
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
  const value = new Map(checkedEntries(withOneFill(attrs, dtype) ?? {})).get('_FillValue')
  return typeof value === 'number' || typeof value === 'bigint' ? fillDocument(value, toStoredType(dtype)) : null
}

const LETTERS: Readonly<Record<string, string>> = { int: 'i', uint: 'u', float: 'f' }

/** Returns the data type as numpy writes it. */
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
 * Joins several arrays end to end along an axis.
 * @throws UnsupportedError if they differ in more than their length along it
 */
export function joinReferences(parts: readonly ReferencedArray[], axis: number): ReferencedArray {
  const [first] = parts as [ReferencedArray]
  const arrayFacts = ({ metadata, attributes }: ReferencedArray): JsonObject => {
    const shape = (metadata['shape'] as number[]).with(axis, 0)
    return { ...metadata, shape, attributes }
  }
  const chunks = new Map<string, Reference>()
  let length = 0
  for (const part of parts) {
    const [facts, own] = [arrayFacts(first), arrayFacts(part)]
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

/** Returns the document of version 1, as kerchunk writes it. */
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
