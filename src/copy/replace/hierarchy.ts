import { newNodes } from '../../adapters/zarr/create.ts'
import type { JsonObject } from '../../adapters/zarr/document.ts'
import { METADATA } from '../../adapters/zarr/metadata-names.ts'
import { isReplacing, replacingDocument } from '../../adapters/zarr/replacing.ts'
import { encodeDocument } from '../../adapters/zarr/write/document.ts'
import { documentIn, lastSegment, membership, surveyMembers } from '../../adapters/zarr/write/members.ts'
import type { NodeWriter } from '../../adapters/zarr/write/nodes.ts'
import { HyperslabError } from '../../core/errors.ts'
import { METADATA_BYTES } from '../../core/json.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { member } from '../../core/member.ts'
import type { Signal } from '../../core/signal.ts'
import type { Store, StoredAt } from '../../store/store.ts'
import { readWhole } from '../../store/whole.ts'
import { readRecord } from '../write-record.ts'
import type { Survey, Target } from './target.ts'

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
    isMetadata: (name) => METADATA.includes(lastSegment(name)),
    isRoot: (name) => METADATA.includes(name),
    membership: ({ arrays }) => membership(arrays),
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
  // Without metadata, the record of the write names the arrays.
  const known = isNode
    ? []
    : Object.entries(record?.ranks ?? {}).map(([path, rank]) => ({ path, rank, separator: '/', isPrefixed: true }))
  const { arrays, stray } = await surveyMembers({
    names,
    known,
    read: async (name) => (await readWhole(store, prefix + name, { maxBytes: METADATA_BYTES, signal }))?.bytes,
    sizeOf: async (name) => (await store.stat(prefix + name, { signal }))?.size,
  })
  if (stray !== undefined) throw foreign(file, stray.name, stray.why)
  return { state: isNode ? 'complete' : 'unfinished', roots, names, members: { arrays } }
}

const isWorkspace = (name: string): boolean => /^\.hyperslab-next(\/|$)/.test(name)

function foreign(file: string, name: string, why: string): HyperslabError {
  const text = `the folder holds something else already, such as '${name}': ${why}, so it is not replaced; choose another place, or empty it`
  return new HyperslabError('AlreadyExistsError', text, { file, actual: name })
}
