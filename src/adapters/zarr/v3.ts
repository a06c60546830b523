import { withoutMembers } from '../../core/json.ts'
import { member } from '../../core/member.ts'
import { sizeOf } from '../../core/shape.ts'
import { parseNamed, parseTypeV3 } from './data-types.ts'
import {
  asChunkShape,
  asCodecs,
  asDimensionNames,
  asLength,
  asList,
  asObject,
  asShape,
  asText,
  badMetadata,
  isObject,
  type JsonObject,
  showJson,
  unsupported,
} from './document.ts'
import { parseFillValue } from './fill-values.ts'
import type { CodecMetadata, GivenType, ZarrArrayMetadata } from './metadata.ts'
import { parseMissing } from './missing.ts'
import { asSeparator, DIMENSIONS, keysV2, parseDimensions } from './v2.ts'

/**
 * Maximum number of chunks along one axis of a rectilinear grid, because their lengths are stored one by one.
 */
const MAX_EDGES = 2 ** 22

const MEMBERS = [
  'zarr_format',
  'node_type',
  'shape',
  'data_type',
  'chunk_grid',
  'chunk_key_encoding',
  'fill_value',
  'codecs',
  'attributes',
  'dimension_names',
  'storage_transformers',
]

/**
 * Parses an array of version 3.
 * @param metadata its `zarr.json`
 * @param given type of values that are parts of stored elements
 */
export function parseArrayV3(metadata: unknown, given?: GivenType): ZarrArrayMetadata {
  const members = asObject(metadata, 'the metadata')
  const get = (name: string): unknown => member(members, name)
  if (get('zarr_format') !== 3) badMetadata(`zarr_format must be 3, got ${showJson(get('zarr_format'))}`, get('zarr_format'))
  if (get('node_type') !== 'array') badMetadata(`node_type must be 'array', got ${showJson(get('node_type'))}`, get('node_type'))
  checkMembers(members, MEMBERS)
  const transformers = asList(get('storage_transformers') ?? [], 'storage_transformers')
  if (transformers.length > 0) unsupported(`storage transformers cannot be read: ${showJson(transformers)}`, transformers)
  const attrs = asObject(get('attributes') ?? {}, 'attributes')
  const shape = asShape(get('shape'), 'shape')
  const dataType = parseNamed(get('data_type'), 'the data type')
  const type = given?.type ?? parseTypeV3(dataType.name, dataType.configuration)
  if (get('fill_value') === undefined) badMetadata('there is no fill_value')
  const fillValue = given === undefined ? parseFillValue(get('fill_value'), type) : given.fillValue
  const names = get('dimension_names') ?? undefined
  const dimensionNames =
    names === undefined ? parseDimensions(members, attrs, shape.length) : asDimensionNames(names, shape.length, 'dimension_names')
  const isNamed = dimensionNames?.some((name) => name !== '') === true || (dimensionNames !== undefined && shape.length === 0)
  return {
    version: 3,
    shape,
    chunks: parseGrid(get('chunk_grid'), shape),
    type,
    codecs: parseCodecs(get('codecs')),
    fillValue,
    missing: parseMissing({ version: 3, type, fillValue, attrs, isNamed }),
    chunkKey: parseKeys(get('chunk_key_encoding')),
    dimensionNames: isNamed ? dimensionNames : undefined,
    attrs: withoutMembers(attrs, (name) => name === DIMENSIONS),
  }
}

/** @throws UnsupportedError for unknown members, unless they declare `must_understand: false` */
export function checkMembers(members: JsonObject, known: readonly string[]): void {
  for (const [name, value] of Object.entries(members)) {
    if (known.includes(name) || (isObject(value) && member(value, 'must_understand') === false)) continue
    unsupported(`the metadata have an unknown member: '${name}'`, name)
  }
}

/** @throws FormatError unless it is a list of at least one codec */
export function parseCodecs(value: unknown): CodecMetadata[] {
  const codecs = asCodecs(value, 'codecs').map((codec) => {
    const { name, configuration } = parseNamed(codec, 'a codec')
    // The filter `packbits` of numcodecs differs from the codec of the same name, which always has a padding.
    if (name === 'packbits') return { name, configuration: { padding_encoding: 'none', ...configuration } }
    return { name: name.replace(/^numcodecs\./, ''), configuration }
  })
  return codecs.length > 0 ? codecs : badMetadata('codecs is empty, but a codec must convert elements to bytes')
}

function parseKeys(value: unknown): (coords: readonly number[]) => string {
  const { name, configuration } = parseNamed(value, 'the chunk key encoding')
  const get = (option: string): unknown => member(configuration, option)
  switch (name) {
    case 'default': {
      const separator = asSeparator(get('separator') ?? '/')
      return (coords) => ['c', ...coords].join(separator)
    }
    case 'v2':
      return keysV2(get('separator') ?? '.')
    case 'suffix': {
      const suffix = asText(get('suffix'), 'the suffix of keys')
      const keyOf = parseKeys(get('base_encoding') ?? get('base-encoding'))
      if (/(^|\/)\.{0,2}(\/|$)/.test(`${keyOf([])}${suffix}`))
        badMetadata(`the suffix of keys leaves its folder: ${showJson(suffix)}`, suffix)
      return (coords) => keyOf(coords) + suffix
    }
    default:
      return unsupported(`the chunk key encoding '${name}' cannot be read`, name)
  }
}

function parseGrid(value: unknown, shape: readonly number[]): ZarrArrayMetadata['chunks'] {
  const { name, configuration } = parseNamed(value, 'the chunk grid')
  if (name === 'regular') return asChunkShape(member(configuration, 'chunk_shape'), shape, 'chunk_shape')
  if (name !== 'rectilinear') return unsupported(`the chunk grid '${name}' cannot be read`, name)
  const kind = member(configuration, 'kind') ?? 'inline'
  if (kind !== 'inline') unsupported(`a rectilinear chunk grid of the kind ${showJson(kind)} cannot be read`, kind)
  const axes = asList(member(configuration, 'chunk_shapes'), 'chunk_shapes')
  if (axes.length !== shape.length)
    badMetadata(`chunk_shapes has ${axes.length} axes, the array has ${shape.length}`, axes.length)
  const chunks = axes.map((edges, axis) => parseEdges(edges, shape[axis]!, axis))
  const largest = chunks.map((edges) => (typeof edges === 'number' ? edges : edges.reduce((a, b) => Math.max(a, b), 1)))
  if (!Number.isSafeInteger(sizeOf(largest))) badMetadata(`a chunk of ${showJson(largest)} has more than 2^53 elements`, largest)
  return chunks
}

/**
 * Parses chunk lengths: one for all chunks, or a list, in which `[length, count]` repeats a length. Omits
 * chunks beyond the end of the axis.
 */
function parseEdges(value: unknown, length: number, axis: number): number | number[] {
  const what = `the chunk lengths of axis ${axis}`
  const positive = (edge: unknown): number => asLength(edge, what) || badMetadata(`${what} have a chunk of length 0`, value)
  if (!Array.isArray(value)) return positive(value)
  const edges: number[] = []
  let sum = 0
  for (const item of value) {
    const [edge, count] = Array.isArray(item) && item.length === 2 ? item : [item, 1]
    const size = positive(edge)
    const times = asLength(count, `how often a length comes among ${what}`)
    const needed = Math.min(times, Math.max(0, Math.ceil((length - sum) / size)))
    if (edges.length + needed > MAX_EDGES) unsupported(`${what} are more than ${MAX_EDGES}`, edges.length + needed)
    for (let i = 0; i < needed; i++) edges.push(size)
    sum += size * times
  }
  if (sum < length) badMetadata(`${what} end at ${sum}, the axis at ${length}`, sum)
  return edges
}
