// Opens the content of a place: a dataset, or the groups and pyramids of a Zarr store.
import { BlobStore, createPool, isHyperslabError, type WorkerPool, ZipStore } from 'hyperslab'
import { type Dataset, openDataset } from 'hyperslab/dataset'
import type { ZarrGroup, ZarrPyramid } from 'hyperslab/zarr'
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

/** Groups of a place. A place other than a Zarr store is a single group. */
export class Hierarchy {
  readonly #place: Place
  readonly #root: ZarrGroup | undefined
  readonly #options: HierarchyOptions
  readonly #groups: Group[] = []

  private constructor(place: Place, root: ZarrGroup | undefined, options: HierarchyOptions) {
    this.#place = place
    this.#root = root
    this.#options = options
  }

  /** @param isNested whether there may be groups, which only Zarr stores have */
  static async open(place: Place, isNested: boolean, options: HierarchyOptions): Promise<Hierarchy> {
    return new Hierarchy(place, isNested ? await rootOf(place, options) : undefined, options)
  }

  /** Announces that all further reads are of values. */
  settle(): void {
    const place = this.#place
    if (typeof place === 'object' && 'store' in place && place.store instanceof NearReads) place.store.settle()
  }

  /** Returns the group at a path; '' is the place itself. */
  async group(path: string): Promise<Group> {
    const node = path === '' ? this.#root : await this.#root?.group(path)
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
    if (this.#root === undefined) return ['']
    const found: string[] = []
    const visit = async (group: ZarrGroup): Promise<void> => {
      const isPyramid = (await group.levels()).length > 0
      if (isPyramid || (await group.arrays()).length > 0) found.push(group.path)
      // Levels of a pyramid are no groups to choose from; the zoom chooses them.
      if (isPyramid) return
      for (const name of await group.groups()) if (found.length < MOST_GROUPS) await visit(await group.group(name))
    }
    try {
      await visit(this.#root)
    } catch (error) {
      if (!isHyperslabError(error, 'UnsupportedError')) throw error
    }
    return found.length > 0 ? found : ['']
  }

  async close(): Promise<void> {
    for (const group of this.#groups) await group.close()
    await this.#root?.close()
  }
}

/**
 * Opens the group at a place; undefined if there is none. Opening the place as a dataset reports the reason.
 */
async function rootOf(place: Place, { signal, names }: HierarchyOptions): Promise<ZarrGroup | undefined> {
  const { openZarr } = await import('hyperslab/zarr')
  try {
    return await openZarr(await zarrIn(place), { kind: 'group', signal, names })
  } catch (error) {
    if (!isHyperslabError(error)) throw error
    return undefined
  }
}

/** Returns the Zarr store in an archive, or in its only folder. */
async function zarrIn(place: Place): Promise<Place> {
  const file = place instanceof File ? new BlobStore(place) : undefined
  const stored = file === undefined ? place : { store: file, path: file.key }
  if (typeof stored !== 'object' || !('store' in stored)) return place
  const name = place instanceof File ? place.name : stored.path
  if (!ARCHIVE.test(name)) return { store: stored.store, path: stored.path.replace(METADATA, '') }
  const store = new ZipStore(stored)
  const tops = new Set((await store.list('')).map((key) => key.replace(/\/.*/s, '/')))
  const [top = ''] = tops
  return { store, path: tops.size === 1 && top.endsWith('/') ? top.slice(0, -1) : '' }
}

const ARCHIVE = /\.(zip|ozx)$/i
/** Metadata objects of a Zarr store, which identify their folder. */
const METADATA = /(^|\/)(zarr\.json|\.z(array|group|metadata|attrs))$/

/** A group of arrays, or the levels of a pyramid. */
export class Group {
  readonly path: string
  readonly #pyramid: ZarrPyramid | undefined
  readonly #open: (level: number | undefined) => Promise<Dataset>
  readonly #datasets = new Map<number, Promise<Dataset>>()

  constructor(path: string, pyramid: ZarrPyramid | undefined, open: (level: number | undefined) => Promise<Dataset>) {
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
        const array = node.kind === 'group' ? await node.array(name) : node
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
