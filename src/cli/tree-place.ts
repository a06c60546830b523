import { groupsAbove } from '../adapters/zarr/hierarchy.ts'
import { METADATA_PATH } from '../adapters/zarr/metadata-names.ts'
import type { ArrayNode, GroupNode } from '../array/nodes.ts'
import type { NamedValues } from '../array/source.ts'
import { isUnreadable, type NodesBelow, nodesBelow } from '../array/walk.ts'
import { ReadonlyAttributes } from '../core/attributes.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { withoutSlashes } from '../core/text.ts'
import type { Statistics } from '../runtime/index.ts'
import type { Tree } from '../tree/open-tree.ts'
import { placeName } from '../tree/place-names.ts'
import { decodedStatistics } from './decoded-statistics.ts'
import {
  type ArrayDescription,
  type DescribedAttribute,
  type DescribedAttributes,
  type Description,
  describeJson,
  type PyramidDescription,
} from './description.ts'
import { oneLine } from './failure.ts'
import { decodedVariable, type RawOption, shownAs, textAttribute } from './labelled.ts'
import { printError } from './output.ts'
import type { Place, PlaceContents, PlacedArray } from './place.ts'

/** A tree as a place. Names of arrays are paths, relative to a group. */
export class TreePlace implements Place {
  readonly tree: Tree
  readonly location: string
  /** Path of the group to which names are relative, with a slash at the end; '' for the root. */
  readonly #within: string

  constructor(tree: Tree, group = '') {
    this.tree = tree
    this.location = tree.location
    const path = withoutSlashes(group)
    this.#within = path === '' ? '' : `${path}/`
  }

  /** Returns the group to which names are relative, or the array if the place is one. */
  async #top(): Promise<GroupNode | ArrayNode> {
    const { root } = this.tree
    return this.#within === '' || root.kind === 'array' ? root : root.group(this.#within.slice(0, -1))
  }

  #shown(path: string): string {
    return path.slice(this.#within.length)
  }

  /** Returns the name of an array. An array that is opened by itself has that of the place. */
  #nameOf({ path }: ArrayNode): string {
    return this.#shown(path) || placeName(this.location.replace(METADATA_PATH, ''))
  }

  async array(name: string): Promise<PlacedArray> {
    const { root } = this.tree
    if (root.kind === 'array') {
      const own = this.#nameOf(root)
      if (name === own || name === '.') return { name: own, array: root.array }
      const text = `there is no such array; the only one is '${own}'`
      throw new HyperslabError('UnknownArrayError', text, { file: this.location, array: name, actual: name, expected: [own] })
    }
    const path = root.hasGroups ? this.#within + withoutSlashes(name) : name
    try {
      return { name: path, array: (await root.array(path)).array }
    } catch (error) {
      if (!isHyperslabError(error, 'UnknownArrayError') || Array.isArray(error.details.expected)) throw error
      const names = await this.#names()
      if (names === undefined) throw error
      const text = `there is no such array; there are ${names.join(', ') || 'none'}`
      throw new HyperslabError(error.tag, text, { ...error.details, actual: name, expected: names })
    }
  }

  /**
   * Returns the arrays of its group and of all groups above. If groups cannot be listed, returns the arrays
   * that it names.
   */
  async arraysBeside({ name, array }: PlacedArray): Promise<readonly PlacedArray[]> {
    const { root } = this.tree
    if (root.kind === 'array') return []
    const found: PlacedArray[] = []
    for (const path of ['', ...(root.hasGroups ? groupsAbove(name) : [])].reverse()) {
      const group = path === '' ? root : await root.group(path)
      const named = [...(array.dimensionNames ?? []), ...(textAttribute(array, 'coordinates')?.split(/\s+/) ?? [])]
      const names = (await unlessUntold(() => group.arrays())) ?? [...new Set(named)].filter((each) => /^[^/]+$/.test(each))
      for (const each of names) {
        try {
          found.push({ name: path === '' ? each : `${path}/${each}`, array: (await group.array(each)).array })
        } catch (error) {
          if (!isUnreadable(error) && !isHyperslabError(error, 'UnknownArrayError', 'InvalidArgumentError')) throw error
        }
      }
    }
    return found
  }

  async contents(): Promise<PlaceContents> {
    const { groups, arrays, unreadable } = await this.#nodes()
    return {
      arrays: arrays.map((node) => ({ name: this.#nameOf(node), array: node.array })),
      groups: new Map(groups.map(({ path, attrs }) => [this.#shown(path), attrs])),
      leftOut: [...unreadable].map(([name, error]) => `${this.#shown(name)}: ${reasonIn(error)}`),
    }
  }

  async #nodes(): Promise<NodesBelow<GroupNode, ArrayNode>> {
    const top = await this.#top()
    return namingUntold(this.location, () => nodesBelow<ArrayNode, GroupNode>(top))
  }

  async describe({ raw = false }: RawOption): Promise<Description> {
    const top = await this.#top()
    const { groups, arrays, unreadable } = await this.#nodes()
    for (const warning of await this.tree.checkBeside()) printError(`warning: ${oneLine(warning)}`)
    const problems: string[] = []
    const described: ArrayDescription[] = []
    for (const node of arrays) described.push(await describeArray(node, this.#nameOf(node), raw, problems))
    const pyramids: PyramidDescription[] = []
    for (const group of groups) {
      try {
        pyramids.push(...(await describePyramids(group, this.#shown(group.path))))
      } catch (error) {
        if (!isUnreadable(error) && !isHyperslabError(error, 'UnknownArrayError')) throw error
        problems.push(error.message)
      }
    }
    return {
      file: this.location,
      format: top.title,
      arrays: described,
      attributes: top.kind === 'array' ? new Map() : describeAttributes(top.attrs),
      groups: groups
        .filter(({ path }) => path !== top.path)
        .map(({ path, attrs }) => ({
          path: this.#shown(path),
          arrays: arrays.filter((array) => array.path.slice(0, -array.name.length - 1) === path).length,
          attributes: describeAttributes(attrs),
        })),
      pyramids,
      layers: this.tree.layers,
      unreadable: [...unreadable].map(([name, error]) => ({ name: this.#shown(name), reason: reasonIn(error) })),
      problems,
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.tree.close()
  }

  async #names(): Promise<string[] | undefined> {
    const nodes = await unlessUntold(async () => nodesBelow<ArrayNode, GroupNode>(await this.#top()))
    return nodes?.arrays.map(({ path }) => this.#shown(path))
  }
}

/** Returns the message of an error without its file and array, which are known. */
function reasonIn({ message, details: { file, array } }: HyperslabError): string {
  let text = message
  for (const part of [file, array === undefined ? undefined : `array '${array}'`])
    if (part !== undefined && text.startsWith(`${part}: `)) text = text.slice(part.length + 2)
  return text
}

/** Whether an error means that the members of a group cannot be listed. */
const isUntold = (error: unknown): boolean => isHyperslabError(error, 'UnsupportedError') && error.details.expected === 'names'

/** Runs work. Names the option that helps if members of groups cannot be listed. */
export async function namingUntold<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUntold(error)) throw error
    const text = 'the place cannot be listed, and the group has no consolidated metadata; --names gives the paths of its arrays'
    throw new HyperslabError('UnsupportedError', text, { file })
  }
}

/** Runs work; returns undefined if it needs members of groups that cannot be listed. */
async function unlessUntold<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isUntold(error)) return undefined
    throw error
  }
}

/** Describes an array. Adds errors of its statistics to `problems`. */
async function describeArray(node: ArrayNode, name: string, raw: boolean, problems: string[]): Promise<ArrayDescription> {
  const { array } = node
  const values = await describeValues(node, raw).catch((error: unknown) => {
    if (!isHyperslabError(error)) throw error
    problems.push(error.message)
    return undefined
  })
  return {
    name,
    dtype: array.dtype,
    shape: array.shape,
    dimensionNames: array.dimensionNames ?? [],
    ...(await node.storage()),
    chunks: array.chunks.count,
    statistics: values?.statistics,
    valueType: values?.valueType ?? array.dtype,
    fillValue: array.fillValue,
    missing: array.missing,
    attributes: describeAttributes(array.attrs),
  }
}

/**
 * Returns what is known about the values of an array. If times cannot be decoded, it describes the stored
 * numbers.
 */
async function describeValues(
  { name, array, statistics: stored }: ArrayNode,
  raw: boolean,
): Promise<Pick<ArrayDescription, 'statistics' | 'valueType'>> {
  if (stored === undefined) return { valueType: array.dtype }
  const known = stored as () => Promise<Statistics>
  const asStored = async () => ({ statistics: await known(), valueType: array.dtype })
  if (raw) return asStored()
  try {
    const placed = { name, array }
    const decoded = decodedVariable(placed)
    const statistics = await decodedStatistics(placed, decoded, known)
    const { dates } = shownAs(decoded, {})
    const show = (value: unknown): unknown => (value === undefined || dates === undefined ? value : dates.show(value))
    const valueType = dates === undefined ? decoded.array.dtype : 'date'
    return { statistics: statistics && { ...statistics, min: show(statistics.min), max: show(statistics.max) }, valueType }
  } catch (error) {
    if (isHyperslabError(error, 'UnsupportedError')) return asStored()
    throw error
  }
}

/** Describes attributes with their types. JSON has few of them. */
function describeAttributes(attrs: NamedValues | undefined): DescribedAttributes {
  if (attrs === undefined) return new Map()
  if (!(attrs instanceof ReadonlyAttributes)) return describeJson(attrs)
  return new Map([...attrs.keys()].map((name) => [name, attrs.typed(name) as unknown as DescribedAttribute]))
}

async function describePyramids(group: GroupNode, path: string): Promise<PyramidDescription[]> {
  return (await group.levels()).map(({ name, axes, levels }) => ({
    group: path,
    name,
    axes,
    levels: levels.map(({ node, scale, translation }) => ({
      path: node.path.slice(group.path === '' ? 0 : group.path.length + 1),
      ...(node.kind === 'array' && { shape: node.array.shape }),
      scale,
      translation,
    })),
  }))
}
