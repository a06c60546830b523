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

/** The room that an array takes; `compressedBytes` as stored. */
export interface ArrayStorage {
  /** Chunks that somebody wrote; the others are fill and take no space. */
  readonly chunks: number
  /** Bytes of the newest version of each, decoded, and their share of the blocks they lie in, as stored. */
  readonly uncompressedBytes: number
  readonly compressedBytes: number
}

/** An array of a container. */
export class FileArray<D extends DType = DType, R extends number = number> extends DiskArray<D, R> {
  /** The name it has in the container. */
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
   * Gives the array another shape: all lengths, or those of some axes by number or name (`{ time: 24 }`).
   * What is added is the fill value; what is cut off is gone, and comes back as fill. Chunks keep their
   * shape, and where they are unless they end elsewhere now. All handles see the new shape at once, other
   * readers with the next flush.
   * @throws InvalidArgumentError for axes that do not exist and lengths the format has no numbers for;
   *   ReadOnlyError
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const x = file.define('x', { dtype: 'int8', shape: [2, 3], dimensionNames: ['time', 'lat'] })
   * await x.resize({ time: 4 })
   * console.log(x.shape) // [ 4, 3 ]
   */
  resize(to: NewShape): Promise<void> {
    return within(this.source.label ?? {}, async () => (await import('./write/append.ts')).resizeTo(this, to))
  }

  /**
   * Makes the array longer along an axis (a number or name) and writes there: elements in C order or a
   * tensor, of the shape of the array in all other axes. Of several appends each gets a place of its own.
   * When writing fails, the array has its new length.
   * @throws InvalidArgumentError, before anything changes, when the values do not fit; otherwise as `resize`
   *   and `set`
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const x = file.define('x', { dtype: 'int8', shape: [0, 3], chunkShape: [2, 3] })
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
