import type { DiskArray } from '../../array/disk-array.ts'
import type { ArrayNode, GroupNode, NodePyramid, OpenedNodes, StorageInfo } from '../../array/nodes.ts'
import type { NamedValues } from '../../array/source.ts'
import { elementBytes, isFixed } from '../../core/dtype.ts'
import { joinForeignKey } from '../../core/foreign-key.ts'
import type { StoredAt } from '../../store/store.ts'
import { PAIRS } from './complex-array.ts'
import { withDurationUnit } from './duration-units.ts'
import type { ZarrArray, ZarrGroup } from './group.ts'
import { METADATA } from './metadata-names.ts'
import { type OpenZarrOptions, openNode, rootPath } from './open.ts'
import { planChunks } from './shards.ts'
import { isSingleByte } from './single-byte.ts'
import { codecWords, storedTypeWords } from './words.ts'

/** Number of chunks of an array up to which the stored ones are counted. */
const MOST_COUNTED = 2 ** 20

/**
 * Opens a Zarr store as a tree.
 * @param holder words for titles: how the store is held
 */
export async function openZarrNodes(place: StoredAt, options: OpenZarrOptions, holder = ''): Promise<OpenedNodes> {
  const { store, path } = place
  const node = await openNode(store, path, options)
  return {
    root: toNode(node, holder),
    warnings: [],
    versionKeys: (paths) => documentKeys(place, paths),
    close: () => node.close(),
  }
}

/** Returns the keys of the metadata of nodes. Those of chunks may be millions. */
function documentKeys({ store, path }: StoredAt, nodes: Iterable<string>): string[] {
  const root = rootPath(path)
  return [...new Set([...nodes, ''])].flatMap((node) =>
    METADATA.map((name) => joinForeignKey(root, node === '' ? name : `${node}/${name}`, store)),
  )
}

const toNode = (node: ZarrArray | ZarrGroup, holder: string): ArrayNode | GroupNode =>
  node.kind === 'array' ? arrayNode(node, holder) : new ZarrGroupNode(node, holder)

const arrayNode = (array: ZarrArray, holder: string): ArrayNode => ({
  kind: 'array',
  path: array.path,
  name: array.name,
  title: `Zarr ${array.version}${holder}`,
  array: array as unknown as DiskArray,
  attrs: elementAttributes(array),
  isCharacter: isSingleByte(array),
  isComplex: array.metadata.type.element?.isComplex === true,
  storage: () => describeStorage(array),
})

/**
 * Returns the attributes of an array as those of its elements: with the unit of durations, and without pairs
 * that name missing complex numbers, because they would name missing parts.
 */
function elementAttributes({ attrs, metadata: { type } }: ZarrArray): NamedValues {
  if (!type.element?.isComplex) return withDurationUnit(attrs, type)!
  return new Map([...attrs].filter(([name]) => !PAIRS.includes(name)))
}

class ZarrGroupNode implements GroupNode {
  readonly kind = 'group'
  readonly path: string
  readonly name: string
  readonly title: string
  readonly hasGroups = true
  readonly #group: ZarrGroup
  readonly #holder: string

  constructor(group: ZarrGroup, holder: string) {
    this.#group = group
    this.#holder = holder
    this.path = group.path
    this.name = group.name
    this.title = `Zarr ${group.version}${holder}, ${group.isStructure ? 'structure' : group.consolidated ? 'consolidated' : 'not consolidated'}`
  }

  get attrs(): GroupNode['attrs'] {
    return this.#group.attrs
  }

  arrays(): Promise<string[]> {
    return this.#group.arrays()
  }

  groups(): Promise<string[]> {
    return this.#group.groups()
  }

  unreadable(): ReturnType<GroupNode['unreadable']> {
    return this.#group.unreadable()
  }

  async array(path: string): Promise<ArrayNode> {
    const node = await this.#group.listedNode(path)
    return arrayNode(node.kind === 'array' ? node : await this.#group.array(path), this.#holder)
  }

  async group(path: string): Promise<GroupNode> {
    const node = await this.#group.listedNode(path)
    return new ZarrGroupNode(node.kind === 'group' ? node : await this.#group.group(path), this.#holder)
  }

  async levels(): Promise<NodePyramid[]> {
    const pyramids = await this.#group.levels()
    return pyramids.map(({ levels, ...known }) => ({
      ...known,
      levels: levels.map(({ node, ...position }) => ({ ...position, node: toNode(node, this.#holder) })),
    }))
  }
}

async function describeStorage(array: ZarrArray): Promise<StorageInfo> {
  const { metadata, dtype, size } = array
  const { levels, objects, chunks, codecs } = planChunks(metadata)
  return {
    storedAs: storedTypeWords(metadata.type),
    chunkShape: chunks,
    ...(levels.length > 0 && { shardShape: objects }),
    codecs: codecWords(codecs),
    ...(isFixed(dtype) && { bytes: size * elementBytes(dtype) }),
    ...(levels.length === 0 && { storedChunks: await countStored(array) }),
  }
}

/**
 * Counts the stored chunks of an array in a local folder. Elsewhere, listing would take a request for each
 * thousand of them.
 */
async function countStored({ index }: ZarrArray): Promise<number | undefined> {
  const { store } = index.opened
  if (store.files?.localPath === undefined || index.objectCount > MOST_COUNTED) return undefined
  const keys = new Set(await store.list?.(index.path === '' ? '' : `${index.path}/`, { deep: true }))
  let stored = 0
  for (const key of index.objectKeys()) if (keys.has(key)) stored++
  return stored
}
