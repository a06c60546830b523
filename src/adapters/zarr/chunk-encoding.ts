import { HyperslabError } from '../../core/errors.ts'
import type { ChunkEncoding } from '../../engine/chunk-index.ts'
import { type JsonObject, showJson } from './document.ts'
import type { CodecMetadata, StoredType, ZarrArrayMetadata } from './metadata.ts'
import type { OpenedStore } from './opened.ts'
import { planChunks } from './shards.ts'
import type { StoredArray } from './snapshot.ts'
import { isNatural, parseOrder } from './transpose.ts'
import { fillDocument } from './write/document.ts'

/** Codecs whose bytes numcodecs decodes, by their names without prefix. */
const SAME_IN_NUMCODECS: ReadonlySet<string> = new Set([
  'lz4',
  'zstd',
  'gzip',
  'zlib',
  'blosc',
  'shuffle',
  'crc32',
  'adler32',
  'fletcher32',
  'crc32c',
  'vlen-utf8',
  'vlen-bytes',
])

/** Filters of numbers, which numcodecs applies to the elements in memory. */
const NUMBER_FILTERS: ReadonlySet<string> = new Set(['delta', 'fixedscaleoffset', 'quantize', 'astype', 'bitround', 'packbits'])

/** An array of an open store. */
interface OpenArray {
  readonly metadata: ZarrArrayMetadata
  readonly opened: OpenedStore
  readonly stored: StoredArray
  /** Path in the store; '' for the root. */
  readonly path: string
}

/**
 * Describes the stored chunks of an array in the terms of version 2.
 * @throws UnsupportedError with the reason if version 2 cannot express them
 */
export async function describeChunks(index: OpenArray): Promise<ChunkEncoding> {
  const { metadata, opened } = index
  const { type, form } = metadata
  const { chunks, codecs, levels } = planChunks(metadata)
  if (type.element?.field !== undefined) refuse('its elements are fields of structures: export it')
  if (form?.unwritten !== undefined) refuse('its fill value has parts that differ: export it')
  if (chunks.some((lengths) => typeof lengths !== 'number'))
    refuse('its chunks have several lengths along an axis (rectilinear): export it')
  const own = codecs.find(({ name }) => opened.options.codecs.some((codec) => codec.name === name))
  if (own !== undefined) refuse(`the codec '${own.name}' is one of the caller`)
  const isBig = codecs.some(({ name, configuration }) => name === 'bytes' && configuration['endian'] === 'big')
  const order = storedOrder(metadata, codecs)
  return {
    bigEndian: isBig,
    dtype: typeInNumpy(type, isBig),
    filters: codecs
      .filter(({ name }) => name !== 'bytes' && name !== 'transpose')
      .map((codec) => describeCodec(codec, metadata, isBig || order !== undefined)),
    ...(order && { order }),
    ...fillOf(metadata),
    folder: opened.store.describe(opened.options.root),
    ...(levels.length === 0 && { sizeOf: await objectSizes(index) }),
  }
}

/** Returns the order of the elements in a chunk, if it is not C. */
function storedOrder({ shape, type }: ZarrArrayMetadata, codecs: readonly CodecMetadata[]): 'F' | undefined {
  const rank = shape.length - (type.element?.shape.length ?? 0)
  const orders = codecs.flatMap(({ name, configuration }) =>
    name === 'transpose' ? [parseOrder(configuration['order'], rank)] : [],
  )
  const moved = orders.filter((axes) => !isNatural(axes))
  if (moved.length === 0) return undefined
  const [axes] = moved as [number[]]
  const isF = moved.length === 1 && axes.every((axis, i) => axis === rank - 1 - i)
  if (!isF || type.element !== undefined)
    refuse(`its chunks have their axes in the order ${axes.join(', ')}, which Zarr 2 cannot express: export it`)
  return 'F'
}

/** @param isRearranged whether stored elements are big-endian, or in another order than C */
function describeCodec({ name, configuration }: CodecMetadata, metadata: ZarrArrayMetadata, isRearranged: boolean): JsonObject {
  const { version, type } = metadata
  if (NUMBER_FILTERS.has(name)) {
    // Version 3 applies these filters before it orders bytes and axes, or describes them in another way.
    const isOther = version === 3 && (isRearranged || name === 'packbits' || (name !== 'bitround' && !('dtype' in configuration)))
    if (isOther || type.element !== undefined)
      refuse(`the filter '${name}' of Zarr 3 is another one in numcodecs here: export it`)
    return { id: name, ...configuration }
  }
  if (!SAME_IN_NUMCODECS.has(name)) refuse(`numcodecs does not decode the codec '${name}' as Zarr stores it: export it`)
  if (version === 2) return { id: name, ...configuration }
  if (name === 'blosc') return bloscInNumcodecs(configuration)
  if (name === 'zstd') return { id: name, level: configuration['level'] ?? 0 }
  if (name === 'crc32c') return { id: name, location: configuration['location'] ?? 'end' }
  return { id: name, ...configuration }
}

function bloscInNumcodecs({ cname, clevel, shuffle, blocksize }: CodecMetadata['configuration']): JsonObject {
  const number = typeof shuffle === 'number' ? shuffle : ['noshuffle', 'shuffle', 'bitshuffle'].indexOf(String(shuffle))
  if (number < 0) refuse(`blosc has the unknown shuffle ${showJson(shuffle)}`)
  return { id: 'blosc', cname, clevel, shuffle: number, blocksize: blocksize ?? 0 }
}

const LETTERS: Readonly<Partial<Record<StoredType['kind'], string>>> = {
  bool: 'b',
  int: 'i',
  uint: 'u',
  float: 'f',
  datetime: 'M',
  timedelta: 'm',
  'fixed-bytes': 'S',
  'fixed-text': 'U',
  raw: 'V',
}

/** Returns the type of elements as numpy names it. The parts of complex numbers are elements. */
function typeInNumpy({ kind, bytes, unit }: StoredType, isBig: boolean): string {
  if (bytes === undefined) return '|O'
  const letter = LETTERS[kind] ?? refuse(`numpy has no type ${kind}`)
  const byteOrder = isBig ? '>' : '<'
  const hasOrder = bytes > 1 && kind !== 'fixed-bytes' && kind !== 'raw'
  const size = kind === 'fixed-text' ? bytes / 4 : bytes
  return `${hasOrder ? byteOrder : '|'}${letter}${size}${unit === undefined ? '' : `[${unit}]`}`
}

/**
 * Returns the fill value as version 2 spells it, if it is missing. Readers of version 2 take it for missing,
 * those of version 3 only if an attribute says so.
 */
function fillOf({ version, type, fillValue, missing, attrs }: ZarrArrayMetadata): Pick<ChunkEncoding, 'fill'> {
  // Version 2 has no fill value for the parts of complex numbers.
  if (fillValue === undefined || type.element !== undefined) return {}
  const isMissing = attrs['_FillValue'] === undefined && missing?.values.includes(fillValue)
  return version === 2 || isMissing ? { fill: fillDocument(fillValue, type) } : {}
}

/** Returns a function that finds the size of the object of a block, or that it does not exist. */
async function objectSizes(index: OpenArray): Promise<NonNullable<ChunkEncoding['sizeOf']>> {
  const { opened, stored, path } = index
  const { store } = opened
  // Without listing, each chunk is asked for.
  const listed = await store.list?.(path === '' ? '' : `${path}/`, { deep: true })
  const keys = listed && new Set(listed)
  return async ({ id }, signal) => {
    const { key } = stored.placeOf(id)
    if (keys?.has(key) === false) return undefined
    return (await opened.find(key, (onUnproved) => store.stat(key, { signal, onUnproved })))?.size
  }
}

function refuse(text: string): never {
  throw new HyperslabError('UnsupportedError', text)
}
