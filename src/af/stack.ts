import { HyperslabError } from '../core/errors.js'
import { forEachLimited } from '../core/limiter.js'
import { sameShape } from '../core/shape.js'
import type { ChunkGrid } from '../grid/chunks.js'
import type { Store, StoreOptions } from '../store/store.js'
import { ChunkIndex } from './chunk-index.js'
import { type Definition, sameButShape, sameDefinition } from './definition.js'
import type { ArrayMeta } from './footer.js'
import { Layer, type LayerOptions } from './layer.js'
import type { Limits } from './limits.js'
import type { Paths } from './paths.js'
import { checkLayerCount, probe } from './probe.js'

/** One array as one layer has it. */
export interface LayerEntry {
  readonly layer: Layer
  readonly meta: ArrayMeta
}

/** An array that exists, with the layers it is made of. */
export interface LiveArray {
  readonly definition: Definition
  /** The layers that mention it since it was defined, newest first. */
  readonly entries: readonly LayerEntry[]
}

export interface StackOptions extends LayerOptions {
  /** Leave out the layers above this one. */
  readonly layer?: number | undefined
}

/** The layers of a container, oldest first: the base and its sidecars. */
export class Stack {
  readonly layers: readonly Layer[]

  constructor(layers: readonly Layer[]) {
    this.layers = layers
  }

  /**
   * Opens all layers there are: those that the store lists or, where it cannot list, 1, 2, … until there is none.
   * @param known layers that were open before; those that are still there are taken over
   * @throws NotFoundError when there is no base, or not the layer asked for; FormatError for a damaged layer; ConflictError when others
   *   keep compacting meanwhile
   */
  static async open(
    store: Store,
    paths: Paths,
    limits: Required<Limits>,
    options: StackOptions = {},
    known?: Stack,
  ): Promise<Stack> {
    const { layer: last = Number.POSITIVE_INFINITY } = options
    const layers = await openAll(store, paths, { ...options, limits, last }, known)
    const stack = new Stack(layers)
    if (last === Number.POSITIVE_INFINITY || stack.top === last) return stack
    throw new HyperslabError(
      'NotFoundError',
      `there is no layer ${last}; there are ${layers.map(({ number }) => number).join(', ')}`,
      {
        file: store.describe(paths.base),
        actual: last,
      },
    )
  }

  /** Number of the newest layer. */
  get top(): number {
    return this.layers.at(-1)!.number
  }

  /**
   * The arrays that exist, in the order they were defined. The newest entry of a name decides whether it does; its chunks reach down to
   * the newest layer that deleted it or in which it was something else, and not beyond: what lies below belongs to another array.
   */
  arrays(): Map<string, LiveArray> {
    const entries = new Map<string, LayerEntry[]>()
    for (const layer of this.layers) {
      for (const meta of layer.arrays.values()) {
        const below = entries.get(meta.name)
        if (meta.deleted) entries.delete(meta.name)
        else if (below === undefined) entries.set(meta.name, [{ layer, meta }])
        else if (isSame(below[0]!, { layer, meta })) below.unshift({ layer, meta })
        else entries.set(meta.name, [{ layer, meta }])
      }
    }
    return new Map([...entries].map(([name, list]) => [name, { definition: list[0]!.meta, entries: list }]))
  }
}

/**
 * Whether an entry goes on with the array of the one below. Only layers with the mark change shapes; it is the same array, too, where a
 * base that was compacted of several shapes still has old sidecars above it, some of which say what it was before.
 */
function isSame(below: LayerEntry, entry: LayerEntry): boolean {
  if (sameShape(below.meta.shape, entry.meta.shape)) return sameDefinition(below.meta, entry.meta)
  const marked = entry.layer.resizes || (below.layer.number === 0 && below.layer.resizes)
  return marked && sameButShape(below.meta, entry.meta)
}

/** The chunks that an entry's layer stores, by their number in the grid that the array has now. */
export function indexOf({ layer, meta }: LayerEntry, grid: ChunkGrid): ChunkIndex {
  return new ChunkIndex(meta.chunks, grid, layer.blocks)
}

/** How often opening starts anew because a layer is gone that was listed. */
const REOPENINGS = 5
/** Layers opened at a time. */
const OPENINGS = 8

interface Opening extends LayerOptions {
  /** Number of the last layer wanted. */
  readonly last: number
  readonly limits: Required<Limits>
}

async function openAll(store: Store, paths: Paths, options: Opening, known: Stack | undefined): Promise<Layer[]> {
  if (store.list === undefined) return openProbed(store, paths, options)
  for (let left = REOPENINGS; left > 0; left--) {
    const layers = await openListed(store, paths, options, known)
    if (layers !== undefined) return layers
  }
  throw new HyperslabError('ConflictError', 'other writers compacted the container each time it was being opened', {
    file: store.describe(paths.base),
  })
}

async function openProbed(store: Store, paths: Paths, options: Opening): Promise<Layer[]> {
  const layers = [await openBase(store, paths, options)]
  for (let number = 1; number <= options.last; number++) {
    const open = (key: string) => Layer.open(store, key, number, options.limits, options)
    const layer = await probe(store, paths, number, open, options)
    if (layer === undefined) break
    checkLayerCount(number, options.limits, store.describe(paths.base))
    layers.push(layer)
  }
  return layers
}

/**
 * Compacting replaces the base first and deletes the sidecars then. So they are listed before the base is read, and when one of them is
 * gone by then the base may be older than that: the layers do not belong together, and the result is `undefined`.
 */
async function openListed(store: Store, paths: Paths, options: Opening, known: Stack | undefined): Promise<Layer[] | undefined> {
  const numbers = [0, ...(await paths.sidecars(store, options.signal))].filter((number) => number <= options.last)
  checkLayerCount(numbers.length - 1, options.limits, store.describe(paths.base))
  const kept = known !== undefined && (await isStart(store, known.layers, numbers, options)) ? known.layers : []
  const opened: (Layer | undefined)[] = []
  await forEachLimited(numbers.slice(kept.length).entries(), OPENINGS, async ([i, number]) => {
    opened[i] =
      number === 0
        ? await openBase(store, paths, options)
        : await Layer.open(store, paths.sidecar(number), number, options.limits, options)
  })
  const there = opened.filter((layer) => layer !== undefined)
  return there.length < opened.length ? undefined : [...kept, ...there]
}

async function openBase(store: Store, paths: Paths, options: Opening): Promise<Layer> {
  const base = await Layer.open(store, paths.base, 0, options.limits, options)
  if (base !== undefined) return base
  throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(paths.base) })
}

/**
 * Whether the files numbered so begin with these layers. A sidecar never changes; its number is given to another one only after compacting,
 * which replaces the base. Should the new base have the old one's bytes, and so its version in some stores, the newest layer tells.
 */
async function isStart(
  store: Store,
  layers: readonly Layer[],
  numbers: readonly number[],
  options: StoreOptions,
): Promise<boolean> {
  if (layers.some(({ number }, i) => number !== numbers[i])) return false
  for (const { key, info } of new Set([layers[0]!, layers.at(-1)!])) {
    if ((await store.stat(key, options))?.etag !== info.etag) return false
  }
  return true
}
