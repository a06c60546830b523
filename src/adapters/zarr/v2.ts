import type { DType, ScalarOf } from '../../core/dtype.ts'
import { withoutMembers } from '../../core/json.ts'
import { member } from '../../core/member.ts'
import { parseTypeV2 } from './data-types.ts'
import {
  asChunkShape,
  asCodecs,
  asDimensionNames,
  asObject,
  asShape,
  asText,
  badMetadata,
  isObject,
  type JsonObject,
  showJson,
} from './document.ts'
import { parseFillValue } from './fill-values.ts'
import type { CodecMetadata, GivenType, StoredType, ZarrArrayMetadata } from './metadata.ts'
import { parseMissing } from './missing.ts'
import { NOT_A_TIME } from './time-units.ts'

/**
 * Parses an array of version 2.
 * @param metadata its `.zarray`
 * @param attributes its `.zattrs`; undefined if it has none
 * @param given type of values that are parts of stored elements
 */
export function parseArrayV2(metadata: unknown, attributes: unknown, given?: GivenType): ZarrArrayMetadata {
  const members = asObject(metadata, 'the metadata')
  const get = (name: string): unknown => member(members, name)
  if (get('zarr_format') !== 2) badMetadata(`zarr_format must be 2, got ${showJson(get('zarr_format'))}`, get('zarr_format'))
  const attrs = attributes === undefined ? {} : asObject(attributes, 'the attributes')
  const shape = asShape(get('shape'), 'shape')
  const chunks = asChunkShape(get('chunks'), shape, 'chunks')
  const filters = asCodecs(get('filters') ?? [], 'filters').map((filter) => parseCodec(filter, 'a filter'))
  const compressor = get('compressor') ?? null
  const compressors = compressor === null ? [] : [parseCodec(compressor, 'the compressor')]
  const stored = [...filters, ...compressors]
  const names = stored.map(({ name }) => name)
  const { type, endian } = given ?? parseTypeV2(get('dtype'), names)
  const fillValue = given === undefined ? parseFillValue(get('fill_value'), type) : given.fillValue
  const dimensionNames = parseDimensions(members, attrs, shape.length)
  return {
    version: 2,
    shape,
    chunks,
    type,
    codecs: [...parseOrder(get('order'), shape.length), ...bytesOf(type.bytes, endian), ...stored],
    fillValue: fillValue ?? unwritten(type),
    missing: parseMissing({ version: 2, type, fillValue, attrs, isNamed: dimensionNames !== undefined }),
    chunkKey: keysV2(get('dimension_separator') ?? '.'),
    dimensionNames,
    attrs: withoutMembers(attrs, (name) => name === DIMENSIONS || (name === '_FillValue' && isIdle(attrs, fillValue, type))),
  }
}

/** Attribute of version 2 with the names of dimensions. It is not an attribute of the data. */
export const DIMENSIONS = '_ARRAY_DIMENSIONS'

/** Whether the attribute `_FillValue` is ignored, because the metadata have a different fill value. */
function isIdle(attrs: JsonObject, fillValue: ScalarOf<DType> | undefined, type: StoredType): boolean {
  if (fillValue === undefined) return false
  const { values, nan } = parseMissing({ version: 3, type, fillValue, attrs: { _FillValue: attrs['_FillValue'] }, isNamed: true })
  return Number.isNaN(fillValue) ? !nan : !(nan === false && values.length === 1 && String(values[0]) === String(fillValue))
}

/**
 * Returns the value that numpy uses without a fill value, for types in which it is neither zero nor empty
 * text.
 */
function unwritten({ kind, bytes }: StoredType): ScalarOf<DType> | undefined {
  if (kind === 'datetime' || kind === 'timedelta') return NOT_A_TIME
  return kind === 'raw' ? new Uint8Array(bytes!) : undefined
}

/**
 * Returns the function for keys such as `0.1`; without axes `0`.
 * @throws FormatError unless the separator is `.` or `/`
 */
export function keysV2(separator: unknown): (coords: readonly number[]) => string {
  const between = asSeparator(separator)
  return (coords) => (coords.length === 0 ? '0' : coords.join(between))
}

export function asSeparator(separator: unknown): string {
  if (separator === '.' || separator === '/') return separator
  return badMetadata(`the separator of keys must be '.' or '/', got ${showJson(separator)}`, separator)
}

function parseCodec(value: unknown, what: string): CodecMetadata {
  const codec = asObject(value, what)
  const { id, ...configuration } = codec
  return { name: asText(id, `the id of ${what}`), configuration }
}

function parseOrder(order: unknown, rank: number): CodecMetadata[] {
  if (order !== 'C' && order !== 'F') badMetadata(`order must be 'C' or 'F', got ${showJson(order)}`, order)
  if (order === 'C' || rank < 2) return []
  return [{ name: 'transpose', configuration: { order: Array.from({ length: rank }, (_, axis) => rank - 1 - axis) } }]
}

/** A filter converts elements of variable length to bytes. */
const bytesOf = (bytes: number | undefined, endian: 'little' | 'big' | undefined): CodecMetadata[] =>
  bytes === undefined ? [] : [{ name: 'bytes', configuration: endian === undefined ? {} : { endian } }]

/**
 * Returns the names of the axes as xarray writes them. Without these, returns the names of the dimensions to
 * which NCZarr refers by their paths: in its member of `.zarray` or, in later versions, in an attribute.
 */
export function parseDimensions(members: JsonObject, attrs: JsonObject, rank: number): string[] | undefined {
  const named = member(attrs, DIMENSIONS)
  if (named !== undefined) return asDimensionNames(named, rank, DIMENSIONS)
  const places = [member(members, '_NCZARR_ARRAY'), member(attrs, '_NCZARR_ARRAY'), member(attrs, '_nczarr_array')]
  for (const place of places.filter(isObject)) {
    const references = member(place, 'dimrefs') ?? member(place, 'dimension_references')
    // A scalar of NCZarr has one axis in its references.
    if (!Array.isArray(references) || references.length !== rank) continue
    return references.map((path) => asText(path, 'each reference to a dimension').replace(/^.*\//, ''))
  }
  return undefined
}
