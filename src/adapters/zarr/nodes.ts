import type { DiskArray } from '../../array/disk-array.ts'
import type { ArrayNode, GroupNode, NodePyramid, OpenedNodes } from '../../array/nodes.ts'
import type { NamedValues } from '../../array/source.ts'
import { joinForeignKey } from '../../core/foreign-key.ts'
import type { StoredAt } from '../../store/store.ts'
import { PAIRS } from './complex-array.ts'
import { withDurationUnit } from './duration-units.ts'
import type { ZarrArray, ZarrGroup } from './group.ts'
import { METADATA } from './metadata-names.ts'
import { type OpenZarrOptions, openNode, rootPath } from './open.ts'
import { isSingleByte } from './single-byte.ts'

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
  storage: async () => (await import('./describe-storage.ts')).describeStorage(array),
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
