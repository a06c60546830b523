// The shown variable, with its dimensions and levels.
import type { DataArray, Dataset } from 'hyperslab/dataset'
import { type Axis, areOfMap, type Chosen, chooseAxes, readAxis, readGroups, slowDimension } from './axes.ts'
import { loadCoastlines } from './coastlines.ts'
import type { Group } from './hierarchy.ts'
import { knownExtent, type Limits } from './limits.ts'
import { type Derivation, derivationOf } from './picture.ts'
import { type Plane, resolutionFor, type Sides } from './plane.ts'
import { placesOf, readShores, runsNorth } from './shores.ts'
import type { ViewState } from './state.ts'
import { isNumeric } from './words.ts'

export class Subject {
  readonly group: Group
  /** Array of the level that was opened first. */
  readonly array: DataArray
  readonly axes: Map<string, Axis>
  /** Drawn dimensions; empty names for variables that are no planes. */
  readonly chosen: Chosen
  /** Extent of all values, if known without a read. */
  readonly known: Promise<Limits | undefined>
  /** Lengths of both sides at each level; empty if there is no pyramid. */
  readonly #lengths: readonly Sides[]
  readonly #planes = new Map<number, Plane>()
  readonly #dataset: Dataset
  /** Loaded coastlines. */
  coasts: Int16Array | Float64Array | undefined
  #loading: Promise<Int16Array | Float64Array | undefined> | undefined

  private constructor(
    group: Group,
    dataset: Dataset,
    array: DataArray,
    axes: readonly Axis[],
    lengths: readonly Sides[],
    known: Promise<Limits | undefined>,
  ) {
    this.group = group
    this.#dataset = dataset
    this.array = array
    this.axes = new Map(axes.map((axis) => [axis.dim, axis]))
    this.chosen = isPlane(array) ? chooseAxes(array.dims, this.axes) : { y: '', x: '', others: [] }
    this.#lengths = lengths
    this.known = known
  }

  static async read(group: Group, dataset: Dataset, array: DataArray): Promise<Subject> {
    // Statistics are loaded in parallel with the coordinates. Those of a coarse level do not describe all
    // values.
    const isKnown = group.levels === 1 && isPlane(array)
    const known = isKnown ? knownExtent(array).catch(() => undefined) : Promise.resolve(undefined)
    const read = await Promise.all(array.dims.map((dim, i) => readAxis(dataset, dim, array.shape[i]!)))
    const { chosen } = new Subject(group, dataset, array, read, [], known)
    const axes = await Promise.all(read.map((axis) => (axis.dim === chosen.y ? withNorth(dataset, axis, chosen.x) : axis)))
    const flat = new Subject(group, dataset, array, axes, [], known)
    if (group.levels === 1 || !flat.isPlane) return flat
    const { y, x } = flat.chosen
    const [rows, columns] = await Promise.all([y, x].map((dim) => group.lengths(array.name, dim)))
    return new Subject(
      group,
      dataset,
      array,
      axes,
      rows!.map((count, level) => [count, columns![level]!] as const),
      known,
    )
  }

  get isPlane(): boolean {
    return this.chosen.y !== ''
  }

  /** Whether the variable is drawn as a map. */
  get isMap(): boolean {
    return this.isPlane && areOfMap(this.axes.get(this.chosen.y)!, this.axes.get(this.chosen.x)!)
  }

  /** Loads the coastlines on the picture. They stay undefined if their place is unknown. */
  async loadCoasts(): Promise<void> {
    const [y, x] = [this.axes.get(this.chosen.y)!, this.axes.get(this.chosen.x)!]
    this.#loading ??= this.isMap ? loadCoastlines() : readShores(this.#dataset, this.array, y, x)
    this.coasts = await this.#loading
  }

  /** Dimension whose times a climatology groups. */
  get times(): string | undefined {
    return this.chosen.others.find((dim) => this.axes.get(dim)!.kind === 'time' && this.axes.get(dim)!.length > 1)
  }

  /** Returns the dimensions to choose from. In a climatology, groups replace times. */
  dims({ by }: ViewState): readonly string[] {
    return this.chosen.others.map((dim) => (by !== '' && dim === this.times ? by : dim))
  }

  /** Returns the dimension of series and differences. */
  slow(state: ViewState): string | undefined {
    return slowDimension({ others: this.dims(state) }, this.axes)
  }

  derivation(state: ViewState): Derivation {
    const { times } = this
    return derivationOf(state, { others: this.dims(state) }, this.axes, { slow: this.slow(state), times })
  }

  /** Reads the groups of a climatology. */
  async learnGroups({ by }: ViewState): Promise<void> {
    if (by !== '' && this.times !== undefined) this.axes.set(by, await readGroups(this.array.climatology(by), by))
  }

  /** Returns the level that suits a width of the whole plane in pixels. */
  levelFor(pixels: number): number {
    return this.#lengths.length === 0
      ? 0
      : resolutionFor(
          this.#lengths.map(([, columns]) => columns),
          pixels,
        )
  }

  /** Returns the axes of a level, if they were read. */
  knownPlane(level: number): Plane | undefined {
    return this.#planes.get(level)
  }

  async planeAt(level: number): Promise<Plane> {
    const known = this.#planes.get(level)
    if (known !== undefined) return known
    const dataset = await this.group.dataset(level)
    const array = dataset.get(this.array.name)
    const { y, x } = this.chosen
    const own = ([y, x] as const).map(async (dim) => {
      const length = array.shape[array.dims.indexOf(dim)]!
      const axis = this.axes.get(dim)!
      return axis.length === length ? axis : { ...(await readAxis(dataset, dim, length)), runsNorth: axis.runsNorth }
    })
    const [rows, columns] = (await Promise.all(own)) as [Axis, Axis]
    const finest = [0, 1].map((side) => Math.max(...this.#lengths.map((lengths) => lengths[side]!)))
    const ratio =
      this.#lengths.length === 0 ? ([1, 1] as const) : ([finest[0]! / rows.length, finest[1]! / columns.length] as const)
    const plane = { level, levels: this.group.levels, y: rows, x: columns, ratio }
    this.#planes.set(level, plane)
    return plane
  }

  /** Describes the shown level; empty without levels. */
  levelText(level: number): string {
    const lengths = this.#lengths[level]
    return lengths === undefined ? '' : `level ${level} (0 to ${this.#lengths.length - 1}), ${lengths.join(' × ')} cells`
  }
}

/** Adds the direction of the rows of a plane, if only two-dimensional latitudes define it. */
async function withNorth(dataset: Dataset, axis: Axis, x: string): Promise<Axis> {
  const places = axis.kind === undefined && !axis.isGrid ? placesOf(dataset, axis.dim, x) : undefined
  // Coastlines read the same arrays, and report errors.
  return places === undefined ? axis : { ...axis, runsNorth: await runsNorth(places).catch(() => undefined) }
}

const isPlane = (array: DataArray): boolean => array.dims.length >= 2 && isNumeric(array)
