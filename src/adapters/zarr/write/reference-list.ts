import type { DiskArray } from '../../../array/disk-array.ts'
import type { NamedValues } from '../../../array/source.ts'
import { encodeBase64 } from '../../../core/base64.ts'
import { largestDivisor } from '../../../core/divisors.ts'
import { type DType, elementBytes, isFixed, type TypedArray, toBytes, zeroOf } from '../../../core/dtype.ts'
import { HyperslabError, isHyperslabError } from '../../../core/errors.ts'
import { floatsIn, markFloats, withoutMembers, writeJson } from '../../../core/json.ts'
import { forEachLimited } from '../../../core/limiter.ts'
import { eachIndex, sizeOf, stridesOf } from '../../../core/shape.ts'
import type { Signal } from '../../../core/signal.ts'
import { decodeNames, encodeNames } from '../../../core/url-names.ts'
import {
  type BlockOrigin,
  type BlockRef,
  type ChunkAddress,
  isStrided,
  type PinnedChunks,
  type StoredChunk,
  type StridedChunk,
} from '../../../engine/block.ts'
import type { ChunkEncoding, ChunkIndex } from '../../../engine/chunk-index.ts'
import type { ChunkGrid } from '../../../grid/chunks.ts'
import type { JsonObject } from '../document.ts'
import { attributesDocument, checkedEntries, fillDocument, toStoredType, withOneFill } from './document.ts'

/** Location of a chunk in a file. */
interface FileReference {
  readonly file: string
  /** Folder of the store that contains the file; undefined for other files. */
  readonly folder: string | undefined
  /** Bytes of the file. Default: all. */
  readonly range: readonly [offset: number, length: number] | undefined
}

/** Location of a chunk, or its bytes themselves. */
type Reference = FileReference | Uint8Array

/** An array of a format with an index of its chunks, or a computed array without one. */
export type IndexedArray = DiskArray & { readonly index?: ChunkIndex | object }

/** Location of the chunks of an array in files, in the terms of Zarr version 2. */
export interface ReferencedArray {
  readonly metadata: JsonObject
  readonly attributes: JsonObject
  /** By their keys. */
  readonly chunks: ReadonlyMap<string, Reference>
}

/** Options of `referenceArray`. */
export interface ReferenceArrayOptions {
  /** The axis along which arrays are joined. Lengths of pieces along it divide `unit`. */
  readonly along?: { readonly axis: number; readonly unit: number } | undefined
  /** Chunks of fewer bytes are written themselves, instead of their location. Default: 0, none. */
  readonly inlineBytes?: number | undefined
  /** Attributes. Default: those of the index. */
  readonly attrs?: NamedValues | undefined
  /** Cancels the reading of chunks that are written themselves. */
  readonly signal?: Signal | undefined
}

/**
 * An array that is stored as one piece is divided into pieces of this size, in bytes, if its length allows.
 */
const PIECE_BYTES = 4 * 1024 * 1024
/** Maximum size of a computed array in bytes. Its elements are written themselves. */
const COMPUTED_BYTES = 256 * 1024

/** Maximum number of chunks of an array. References of more take gigabytes. */
const MOST_CHUNKS = 2 ** 21

/** Compressors of numcodecs that decode blocks of containers. */
const COMPRESSORS: Readonly<Record<string, JsonObject | null>> = {
  none: null,
  lz4: { id: 'lz4', acceleration: 1 },
  zstd: { id: 'zstd', level: 0 },
}

/** A chunk in the bytes of an origin. */
interface PlacedChunk {
  readonly key: string
  readonly origin: BlockOrigin
  readonly offset: number
  readonly length: number
  /** Whether the chunk is the whole file, which may be replaced by one of another length. */
  readonly isWhole?: boolean
}

/**
 * Returns the location of the chunks of an array.
 * @throws UnsupportedError for chunks that Zarr cannot describe: those truncated at the end of an axis, those
 *   that share compressed blocks, texts of containers, and codecs that numcodecs lacks
 */
export async function referenceArray(array: IndexedArray, options: ReferenceArrayOptions = {}): Promise<ReferencedArray> {
  const { index } = array
  if (index === undefined) return computedArray(array, options)
  if (!('snapshot' in index)) return unsuited('its elements are in other arrays (virtual)')
  const { count } = index.grid
  if (count > MOST_CHUNKS) return unsuited(`it has ${count} chunks, and references list at most ${MOST_CHUNKS}`)
  const settle = index.begin?.()
  const snapshot = index.load ? await index.load(upTo(count), options.signal) : index.snapshot().pinned()
  const first = firstStored(snapshot)
  const isInPlace = isStrided(first) && isOnePiece(snapshot, first)
  const made = await (isInPlace ? inPlace(index, snapshot, first, options) : inChunks(index, snapshot, options))
  await settle?.(options.signal)
  return made
}

function* upTo(count: number): Generator<number, void> {
  for (let chunk = 0; chunk < count; chunk++) yield chunk
}

/** Returns the first chunk that is stored. */
function firstStored(snapshot: PinnedChunks): StoredChunk | undefined {
  for (const chunk of snapshot.stored()) {
    const found = snapshot.locate(chunk)
    if (found !== undefined) return found
  }
  return undefined
}

/** Whether the position of each element follows from that of the first, across all chunks. */
function isOnePiece(snapshot: PinnedChunks, { layout }: StridedChunk): boolean {
  const { grid } = snapshot
  const start = snapshot.locate(0)
  if (!isStrided(start)) return false
  for (const chunk of upTo(grid.count)) {
    const found = snapshot.locate(chunk)
    if (!isStrided(found)) return false
    const index = grid.index(chunk)
    const at = index.reduce((sum, k, axis) => sum + grid.axes[axis]!.start(k) * layout.byteStrides[axis]!, start.offset)
    if (found.offset !== at) return false
  }
  return true
}

async function inPlace(
  index: ChunkIndex,
  snapshot: PinnedChunks,
  { layout }: StridedChunk,
  options: ReferenceArrayOptions,
): Promise<ReferencedArray> {
  const { shape } = snapshot.grid
  await describeBlock(index, undefined)
  const { byteStrides, elementBytes: bytes, origin, bigEndian } = layout
  const { offset } = snapshot.locate(0) as StridedChunk
  const chunkShape = contiguousPieces(shape, byteStrides, bytes, options.along)
  const length = sizeOf(chunkShape) * bytes
  const placed: PlacedChunk[] = []
  eachPiece(shape, chunkShape, (piece) => {
    const at = piece.reduce((sum, k, axis) => sum + k * chunkShape[axis]! * byteStrides[axis]!, offset)
    placed.push({ key: keyOf(piece), origin, offset: at, length })
  })
  const dtype = index.dtype === 'string' ? `|S${bytes}` : typeName(index.dtype, bigEndian)
  const attrs = options.attrs ?? index.attrs
  // Only the fill value in the file itself counts, because Zarr's readers do not know the defaults of netCDF.
  const fill = index.dtype === 'string' ? null : fillIn(attrs, index.dtype)
  const chunks = await toReferences(placed, options)
  const stored = { shape, chunkShape, dtype, compressor: null, filters: [], fill }
  return described({ dtype: index.dtype, attrs, dimensionNames: index.dimensionNames }, stored, chunks)
}

/**
 * Returns the shape of pieces that are contiguous: whole last axes, a divisor of one axis, one index of the
 * axes before.
 */
function contiguousPieces(
  shape: readonly number[],
  byteStrides: readonly number[],
  bytes: number,
  along: ReferenceArrayOptions['along'],
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

async function inChunks(index: ChunkIndex, snapshot: PinnedChunks, options: ReferenceArrayOptions): Promise<ReferencedArray> {
  const { grid } = snapshot
  const { dtype } = index
  if (!isFixed(dtype) && index.encodingOf === undefined)
    return unsuited(`arrays of ${dtype} are stored in another way than Zarr has them`)
  const chunkShape = wholeChunks(grid, options.along)
  const encodings = new Map<string, StoredEncoding>()
  const located: { readonly key: string; readonly found: ChunkAddress | StridedChunk; readonly encoding: StoredEncoding }[] = []
  for (const number of new Set(snapshot.stored())) {
    const found = snapshot.locate(number)
    if (found === undefined) continue
    if (found instanceof Uint8Array) return unsuited('some of its chunks are not in a file')
    const name = found.block?.codec ?? ''
    const encoding = encodings.get(name) ?? (await describeBlock(index, found.block))
    encodings.set(name, encoding)
    located.push({ key: keyOf(reordered(grid.index(number), encoding.axes)), found, encoding })
  }
  const placed: PlacedChunk[] = []
  await forEachLimited(located, AT_ONCE, async ({ key, found, encoding }) => {
    const place = isStrided(found)
      ? densePlace(found)
      : await blockPlace(found, encoding, index.encodingOf === undefined, options.signal)
    if (place !== undefined) placed.push({ key, ...place })
  })
  if (new Set([...encodings.values()].map(({ sizeOf: _, ...encoding }) => writeJson(encoding))).size > 1)
    return unsuited(
      `its chunks are compressed in several ways: ${[...encodings.keys()].join(', ')}${index.encodingOf ? '' : '; compact the container'}`,
    )
  const [encoding = await describeBlock(index, undefined)] = encodings.values()
  const { bigEndian, filters, compressor, axes, order } = encoding
  const attrs = options.attrs ?? index.attrs
  const { fill = chunkFill(index, attrs, placed.length < grid.count) } = encoding
  const stored = {
    ...{ shape: reordered(grid.shape, axes), chunkShape: reordered(chunkShape, axes), compressor, filters, fill, order },
    dtype: encoding.dtype ?? typeName(dtype, bigEndian),
  }
  const dimensionNames = index.dimensionNames && reordered(index.dimensionNames, axes)
  return described({ dtype, attrs, dimensionNames }, stored, await toReferences(placed, options, encoding))
}

type StoredEncoding = ChunkEncoding & { readonly compressor: JsonObject | null }

/** @throws UnsupportedError for codecs that numcodecs lacks */
async function describeBlock(index: ChunkIndex, block: BlockRef | undefined): Promise<StoredEncoding> {
  if (index.encodingOf === undefined) {
    const compressor = COMPRESSORS[block?.codec ?? 'none']
    if (compressor === undefined) return unsuited(`numcodecs does not decode blocks of '${block?.codec}'`)
    return { bigEndian: false, filters: [], compressor }
  }
  try {
    return { ...(await index.encodingOf(block)), compressor: null }
  } catch (error) {
    return isHyperslabError(error, 'UnsupportedError') ? unsuited(error.text) : rethrow(error)
  }
}

function rethrow(error: unknown): never {
  throw error
}

const reordered = <T>(list: readonly T[], axes: readonly number[] | undefined): readonly T[] =>
  axes?.map((axis) => list[axis]!) ?? list

/** Returns the place of a block; undefined for an object that does not exist. */
async function blockPlace(
  { block, offset, size }: ChunkAddress,
  { filters, sizeOf: findSize }: StoredEncoding,
  isContainer: boolean,
  signal: Signal | undefined,
): Promise<Omit<PlacedChunk, 'key'> | undefined> {
  const { origin, fileOffset, codec, uncompressedBytes } = block
  const compressedBytes = findSize === undefined ? block.compressedBytes : await findSize(block, signal)
  if (compressedBytes === undefined) return undefined
  if (origin.isAbsent?.()) return unsuited('some of its chunks are unwritten, and no single value fills them')
  if (isContainer && codec !== 'none' && size !== uncompressedBytes)
    return unsuited(
      'several of its chunks are compressed together: write each to a block of its own (import with `blockBytes: 1`)',
    )
  const isPart = isContainer && codec === 'none'
  if (!isContainer && filters.length === 0 && Number.isFinite(size) && compressedBytes !== size)
    return unsuited(`an uncompressed chunk of ${size} bytes has ${compressedBytes} bytes in the file`)
  if (isPart) return { origin, offset: fileOffset + offset, length: size }
  return { origin, offset: fileOffset, length: compressedBytes, isWhole: findSize !== undefined }
}

/** Returns the place of a chunk whose elements follow one another. */
function densePlace({ layout, shape, offset }: StridedChunk): Omit<PlacedChunk, 'key'> {
  const { origin, elementBytes: bytes, byteStrides, payloadOf } = layout
  const isDense = stridesOf(shape).every((stride, axis) => shape[axis] === 1 || stride * bytes === byteStrides[axis])
  if (!isDense || payloadOf !== undefined) return unsuited('the elements of its chunks do not follow one another')
  return { origin, offset, length: sizeOf(shape) * bytes }
}

/** Chunks that are read at the same time. */
const AT_ONCE = 16

/** Returns the references of chunks by their keys. Small ones are read. */
async function toReferences(
  placed: readonly PlacedChunk[],
  { inlineBytes = 0, signal }: ReferenceArrayOptions,
  { folder, isInMemory = false }: Pick<ChunkEncoding, 'folder' | 'isInMemory'> = {},
): Promise<Map<string, Reference>> {
  const chunks = new Map<string, Reference>()
  for (const { key, origin, offset, length, isWhole } of placed)
    chunks.set(key, { file: origin.file, folder, range: isWhole ? undefined : [offset, length] })
  const inlined = placed.filter(({ length }) => isInMemory || length < inlineBytes)
  await forEachLimited(inlined, AT_ONCE, async ({ key, origin, offset, length }) => {
    chunks.set(key, (await origin.read(offset, length, signal)).slice())
  })
  return chunks
}

/** Returns the chunk shape of Zarr. Chunks of the container end with the array, those of Zarr do not. */
function wholeChunks({ axes }: ChunkGrid, along: ReferenceArrayOptions['along']): number[] {
  return axes.map(({ chunkLength, length, count, offset }, axis) => {
    const isFull = count > 0 && axes[axis]!.storedLength(count - 1) === chunkLength
    const own = !isFull && count <= 1 && along?.axis !== axis ? Math.max(1, length) : chunkLength
    const isWhole = offset === 0 && (isFull || length % own === 0)
    if (isWhole && (along?.axis !== axis || along.unit % own === 0)) return own
    if (isWhole)
      return unsuited(
        `the lengths of the joined arrays along axis ${axis} are multiples of ${along!.unit}, not of its chunks of ${chunkLength}: export them`,
      )
    return unsuited(
      `its chunks of ${chunkLength} do not divide axis ${axis} of ${length}, and Zarr has the last one whole: export it`,
    )
  })
}

/**
 * Returns the fill value of an array in chunks, as the metadata spell it; null for none. Readers of Zarr take
 * it for missing, and fill unwritten chunks with it, or with zeros.
 * @param isSparse whether some chunks are unwritten
 * @throws UnsupportedError if unwritten chunks would be read as other elements
 */
function chunkFill(index: ChunkIndex, attrs: NamedValues | undefined, isSparse: boolean): unknown {
  const { dtype, fillValue, missing } = index
  if (!isFixed(dtype))
    return isSparse && fillValue !== undefined && fillValue !== '' ? unsuited('its fill value is a text') : null
  const stored = toStoredType(dtype)
  if (index.encodingOf === undefined) return fillValue === undefined ? null : fillDocument(fillValue, stored)
  const named = fillIn(attrs, dtype)
  if (!isSparse) return named
  const own = fillValue ?? zeroOf(dtype)
  const written = fillDocument(own, stored)
  if (named === null && isZero(own)) return null
  // NaN stays NaN, whether readers take it for missing or not.
  if (named === null ? Number.isNaN(own) || missing?.values.includes(own) : writeJson(named) === writeJson(written))
    return written
  return unsuited(
    `its unwritten chunks contain ${own}, and readers of Zarr would ${named === null ? 'take it for missing' : `read ${named}`}`,
  )
}

const isZero = (value: unknown): boolean => value === false || value === 0n || Object.is(value, 0)

/** Returns an array that is computed, such as coordinates, with its elements. */
async function computedArray(array: DiskArray, { along, attrs = array.attrs }: ReferenceArrayOptions): Promise<ReferencedArray> {
  const { dtype, shape, dimensionNames } = array
  if (!isFixed(dtype)) return unsuited(`arrays of ${dtype} are stored in another way than Zarr has them`)
  const bytes = array.size * elementBytes(dtype)
  if (bytes > COMPUTED_BYTES)
    return unsuited(`its elements are computed, and ${bytes} bytes are more than references contain, ${COMPUTED_BYTES}`)
  if (along !== undefined && along.axis > 0) return unsuited('its elements are computed, and joined along an inner axis')
  const chunkShape = shape.map((length, axis) => Math.max(1, axis === along?.axis ? along.unit : length))
  const { data } = await array.toTensor()
  const stored = toBytes(data as TypedArray)
  const length = sizeOf(chunkShape) * elementBytes(dtype)
  const chunks = new Map<string, Reference>()
  eachPiece(shape, chunkShape, (piece) => {
    const from = (piece[0] ?? 0) * length
    chunks.set(keyOf(piece), stored.slice(from, from + length))
  })
  const whole = { shape, chunkShape, dtype: typeName(dtype, false), compressor: null, filters: [], fill: fillIn(attrs, dtype) }
  return described({ dtype, attrs, dimensionNames }, whole, chunks)
}

interface StoredAs {
  readonly shape: readonly number[]
  readonly chunkShape: readonly number[]
  readonly dtype: string
  readonly compressor: JsonObject | null
  readonly filters: readonly JsonObject[]
  readonly fill: unknown
  readonly order?: 'F' | undefined
}

function described(
  { dtype, attrs, dimensionNames }: Pick<ChunkIndex, 'dtype' | 'attrs' | 'dimensionNames'>,
  { shape, chunkShape, dtype: stored, compressor, filters, fill, order }: StoredAs,
  chunks: ReadonlyMap<string, Reference>,
): ReferencedArray {
  const own = withoutMembers(
    attributesDocument(withOneFill(attrs, dtype), dtype),
    (name) => name === '_FillValue' || name === '_ARRAY_DIMENSIONS',
  )
  const names = dimensionNames ?? (shape.length === 0 ? [] : undefined)
  const attributes = markFloats({ ...own, ...(names && { _ARRAY_DIMENSIONS: names }) }, floatsIn(own))
  const metadata = {
    ...{ zarr_format: 2, shape: [...shape], chunks: [...chunkShape], dtype: stored, compressor, fill_value: fill },
    ...{ order: order ?? 'C', filters: filters.length === 0 ? null : [...filters] },
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

/** Describes the first difference between the metadata of two arrays; undefined if there is none. */
function findDifference(one: JsonObject, other: JsonObject, what = 'member'): string | undefined {
  const differs = (name: string): boolean => writeJson(one[name] ?? null) !== writeJson(other[name] ?? null)
  const name = [...new Set([...Object.keys(one), ...Object.keys(other)])].find(differs)
  if (name === undefined) return undefined
  if (name === 'attributes' && what === 'member')
    return findDifference(one[name] as JsonObject, other[name] as JsonObject, 'attribute')
  const text = (value: unknown) => (value === undefined ? 'absent' : writeJson(value))
  return `the ${what} '${name}' is ${text(one[name])} in one file and ${text(other[name])} in another`
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
    const difference = findDifference(arrayFacts(first), arrayFacts(part))
    if (difference !== undefined) return unsuited(`${difference}; copy the files with hyperslab import, which joins values`)
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

/**
 * Returns the document of version 1, as kerchunk writes it.
 * @param groups attributes of the groups by their paths; '' is the root
 */
export function referenceDocument(
  arrays: ReadonlyMap<string, ReferencedArray>,
  groups: ReadonlyMap<string, JsonObject>,
  urlOf: (file: string) => string,
): JsonObject {
  const refs: Record<string, unknown> = {}
  for (const [path, attributes] of groups) {
    refs[`${path === '' ? '' : `${path}/`}.zgroup`] = writeJson({ zarr_format: 2 })
    refs[`${path === '' ? '' : `${path}/`}.zattrs`] = writeJson(attributes)
  }
  for (const [name, { metadata, attributes, chunks }] of arrays) {
    refs[`${name}/.zarray`] = writeJson(metadata)
    refs[`${name}/.zattrs`] = writeJson(attributes)
    for (const [key, place] of chunks)
      refs[`${name}/${key}`] =
        place instanceof Uint8Array ? `base64:${encodeBase64(place)}` : [urlIn(place, urlOf), ...(place.range ?? [])]
  }
  return { version: 1, refs }
}

function urlIn({ file, folder }: FileReference, urlOf: (file: string) => string): string {
  if (folder === undefined) return urlOf(file)
  const url = urlOf(folder)
  const name = file.slice(folder.length)
  const [isUrl, wasUrl] = [url, folder].map((each) => /^https?:/i.test(each))
  if (isUrl === wasUrl) return url + name
  // Names in a URL are escaped, names in a folder or a bucket are not.
  return url + (isUrl ? encodeNames(name) : (decodeNames(name) ?? name))
}
