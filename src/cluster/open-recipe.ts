import { DiskArray } from '../array/disk-array.ts'
import { concatSource } from '../array/lazy/concat.ts'
import { coarsen } from '../array/reductions/windows.ts'
import { invalidArgument } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import type { Signal } from '../core/signal.ts'
import type { Dataset } from '../dataset/dataset.ts'
import { openDataset } from '../dataset/open/open-dataset.ts'
import { openDatasets } from '../dataset/open/open-datasets.ts'
import { linear } from '../grid/linear.ts'
import type { Selection } from '../grid/selection.ts'
import { points } from '../grid/selectors.ts'
import type { WorkerPool } from '../pool/task.ts'
import { findTree, type Tree } from '../tree/open-tree.ts'
import type { NotFoundOptions } from '../tree/url-options.ts'
import type { Pins } from './pins.ts'
import type { Places } from './places.ts'
import type {
  ArrayRecipe,
  AxisRecipe,
  DatasetRecipe,
  JoinedRecipe,
  SelectRecipe,
  StoredArrayRecipe,
  VariableRecipe,
  ViewRecipe,
} from './recipe.ts'

/** Resources for opening, which the recipe does not contain. */
export interface OpenRecipeOptions {
  /** Workers that decode and reduce, from `createPool`. Default: the calling thread does all work. */
  readonly pool?: WorkerPool | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /** Resolves the locations of the target and of scratch folders. Default: all locations are allowed. */
  readonly places?: Places | undefined
}

/** Number of arrays to be joined that are opened at once. */
const OPENED_AT_A_TIME = 8

/**
 * Opens arrays by their recipes, through stores that record the versions of the objects that they read. Opens
 * each file once, even if several arrays lie in it. `close` closes all of them.
 */
export class RecipeOpener implements AsyncDisposable {
  readonly #pins: Pins
  readonly #options: OpenRecipeOptions
  readonly #files = new Map<string, Promise<Tree>>()
  readonly #datasets = new Map<string, Promise<Dataset>>()

  constructor(pins: Pins, options: OpenRecipeOptions) {
    this.#pins = pins
    this.#options = options
  }

  /** @throws errors of opening it; ConflictError if a version differs from the pinned one */
  async open(recipe: ArrayRecipe): Promise<DiskArray> {
    return (recipe.views ?? []).reduce(viewed, await this.#openBase(recipe))
  }

  /** @throws errors of opening it; ConflictError if a version differs from the pinned one */
  openDataset({ dataset, notFound, ...rules }: DatasetRecipe & { readonly decode?: boolean }): Promise<Dataset> {
    return once(this.#datasets, JSON.stringify([dataset, notFound, rules]), async () => {
      const { places: _, ...reading } = this.#options
      const how = { ...reading, ...rules } as object
      if (typeof dataset === 'string') return openDataset(await this.#pins.place(dataset, { notFound }), how)
      return openDatasets(await Promise.all(dataset.map((location) => this.#pins.place(location, { notFound }))), how)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await Promise.allSettled([...this.#files.values(), ...this.#datasets.values()])
    await Promise.all(opened.map((each) => (each.status === 'fulfilled' ? each.value.close() : undefined)))
  }

  #openBase(recipe: ArrayRecipe): Promise<DiskArray> {
    if ('concat' in recipe) return this.#openJoined(recipe)
    return 'dataset' in recipe ? this.#openVariable(recipe) : this.#openStored(recipe)
  }

  async #openJoined({ concat: parts, axis = 0 }: JoinedRecipe): Promise<DiskArray> {
    const opened: DiskArray[] = []
    await forEachLimited(parts.entries(), OPENED_AT_A_TIME, async ([at, part]) => {
      opened[at] = await this.open(part)
    })
    return new DiskArray(
      concatSource(
        opened.map(({ source }) => source),
        { axis },
      ),
    )
  }

  async #openVariable({ variable, views: _, ...recipe }: VariableRecipe): Promise<DiskArray> {
    return (await this.openDataset(recipe)).get(variable).array
  }

  async #openStored({ location, array, notFound }: StoredArrayRecipe): Promise<DiskArray> {
    const { root, location: label } = await once(this.#files, JSON.stringify([location, notFound]), () =>
      this.#openTree(location, { notFound }),
    )
    if (root.kind === 'array') return root.array
    if (array === undefined) invalidArgument(`planJob: source: ${label} has several arrays; name one as \`array\``, location)
    return (await root.array(array)).array
  }

  async #openTree(location: string, options: NotFoundOptions): Promise<Tree> {
    const { pool, signal } = this.#options
    const found = await findTree(await this.#pins.place(location, options), { signal })
    // The signal ends the opening, and arrays are read later.
    return found.open({ pool })
  }
}

/** Returns the opened value of a name. Opens it on first use. */
function once<T>(opened: Map<string, Promise<T>>, name: string, open: () => Promise<T>): Promise<T> {
  const known = opened.get(name)
  if (known !== undefined) return known
  const opening = open()
  opened.set(name, opening)
  return opening
}

function viewed(array: DiskArray, view: ViewRecipe): DiskArray {
  if ('select' in view) return array.view(toSelection(view.select))
  if ('linear' in view) return array.view(linear(toSelector(view.linear) as never))
  if ('transpose' in view) return array.transpose(view.transpose)
  return coarsen(array, view.coarsen, view.kind, view.options) as DiskArray
}

function toSelection(select: SelectRecipe['select']): Selection {
  if (Array.isArray(select)) return (select as readonly AxisRecipe[]).map(toSelector) as Selection
  return Object.fromEntries(Object.entries(select).map(([name, axis]) => [name, toSelector(axis as AxisRecipe)])) as Selection
}

function toSelector(axis: AxisRecipe): unknown {
  if (typeof axis !== 'object' || axis === null || Array.isArray(axis)) return axis
  if ('points' in axis) return points(axis.points as never, axis.axes)
  return { start: null, stop: null, step: null, ...axis }
}
