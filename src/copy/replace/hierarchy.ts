import { newNodes } from '../../adapters/zarr/create.ts'
import { isObject, type JsonObject } from '../../adapters/zarr/document.ts'
import { METADATA } from '../../adapters/zarr/metadata-names.ts'
import { isReplacing, replacingDocument } from '../../adapters/zarr/replacing.ts'
import { CLAIM_NAME } from '../../adapters/zarr/write/claim.ts'
import { encodeDocument } from '../../adapters/zarr/write/document.ts'
import type { NodeWriter } from '../../adapters/zarr/write/nodes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { METADATA_BYTES, parseJson } from '../../core/json.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { member } from '../../core/member.ts'
import type { Signal } from '../../core/signal.ts'
import type { Store, StoredAt } from '../../store/store.ts'
import { readWhole } from '../../store/whole.ts'
import { SCRATCH } from '../scratch.ts'
import { isRecord, readRecord } from '../write-record.ts'
import { type ChunkNames, STAGED, type Survey, type Target } from './target.ts'

/** Number of metadata objects read concurrently. */
const AT_ONCE = 16
/** Maximum size in bytes of replaced metadata that a claim contains. */
const MOST_REPLACED = 2 ** 20

/** Returns a Zarr hierarchy at a place as a replaceable target. */
export function hierarchyTarget({ store, path }: StoredAt): Target {
  const prefix = path === '' || path.endsWith('/') ? path : `${path}/`
  const workspace = `${prefix}.hyperslab-next/`
  const place = prefix.replace(/(?<=.)\/$/, '')
  let nodes: NodeWriter | undefined
  return {
    store,
    prefix,
    workspace,
    place,
    claimed: 'zarr.json',
    claim: async (command, draft) => {
      const old = await readWhole(store, `${prefix}zarr.json`, { maxBytes: METADATA_BYTES })
      const isShort = old !== undefined && old.bytes.length <= MOST_REPLACED
      const replaced = old === undefined ? { replaced: null } : isShort ? { replaced: new TextDecoder().decode(old.bytes) } : {}
      return encodeDocument(replacingDocument({ command, draft, ...replaced }))
    },
    claimNow: async (signal) => {
      const found = await claimAt(store, prefix, signal)
      if (found === undefined) return undefined
      const replaced = member(found, 'replaced')
      const draft = String(member(found, 'draft'))
      if (typeof replaced === 'string') return { draft, replaced: new TextEncoder().encode(replaced) }
      return { draft, replaced: replaced === null ? 'none' : undefined }
    },
    isMetadata: (name) => METADATA.includes(baseOf(name)),
    isRoot: (name) => METADATA.includes(name),
    membership: ({ arrays }) => {
      const known = new Map(arrays.map((each) => [each.path, each]))
      return (name) => belongs(known, name)
    },
    survey: (signal) => surveyHierarchy(store, prefix, signal),
    follow: () => {
      nodes ??= newNodes(store, place)
      return nodes.follow()
    },
  }
}

async function claimAt(store: Store, prefix: string, signal: Signal | undefined): Promise<JsonObject | undefined> {
  const found = await readWhole(store, `${prefix}zarr.json`, { maxBytes: METADATA_BYTES, signal })
  const metadata = found && documentIn(found.bytes, 'zarr.json')
  return isReplacing(metadata) ? metadata : undefined
}

/**
 * Surveys a place. Every object must belong to the hierarchy that the metadata describe.
 * @throws AlreadyExistsError for a folder without Zarr metadata at its root, and for objects that do not
 *   belong to the hierarchy
 */
async function surveyHierarchy(store: Store, prefix: string, signal: Signal | undefined): Promise<Survey> {
  const file = store.describe(prefix)
  const roots = new Map<string, string>()
  await forEachLimited(METADATA, METADATA.length, async (name) => {
    const info = await store.stat(prefix + name, { signal })
    if (info !== undefined) roots.set(name, info.etag)
  })
  const read = async (name: string): Promise<JsonObject | undefined> => {
    const found = await readWhole(store, prefix + name, { maxBytes: METADATA_BYTES, signal })
    return found && documentIn(found.bytes, name)
  }
  if (roots.has('zarr.json') && (await claimAt(store, prefix, signal)) !== undefined)
    return { state: 'replacing', roots, names: [], members: { arrays: [] } }
  const isNode = [...roots.keys()].some((name) => name !== '.zattrs')
  const record = isNode ? undefined : await readRecord(store, prefix.replace(/\/$/, ''))
  if (!isNode && record === undefined) {
    // Listed only shallowly, because the place may be a whole disk.
    const keys = await store.list!(prefix, { shallow: true, signal })
    const other = keys.map((key) => key.slice(prefix.length)).find((name) => name !== '' && !isWorkspace(name))
    if (other !== undefined) throw foreign(file, other, 'it has no Zarr metadata at its root')
    return { state: 'empty', roots, names: [], members: { arrays: [] } }
  }
  const keys = await store.list!(prefix, { deep: true, signal })
  const names = keys.map((key) => key.slice(prefix.length)).filter((name) => !isWorkspace(name))
  const arrays: ChunkNames[] = []
  if (!isNode)
    for (const [path, rank] of Object.entries(record?.ranks ?? {})) arrays.push({ path, rank, separator: '/', isPrefixed: true })
  let wrong: string | undefined
  const documents = names.filter((name) => ['zarr.json', '.zarray', '.zgroup'].includes(baseOf(name)))
  await forEachLimited(documents, AT_ONCE, async (name) => {
    const found = chunkNamesIn(name, await read(name))
    if (found === false) wrong ??= name
    else if (found !== true) arrays.push(found)
  })
  if (wrong !== undefined) throw foreign(file, wrong, 'it has a name of Zarr metadata and is none')
  const known = new Map(arrays.map((each) => [each.path, each]))
  for (const name of names) {
    if (belongs(known, name)) continue
    // Consoles create empty objects that stand for folders.
    if ((name === '' || name.endsWith('/')) && (await store.stat(prefix + name, { signal }))?.size === 0) continue
    throw foreign(file, name, 'the hierarchy there does not account for it')
  }
  return { state: isNode ? 'complete' : 'unfinished', roots, names, members: { arrays } }
}

const isWorkspace = (name: string): boolean => /^\.hyperslab-next(\/|$)/.test(name)

const baseOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

function belongs(arrays: ReadonlyMap<string, ChunkNames>, name: string): boolean {
  const base = baseOf(name)
  if (STAGED.test(base)) return belongs(arrays, name.replace(STAGED, ''))
  if (METADATA.includes(base) || base === CLAIM_NAME || isRecord(base) || name.startsWith(SCRATCH)) return true
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

function documentIn(bytes: Uint8Array, name: string): JsonObject | undefined {
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
  const isV3 = baseOf(name) === 'zarr.json'
  if (get('zarr_format') !== (isV3 ? 3 : 2)) return false
  if (baseOf(name) === '.zgroup' || (isV3 && get('node_type') === 'group')) return true
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

function foreign(file: string, name: string, why: string): HyperslabError {
  const text = `the folder holds something else already, such as '${name}': ${why}, so it is not replaced; choose another place, or empty it`
  return new HyperslabError('AlreadyExistsError', text, { file, actual: name })
}
