import { parseJson } from '../../../core/json.ts'
import { forEachLimited } from '../../../core/limiter.ts'
import { member } from '../../../core/member.ts'
import { isObject, type JsonObject } from '../document.ts'
import { METADATA } from '../metadata-names.ts'
import { CLAIM_NAME } from './claim.ts'
import { RECORD_NAME, SCRATCH } from './node-names.ts'

/** Number of metadata objects read concurrently. */
const AT_ONCE = 16

/** End of the name of a temporary object, or of the lock of an object, which killed writers leave. */
export const STAGED = /(\.(\d+-)?[0-9a-f]{24}\.tmp|\.lock)$/

/** Names of the chunks of an array in its folder. */
export interface ChunkNames {
  /** Path of the array. */
  readonly path: string
  readonly rank: number
  readonly separator: string
  /** Whether names begin with `c`. */
  readonly isPrefixed: boolean
}

/** An object that does not belong to a hierarchy, with the reason. */
interface Stray {
  readonly name: string
  readonly why: string
}

/** A hierarchy that is surveyed. Names are relative to its root. */
interface Surveyed {
  /** Names of all objects. */
  readonly names: readonly string[]
  /** Reads a metadata object. */
  readonly read: (name: string) => Promise<Uint8Array | undefined>
  /** Returns the size of an object in bytes. */
  readonly sizeOf: (name: string) => Promise<number | undefined>
  /** Arrays that are known without metadata. */
  readonly known?: readonly ChunkNames[]
}

/**
 * Compares objects with the hierarchy that the metadata among them describe.
 * @returns the arrays, and the first object that does not belong to the hierarchy
 */
export async function surveyMembers({
  names,
  read,
  sizeOf,
  known = [],
}: Surveyed): Promise<{ arrays: ChunkNames[]; stray?: Stray }> {
  const arrays = [...known]
  let wrong: string | undefined
  const documents = names.filter((name) => ['zarr.json', '.zarray', '.zgroup'].includes(lastSegment(name)))
  await forEachLimited(documents, AT_ONCE, async (name) => {
    const bytes = await read(name)
    const found = chunkNamesIn(name, bytes && documentIn(bytes, name))
    if (found === false) wrong ??= name
    else if (found !== true) arrays.push(found)
  })
  if (wrong !== undefined) return { arrays, stray: { name: wrong, why: 'it has a name of Zarr metadata and is none' } }
  const belongs = membership(arrays)
  for (const name of names) {
    if (belongs(name) || (isFolderMark(name) && (await sizeOf(name)) === 0)) continue
    return { arrays, stray: { name, why: 'the hierarchy there does not account for it' } }
  }
  return { arrays }
}

/** Whether a name may be that of an empty object that stands for a folder, which consoles create. */
export const isFolderMark = (name: string): boolean => name === '' || name.endsWith('/')

/** Returns a function that checks whether an object belongs to a hierarchy with these arrays. */
export function membership(arrays: readonly ChunkNames[]): (name: string) => boolean {
  const known = new Map(arrays.map((each) => [each.path, each]))
  return (name) => belongs(known, name)
}

/** Returns the last part of a name. */
export const lastSegment = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

function belongs(arrays: ReadonlyMap<string, ChunkNames>, name: string): boolean {
  const base = lastSegment(name)
  if (STAGED.test(base)) return belongs(arrays, name.replace(STAGED, ''))
  if (METADATA.includes(base) || base === CLAIM_NAME || base === RECORD_NAME || name.startsWith(SCRATCH)) return true
  for (let end = name.length; end >= 0; end = end === 0 ? -1 : Math.max(0, name.lastIndexOf('/', end - 1))) {
    const array = arrays.get(name.slice(0, end))
    if (array !== undefined && isChunk(array, name.slice(end === 0 ? 0 : end + 1))) return true
  }
  return false
}

function isChunk({ rank, separator, isPrefixed }: ChunkNames, name: string): boolean {
  const parts = name.split(separator)
  if (isPrefixed && parts.shift() !== 'c') return false
  return parts.length === (isPrefixed ? rank : Math.max(1, rank)) && parts.every((part) => /^(0|[1-9]\d*)$/.test(part))
}

/** Parses metadata; returns undefined for anything but a JSON object. */
export function documentIn(bytes: Uint8Array, name: string): JsonObject | undefined {
  try {
    const value = parseJson(bytes, name)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** @returns the chunk names of an array; true for metadata of a group, false for other objects */
function chunkNamesIn(name: string, metadata: JsonObject | undefined): ChunkNames | boolean {
  if (metadata === undefined) return false
  const path = name.slice(0, Math.max(0, name.lastIndexOf('/')))
  const get = (key: string): unknown => member(metadata, key)
  const isV3 = lastSegment(name) === 'zarr.json'
  if (get('zarr_format') !== (isV3 ? 3 : 2)) return false
  if (lastSegment(name) === '.zgroup' || (isV3 && get('node_type') === 'group')) return true
  const shape = get('shape')
  if (!Array.isArray(shape) || (isV3 && get('node_type') !== 'array')) return false
  const rank = shape.length
  if (!isV3) return { path, rank, separator: get('dimension_separator') === '/' ? '/' : '.', isPrefixed: false }
  const encoding = get('chunk_key_encoding')
  const { name: style, configuration = {} } = isObject(encoding) ? encoding : { name: encoding }
  const given = isObject(configuration) ? member(configuration, 'separator') : undefined
  const isPrefixed = style !== 'v2'
  // Chunks with other names do not belong to the hierarchy.
  if (isPrefixed && style !== 'default') return true
  return { path, rank, separator: given === '.' || given === '/' ? given : isPrefixed ? '/' : '.', isPrefixed }
}
