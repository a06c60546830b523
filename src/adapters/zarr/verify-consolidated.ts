import { isUnreadable, type NodesBelow, nodesBelow } from '../../array/walk.ts'
import { isHyperslabError } from '../../core/errors.ts'
import { writeJson } from '../../core/json.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { member } from '../../core/member.ts'
import type { ZarrArray, ZarrGroup } from './group.ts'

type Node = ZarrArray | ZarrGroup

/** A difference between consolidated and own metadata of a node. */
export interface ConsolidatedFinding {
  readonly severity: 'error' | 'warning'
  readonly array: string
  readonly text: string
}

/** Number of nodes that are requested at once. */
const NODES_AT_ONCE = 32

/**
 * Compares consolidated metadata with those of each node, which some programs read instead.
 * @param consolidated all nodes in the consolidated metadata
 * @param root the same location, opened without them
 * @throws errors of the store
 */
export async function compareConsolidated(
  consolidated: NodesBelow<ZarrGroup, ZarrArray>,
  root: Node,
): Promise<ConsolidatedFinding[]> {
  const findings: ConsolidatedFinding[] = []
  const add = (severity: ConsolidatedFinding['severity'], array: string, text: string): void => {
    findings.push({ severity, array, text })
  }
  const known = new Map([...consolidated.groups, ...consolidated.arrays].map((node) => [node.path, node]))
  await forEachLimited(known, NODES_AT_ONCE, async ([path, node]) => {
    try {
      const differs = differing(node, await nodeAt(root, path, node.kind))
      if (differs !== undefined) add('error', path, `the consolidated metadata differ from its own: ${differs}`)
    } catch (error) {
      // Groups of version 2 may exist only through their content.
      const isBare = node.kind === 'group' && node.version === 2 && node.attrs.size === 0
      if (isHyperslabError(error, 'UnknownArrayError')) {
        if (!isBare) add('error', path, 'it is among the consolidated metadata, but there are no metadata of its own')
      } else if (isHyperslabError(error, 'InvalidArgumentError'))
        add('error', path, 'the consolidated metadata differ from its own: kind')
      else if (isUnreadable(error))
        add('error', path, `it is among the consolidated metadata, but its own cannot be read: ${error.message}`)
      else throw error
    }
  })
  const all = await listed(root)
  for (const path of [...[...all.groups, ...all.arrays].map(({ path }) => path), ...all.unreadable.keys()])
    if (!known.has(path) && !consolidated.unreadable.has(path))
      add('warning', path, 'it is not among the consolidated metadata: who reads these does not see it')
  return findings.sort((a, b) => (a.array < b.array ? -1 : 1))
}

const nodeAt = async (root: Node, path: string, kind: Node['kind']): Promise<Node> =>
  path === '' || root.kind === 'array' ? root : kind === 'array' ? root.array(path) : root.group(path)

/** Returns all nodes at the location, if it can be listed. */
async function listed(root: Node): Promise<NodesBelow<ZarrGroup, ZarrArray>> {
  try {
    return await nodesBelow<ZarrArray, ZarrGroup>(root)
  } catch (error) {
    if (!isHyperslabError(error, 'UnsupportedError') || error.details.expected !== 'names') throw error
    return { groups: [], arrays: [], unreadable: new Map() }
  }
}

/** Returns the name of the first difference between two nodes. */
function differing(one: Node, other: Node): string | undefined {
  if (one.kind !== other.kind) return 'kind'
  const [a, b] = [nodeFacts(one), nodeFacts(other)]
  return Object.keys(a).find((name) => writeJson(a[name] ?? null) !== writeJson(member(b, name) ?? null))
}

function nodeFacts(node: Node): Record<string, unknown> {
  if (node.kind === 'group') return { version: node.version, attributes: sorted(Object.fromEntries(node.attrs)) }
  const { version, shape, chunks, type, codecs, fillValue, chunkKey, dimensionNames, attrs } = node.metadata
  return {
    version,
    shape,
    'data type': type,
    'chunk shape': chunks,
    codecs: sorted(codecs),
    'fill value': ArrayBuffer.isView(fillValue) ? [...(fillValue as Uint8Array)] : fillValue,
    'key of chunks': chunkKey(shape.map((_, axis) => axis + 1)),
    'names of dimensions': dimensionNames,
    attributes: sorted(attrs),
  }
}

/** Sorts the members of objects by name. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, part]) => [name, sorted(part)]))
}
