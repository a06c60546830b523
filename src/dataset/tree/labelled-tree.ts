import { METADATA_PATH } from '../../adapters/zarr/metadata-names.ts'
import type { ArrayNode, GroupNode } from '../../array/nodes.ts'
import type { NamedValues } from '../../array/source.ts'
import { isUnreadable, type NodesBelow, nodesBelow } from '../../array/walk.ts'
import { HyperslabError, isHyperslabError, within } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { withoutSlashes } from '../../core/text.ts'
import { withoutEnding } from '../../tree/formats.ts'
import type { Tree } from '../../tree/open-tree.ts'
import { placeName } from '../../tree/place-names.ts'
import { plainAttrs } from '../attributes.ts'
import { takeCoords } from '../coords.ts'
import { DataArray } from '../data-array.ts'
import type { Taken } from '../label-selectors.ts'
import { Variable } from '../variable.ts'
import { coordinateArrays, findCoordinates, type PreferredCoordinates } from './coordinates.ts'
import {
  type ArrayDescription,
  describeAttributes,
  describeNode,
  describePyramids,
  type PyramidDescription,
  type TreeDescription,
} from './description.ts'
import { decodedVariable, isBoundsVariable, type TreeArray, textAttribute, toRaw } from './tree-array.ts'

/** Readable content of a tree, or of a group of it. */
export interface TreeContents {
  /** Arrays, with names that are relative to the group. */
  readonly arrays: readonly TreeArray[]
  /** Attributes of groups by path; '' is the group itself. */
  readonly groups: ReadonlyMap<string, NamedValues>
  /** Messages about items that cannot be read. */
  readonly leftOut: readonly string[]
}

/** Options of `describe` of trees. */
export interface DescribeTreeOptions {
  /** Whether statistics are those of stored elements, without decoding. Default: false. */
  readonly raw?: boolean
}

const DESCRIBE_CHECKS: Checks<DescribeTreeOptions> = { raw: 'boolean' }

/** Options of `dataArray` of trees. */
export interface TreeArrayOptions {
  /** Whether elements stay as they are stored, without the CF conventions. Default: false. */
  readonly raw?: boolean
  /**
   * Coordinates that are searched beside the array: of several along a dimension, those of its name (`own`),
   * or those with a direction (`direction`). Default: none.
   */
  readonly coordinates?: PreferredCoordinates
}

/** Options of `coordinates` of trees. */
export interface CoordinatesOptions {
  /**
   * Coordinate that is preferred among several along a dimension: that of its name (`own`, the default), or
   * one with a direction (`direction`).
   */
  readonly prefer?: PreferredCoordinates
  /** Selected positions by dimension, as `selectInWords` returns them. Default: all. */
  readonly taken?: ReadonlyMap<string, Taken>
}

const COORDINATES_CHECKS: Checks<CoordinatesOptions> = { prefer: ['own', 'direction'], taken: 'object' }

const ARRAY_CHECKS: Checks<TreeArrayOptions> = { raw: 'boolean', coordinates: ['own', 'direction'] }

/**
 * The arrays of a tree by names that are relative to one of its groups, with labels and decoding. Closing it
 * closes the tree.
 * @example
 * await using labelled = new LabelledTree(await openTree('climate.af'))
 * const { arrays } = await labelled.describe()
 * console.log(arrays.map(({ name, shape }) => [name, shape])) // [ [ 'tas', [ 12, 4, 8 ] ] ]
 * const tas = await labelled.dataArray(await labelled.array('tas'))
 * console.log(await tas.isel({ time: 0, lat: 0, lon: 0 }).get()) // 280
 */
export class LabelledTree implements AsyncDisposable {
  /** The tree itself. */
  readonly tree: Tree
  /** Name of the place in messages. */
  readonly location: string
  /** Path of the group to which names are relative, with a slash at the end; '' for the root. */
  readonly #within: string

  /** @param group path of the group to which names are relative. Default: the root */
  constructor(tree: Tree, group = '') {
    this.tree = tree
    this.location = tree.location
    const path = withoutSlashes(group)
    this.#within = path === '' ? '' : `${path}/`
  }

  /** Name of the place: the last of its path, without the ending of its format. */
  get name(): string {
    return withoutEnding(placeName(this.location.replace(METADATA_PATH, '')))
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

  /**
   * Returns an array by its name.
   * @throws UnknownArrayError with the known names; errors of arrays that cannot be read
   */
  async array(name: string): Promise<TreeArray> {
    const { root } = this.tree
    if (root.kind === 'array') {
      const own = this.#nameOf(root)
      if (name === own || name === '.') return { name: own, path: '', array: root.array }
      const text = `there is no such array; the only one is '${own}'`
      throw new HyperslabError('UnknownArrayError', text, { file: this.location, array: name, actual: name, expected: [own] })
    }
    const path = root.hasGroups ? this.#within + withoutSlashes(name) : name
    try {
      return { name: path, path, array: (await root.array(path)).array }
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
  async arraysBeside({ path: own, array }: TreeArray): Promise<readonly TreeArray[]> {
    const { root } = this.tree
    if (root.kind === 'array') return []
    const found: TreeArray[] = []
    for (const path of ['', ...(root.hasGroups ? pathsAbove(own) : [])].reverse()) {
      const group = path === '' ? root : await root.group(path)
      const named = [...(array.dimensionNames ?? []), ...(textAttribute(array, 'coordinates')?.split(/\s+/) ?? [])]
      const names = (await unlessUntold(() => group.arrays())) ?? [...new Set(named)].filter((each) => /^[^/]+$/.test(each))
      for (const each of names) {
        try {
          const at = path === '' ? each : `${path}/${each}`
          found.push({ name: at, path: at, array: (await group.array(each)).array })
        } catch (error) {
          if (!isUnreadable(error) && !isHyperslabError(error, 'UnknownArrayError', 'InvalidArgumentError')) throw error
        }
      }
    }
    return found
  }

  /**
   * Returns all arrays and groups below.
   * @throws UnsupportedError if groups cannot be listed
   */
  async contents(): Promise<TreeContents> {
    const { groups, arrays, unreadable } = await this.#nodes()
    return {
      arrays: arrays.map((node) => ({ name: this.#nameOf(node), path: node.path, array: node.array, attrs: node.attrs })),
      groups: new Map(groups.map(({ path, attrs }) => [this.#shown(path), attrs])),
      leftOut: [...unreadable].map(([name, error]) => `${this.#shown(name)}: ${reasonIn(error)}`),
    }
  }

  async #nodes(): Promise<NodesBelow<GroupNode, ArrayNode>> {
    const top = await this.#top()
    return within({ file: this.location }, () => nodesBelow<ArrayNode, GroupNode>(top))
  }

  /**
   * Describes all that it contains except the elements. Reads chunks only if a container lacks their
   * statistics.
   * @throws UnsupportedError if groups cannot be listed
   */
  async describe(options: DescribeTreeOptions = {}): Promise<TreeDescription> {
    checkOptions('describe', options, DESCRIBE_CHECKS)
    const { raw = false } = options
    const top = await this.#top()
    const { groups, arrays, unreadable } = await this.#nodes()
    const warnings = [
      ...(await this.tree.checkBeside()),
      ...(await (await import('./slow-labels.ts')).warnOfSlowLabels(arrays, this.location)),
    ]
    const problems: string[] = []
    const described: ArrayDescription[] = []
    for (const node of arrays) described.push(await describeNode(node, this.#nameOf(node), raw, problems))
    const pyramids: PyramidDescription[] = []
    for (const group of groups) {
      try {
        pyramids.push(...(await describePyramids(group, this.#shown(group.path))))
      } catch (error) {
        if (!isUnreadable(error) && !isHyperslabError(error, 'UnknownArrayError')) throw error
        problems.push(error.message)
      }
    }
    const arraysIn = new Map<string, number>()
    for (const { path, name } of arrays) {
      const group = path.slice(0, -name.length - 1)
      arraysIn.set(group, (arraysIn.get(group) ?? 0) + 1)
    }
    return {
      file: this.location,
      format: top.title,
      hasGroups: top.kind === 'group' && top.hasGroups,
      arrays: described,
      attributes: top.kind === 'array' ? new Map() : describeAttributes(top.attrs),
      groups: groups
        .filter(({ path }) => path !== top.path)
        .map(({ path, attrs }) => ({
          path: this.#shown(path),
          arrays: arraysIn.get(path) ?? 0,
          attributes: describeAttributes(attrs),
        })),
      pyramids,
      layers: this.tree.layers,
      unreadable: [...unreadable].map(([name, error]) => ({ name: this.#shown(name), reason: reasonIn(error) })),
      problems,
      warnings,
    }
  }

  /**
   * Returns an array with its dimensions, decoded by the CF conventions. Bounds have the units of the
   * variable that they bound.
   * @throws errors of decoding, whose `details.expected` is `raw`
   */
  async dataArray(array: TreeArray, options: TreeArrayOptions = {}): Promise<DataArray> {
    checkOptions('dataArray', options, ARRAY_CHECKS, { file: this.location, array: array.name })
    const { raw = false, coordinates } = options
    const variable = raw ? storedVariable(array) : await this.#decoded(array)
    const beside = coordinates === undefined ? [] : await this.arraysBeside(array)
    return new DataArray(variable, coordinates === undefined ? new Map() : await findCoordinates(array, beside, coordinates))
  }

  async #decoded(array: TreeArray): Promise<Variable> {
    const bounded = await this.#bounded(array)
    try {
      return decodedVariable(array, bounded)
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      const { tag, text, details } = error
      throw new HyperslabError(tag, text, { file: this.location, array: array.name, ...details, expected: 'raw', cause: error })
    }
  }

  /** Returns the variable of which an array may have the bounds, which have no units of their own. */
  async #bounded(placed: TreeArray): Promise<TreeArray | undefined> {
    const { array } = placed
    if (array.shape.length < 2 || array.attrs?.get('units') !== undefined) return undefined
    return (await this.arraysBeside(placed)).find((each) => isBoundsVariable(placed, each))
  }

  /**
   * Returns the coordinate of each axis by dimension, with its labels in memory: arrays of the same group, or
   * of one above. Coordinates that cannot be decoded are omitted.
   */
  async coordinates(array: TreeArray, options: CoordinatesOptions = {}): Promise<Readonly<Record<string, DataArray>>> {
    checkOptions('coordinates', options, COORDINATES_CHECKS, { file: this.location, array: array.name })
    const { prefer = 'own', taken } = options
    const found = await findCoordinates(array, await this.arraysBeside(array), prefer)
    return coordinateArrays(taken === undefined ? found : takeCoords(found, taken))
  }

  /**
   * Returns the version of arrays and groups as they are stored now, as text that changes when they do.
   * @param contents some of its content. Default: all
   */
  async version(contents?: TreeContents): Promise<string> {
    const { arrays, groups } = contents ?? (await this.contents())
    const paths = [...arrays.map(({ path }) => path), ...[...groups.keys()].map((path) => withoutSlashes(this.#within + path))]
    return JSON.stringify([await this.tree.version(paths), this.tree.layers.at(-1)?.number, this.#within])
  }

  /** Closes the tree. */
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

/** Runs work; returns undefined if it needs members of groups that cannot be listed. */
async function unlessUntold<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isUntold(error)) return undefined
    throw error
  }
}

/** Returns an array as it is stored. */
function storedVariable(stored: TreeArray): Variable {
  const raw = toRaw(stored)
  return new Variable({ ...raw, attrs: plainAttrs(raw.array.attrs) })
}

/** Returns the paths of the groups above an array, without the root. */
const pathsAbove = (path: string): string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, i, names) => names.slice(0, i + 1).join('/'))
