import type { Axis } from '../array/axes.ts'
import { DiskArray } from '../array/disk-array.ts'
import type { NewShape } from '../array/new-shape.ts'
import type { BlockOptions } from '../array/source.ts'
import type { Values } from '../array/values.ts'
import type { DType } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import { ChunkedSource } from '../engine/chunked-source.ts'
import { ArrayIndex } from './array-index.ts'
import type { ArrayState } from './layers/array-state.ts'
import type { Attributes } from './layers/attributes.ts'
import type { Container } from './layers/container.ts'

/** Size of an array in a container. `compressedBytes` is its share of the stored bytes of its blocks. */
export interface ArrayStorage {
  /** Number of stored chunks. The other chunks contain only the fill value and take no space. */
  readonly chunks: number
  /** Decoded bytes of the newest version of each chunk. */
  readonly uncompressedBytes: number
  readonly compressedBytes: number
}

/** An array of a container. */
export class FileArray<D extends DType = DType, R extends number = number> extends DiskArray<D, R> {
  /** Name of the array in the container. */
  readonly name: string
  readonly #container: Container
  /** @internal */
  readonly state: ArrayState
  /** @internal */
  readonly index: ArrayIndex<D>

  /** @internal */
  constructor(container: Container, state: ArrayState) {
    const index = new ArrayIndex<D>(container, state)
    super(new ChunkedSource(index))
    this.index = index
    this.name = state.definition.name
    this.state = state
    this.#container = container
  }

  override get attrs(): Attributes {
    return this.source.attrs as Attributes
  }

  /**
   * Resizes the array. `to` has all lengths, or those of some axes by number or name (`{ time: 24 }`). New
   * elements have the fill value. Removed elements are lost: they read as fill values if the axis grows
   * again. The chunk shape stays, and only chunks at the new edge are rewritten. All handles see the new
   * shape at once, other readers after the next flush.
   * @throws InvalidArgumentError for an axis that does not exist and a length beyond the format's range;
   *   ReadOnlyError
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const x = file.createArray('x', { dtype: 'int8', shape: [2, 3], dimensionNames: ['time', 'lat'] })
   * await x.resize({ time: 4 })
   * console.log(x.shape) // [ 4, 3 ]
   */
  resize(to: NewShape): Promise<void> {
    return within(this.source.label ?? {}, async () => (await import('./write/append.ts')).resizeTo(this, to))
  }

  /**
   * Makes the array longer along an axis (number or name), and writes `values` there: elements in C order or
   * a tensor, with the shape of the array along all other axes. Concurrent appends write to different
   * positions. If writing fails, the array keeps its new length.
   * @throws InvalidArgumentError if the values do not fit, before anything changes; otherwise the errors of
   *   `resize` and `set`
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const x = file.createArray('x', { dtype: 'int8', shape: [0, 3], chunks: [2, 3] })
   * await x.append(0, [1, 2, 3])
   * console.log(x.shape) // [ 1, 3 ]
   */
  append(axis: Axis, values: Values<D>, options: BlockOptions = {}): Promise<void> {
    return within(this.source.label ?? {}, async () => (await import('./write/append.ts')).append(this, axis, values, options))
  }

  /** @internal */
  changeShape(shapeOf: (shape: readonly number[]) => readonly number[]): Promise<void> {
    return this.#container.resize(this.state, shapeOf)
  }

  /** Counts the committed chunks of the array and their bytes. */
  storage(): ArrayStorage {
    const sum = { chunks: 0, uncompressedBytes: 0, compressedBytes: 0 }
    for (const number of this.state.numbers()) {
      const address = this.state.find(number)
      if (address === undefined) continue
      sum.chunks++
      sum.uncompressedBytes += address.size
      sum.compressedBytes += (address.size * address.block.compressedBytes) / address.block.uncompressedBytes
    }
    return { ...sum, compressedBytes: Math.round(sum.compressedBytes) }
  }
}
