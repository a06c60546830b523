// Opens the content of a place: its groups, and the levels of pyramids, as datasets.
import { createPool, isHyperslabError, openTree, type Tree, type WorkerPool } from 'hyperslab'
import { type Dataset, openDataset } from 'hyperslab/dataset'
import type { GroupNode, NodePyramid } from 'hyperslab/tree'
import { NearReads } from './near-reads.ts'

type Place = Parameters<typeof openDataset>[0]

/** Most groups that are listed. */
const MOST_GROUPS = 200

/** Decoded bytes of the blocks that the page decodes itself, because starting workers takes longer. */
const BYTES_HERE = 2 ** 24

/** Pool of workers that only decodes after the first blocks. */
class LatePool implements WorkerPool {
  readonly #pool = createPool()
  #left = BYTES_HERE

  get size(): number {
    return this.#pool.size
  }

  decodes(codec: unknown): boolean {
    return this.#pool.decodes(codec)
  }

  run: WorkerPool['run'] = async (packed, task, use, signal) => {
    this.#left -= packed.decodedBytes
    return this.#left < 0 ? this.#pool.run(packed, task, use, signal) : undefined
  }
}

let pool: WorkerPool | undefined

/** Options of opening a place. */
export interface HierarchyOptions {
  readonly signal: AbortSignal
  /** Paths of arrays and groups in a Zarr store that cannot be listed. */
  readonly names?: readonly string[] | undefined
  /** Only level that is opened of pyramids. */
  readonly level?: number | undefined
}

/** Groups of a place. */
export class Hierarchy {
  readonly #place: Place
  readonly #hasLevels: boolean
  readonly #options: HierarchyOptions
  readonly #groups: Group[] = []
  #tree: Promise<Tree | undefined> | undefined

  /**
   * @param place opened by the first group
   * @param hasLevels whether it may contain pyramids. Then the first group opens the tree, too
   */
  constructor(place: Place, hasLevels: boolean, options: HierarchyOptions) {
    this.#place = place
    this.#hasLevels = hasLevels
    this.#options = options
  }

  /** Announces that all further reads are of values. */
  settle(): void {
    const place = this.#place
    if (typeof place === 'object' && 'store' in place && place.store instanceof NearReads) place.store.settle()
  }

  /** Returns the group at a path; '' is the place itself. */
  async group(path: string): Promise<Group> {
    const root = this.#hasLevels ? await this.#root() : undefined
    const node = path === '' ? root : await root?.group(path)
    // A group of several pyramids is opened as a dataset, which reports the problem.
    const pyramids = node === undefined ? [] : await node.levels()
    const { signal, names, level: only } = this.#options
    const pyramid = only === undefined && pyramids.length === 1 && pyramids[0]!.levels.length > 1 ? pyramids[0] : undefined
    const group = new Group(path, pyramid, (level = only) => {
      pool ??= new LatePool()
      const options = { ...(path !== '' && { group: path }), ...(level !== undefined && { level }) }
      return openDataset(this.#place, { ...options, ...(names && { names }), pool, signal })
    })
    this.#groups.push(group)
    return group
  }

  /**
   * Returns the paths of groups with arrays and of pyramids. If groups cannot be listed, returns the place
   * itself.
   */
  async paths(): Promise<readonly string[]> {
    if (await this.#isFlat()) return ['']
    const root = await this.#root()
    if (root === undefined) return ['']
    const found: string[] = []
    const visit = async (group: GroupNode): Promise<void> => {
      const isPyramid = (await group.levels()).length > 0
      if (isPyramid || (await group.arrays()).length > 0) found.push(group.path)
      // Levels of a pyramid are no groups to choose from; the zoom chooses them.
      if (isPyramid || !group.hasGroups) return
      for (const name of await group.groups()) if (found.length < MOST_GROUPS) await visit(await group.group(name))
    }
    try {
      await visit(root)
    } catch (error) {
      if (!isHyperslabError(error, 'UnsupportedError')) throw error
    }
    if (found.length === 0) return ['']
    // MATLAB stores the elements of cells in `#refs#`.
    return found.sort((a, b) => Number(a.startsWith('#')) - Number(b.startsWith('#')))
  }

  /** Whether the file has no groups, as its opened dataset says. Opening the tree costs further requests. */
  async #isFlat(): Promise<boolean> {
    const [first] = this.#groups
    if (this.#hasLevels || first?.path !== '') return false
    return (await (await first.dataset(0)).omittedGroups()).length === 0
  }

  /** Returns the group at the place, or undefined. Opening a dataset there reports the reason. */
  async #root(): Promise<GroupNode | undefined> {
    const { signal, names } = this.#options
    this.#tree ??= openTree(this.#place, { signal, ...(names && { names }) }).catch((error: unknown) => {
      if (!isHyperslabError(error)) throw error
      return undefined
    })
    const root = (await this.#tree)?.root
    return root?.kind === 'group' ? root : undefined
  }

  async close(): Promise<void> {
    for (const group of this.#groups) await group.close()
    await (await this.#tree)?.close()
  }
}

/** A group of arrays, or the levels of a pyramid. */
export class Group {
  readonly path: string
  readonly #pyramid: NodePyramid | undefined
  readonly #open: (level: number | undefined) => Promise<Dataset>
  readonly #datasets = new Map<number, Promise<Dataset>>()

  constructor(path: string, pyramid: NodePyramid | undefined, open: (level: number | undefined) => Promise<Dataset>) {
    this.path = path
    this.#pyramid = pyramid
    this.#open = open
  }

  /** Number of levels; 1 for a group that is no pyramid. */
  get levels(): number {
    return this.#pyramid?.levels.length ?? 1
  }

  /** Returns options that open the same level elsewhere. */
  optionsOf(level: number): { group?: string; level?: number } {
    return { ...(this.path !== '' && { group: this.path }), ...(this.#pyramid !== undefined && { level }) }
  }

  /** Returns the arrays of a level, which is opened once. */
  dataset(level: number): Promise<Dataset> {
    let dataset = this.#datasets.get(level)
    if (dataset === undefined) {
      dataset = this.#open(this.#pyramid === undefined ? undefined : level)
      this.#datasets.set(level, dataset)
      dataset.catch(() => this.#datasets.delete(level))
    }
    return dataset
  }

  /** Returns the length of a dimension of an array at each level of a pyramid, without opening the levels. */
  async lengths(name: string, dim: string): Promise<readonly number[]> {
    const levels = this.#pyramid?.levels ?? []
    return Promise.all(
      levels.map(async ({ node }) => {
        const { array } = node.kind === 'group' ? await node.array(name) : node
        const names = array.shape.map(
          (_, axis) => this.#pyramid!.axes?.[axis]?.name ?? array.dimensionNames?.[axis] ?? `dim_${axis}`,
        )
        return array.shape[names.indexOf(dim)] ?? 0
      }),
    )
  }

  async close(): Promise<void> {
    for (const dataset of this.#datasets.values()) await dataset.then((opened) => opened.close()).catch(() => undefined)
  }
}
