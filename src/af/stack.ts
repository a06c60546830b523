import { HyperslabError } from '../core/errors.js'
import type { Store, StoreOptions } from '../store/store.js'
import { ChunkIndex } from './chunk-index.js'
import { type Definition, gridFor, sameDefinition } from './definition.js'
import type { ArrayMeta } from './footer.js'
import { Layer } from './layer.js'
import type { Paths } from './paths.js'

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

export interface StackOptions extends StoreOptions {
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
   * @throws NotFoundError when there is no base, or not the layer asked for; FormatError for a damaged layer
   */
  static async open(store: Store, paths: Paths, options: StackOptions = {}): Promise<Stack> {
    const { layer: last = Number.POSITIVE_INFINITY } = options
    const base = await Layer.open(store, paths.base, 0, options)
    if (base === undefined)
      throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(paths.base) })
    const listed = store.list === undefined ? undefined : await paths.sidecars(store, options.signal)
    const layers = [base]
    for (const number of listed ?? positiveIntegers()) {
      if (number > last) break
      const layer = await Layer.open(store, paths.sidecar(number), number, options)
      if (layer !== undefined) layers.push(layer)
      else if (listed === undefined) break
    }
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
        else if (sameDefinition(below[0]!.meta, meta)) below.unshift({ layer, meta })
        else entries.set(meta.name, [{ layer, meta }])
      }
    }
    return new Map([...entries].map(([name, list]) => [name, { definition: list[0]!.meta, entries: list }]))
  }
}

/** The chunks that an entry's layer stores, by number. */
export function indexOf({ layer, meta }: LayerEntry): ChunkIndex {
  return new ChunkIndex(meta.chunks, gridFor(meta), layer.blocks)
}

function* positiveIntegers(): Generator<number> {
  for (let number = 1; ; number++) yield number
}
