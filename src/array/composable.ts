import type { DType, ScalarOf } from '../core/dtype.ts'
import { within } from '../core/errors.ts'
import type { ChunkGrid } from '../grid/chunks.ts'
import type { Selection } from '../grid/selection.ts'
import type { Axis, AxisOption } from './axes.ts'
import type { DiskArray } from './disk-array.ts'
import { IterableArray } from './iterable.ts'
import { astype } from './lazy/astype.ts'
import { expandDims, flip, squeeze, transpose } from './lazy/axis-order.ts'
import { type CacheOptions, cache } from './lazy/cache.ts'
import { type MapOptions, map } from './lazy/map.ts'
import { type Padding, type PadOptions, pad } from './lazy/pad.ts'
import { rechunk } from './lazy/rechunk.ts'
import type { RechunkOptions } from './lazy/rechunk-to.ts'
import { reshape } from './lazy/reshape.ts'
import { view } from './lazy/view.ts'
import type { BlockSource } from './source.ts'

/**
 * An array that other arrays are made of. They are lazy: nothing is read until they are, and then the parts
 * that are needed, from here. They keep the chunks, and take writes where each element is one of this array.
 */
export abstract class Composable<D extends DType, R extends number> extends IterableArray<D> {
  /** The handle of a source made of this one's. */
  protected abstract derive<K extends DType, N extends number>(source: BlockSource<K>): DiskArray<K, N>

  /**
   * A selection of this array as an array: integers, slices, lists and masks of one axis. With a list that
   * has a position twice, it cannot be written.
   * @throws InvalidSelectionError naming axis and numbers; UnsupportedError for points, masks of several axes
   *   and nested lists
   */
  view(selection?: Selection): DiskArray<D> {
    return this.lazy(() => view(this.source, selection))
  }

  /**
   * The axes in another order; reversed when none is given.
   * @param order for each axis of the result the one it comes from, by number or name
   * @throws InvalidArgumentError unless each axis is named once
   */
  transpose(order?: readonly Axis[]): DiskArray<D, R> {
    return this.lazy(() => transpose(this.source, order))
  }

  /**
   * The elements in C order under another shape, as long as whole chunks stay whole.
   * @param shape one length may be -1, for what is left
   * @throws InvalidArgumentError when sizes differ; UnsupportedError when chunks would be torn apart:
   *   `rechunk` first
   */
  reshape<const S extends readonly number[]>(shape: S): DiskArray<D, S['length']> {
    return this.lazy(() => reshape(this.source, shape))
  }

  /**
   * Without axes of length 1: those that are named, or all.
   * @throws InvalidArgumentError when one that is named has another length
   */
  squeeze(axis?: AxisOption): DiskArray<D> {
    return this.lazy(() => squeeze(this.source, axis))
  }

  /**
   * With a new axis of length 1.
   * @param axis its number in the result; negative ones count from the end
   * @param name of the dimension
   * @throws InvalidArgumentError when there can be no such axis
   */
  expandDims(axis: number, name?: string): DiskArray<D> {
    return this.lazy(() => expandDims(this.source, axis, name))
  }

  /** Backwards along the axes that are named, or all. */
  flip(axis?: AxisOption): DiskArray<D, R> {
    return this.lazy(() => flip(this.source, axis))
  }

  /**
   * With more positions around it, of one value or of the nearest elements. It cannot be written.
   * @param widths before and after each axis; one number for all
   * @throws InvalidArgumentError unless widths are non-negative integers, as many as axes
   */
  pad(widths: number | readonly Padding[], options?: PadOptions<D>): DiskArray<D, R> {
    return this.lazy(() => pad(this.source, widths, options))
  }

  /**
   * Under other chunks: what goes through it chunk by chunk goes by these. Nothing is stored differently; see
   * {@link rechunkTo}.
   * @throws InvalidArgumentError when the grid is of another shape
   */
  rechunk(chunks: ChunkGrid | readonly number[]): DiskArray<D, R> {
    return this.lazy(() => rechunk(this.source, chunks))
  }

  /**
   * With its chunks kept in memory once they are read, as many as fit.
   * @throws InvalidArgumentError
   */
  cache(options?: CacheOptions): DiskArray<D, R> {
    return this.lazy(() => cache(this.source, options))
  }

  /**
   * With its elements as another data type: fractions are cut off towards integers, what is not 0 is true.
   * @throws UnsupportedError between strings, binaries or timestamps and others; reading InvalidArgumentError
   *   for elements that are out of range
   */
  astype<K extends DType>(dtype: K): DiskArray<K, R> {
    return this.lazy(() => astype(this.source, dtype))
  }

  /**
   * A function of each element. Results that are not values of the data type are an InvalidArgumentError when
   * they are read.
   */
  map<K extends DType = D>(fn: (value: ScalarOf<D>) => ScalarOf<K>, options?: MapOptions<D, K>): DiskArray<K, R> {
    return this.lazy(() => map(this.source, fn, options))
  }

  /**
   * Copies this array into one with other chunks: each of its chunks is written once and whole, a chunk of
   * this one read once where memory allows. What is missing is treated as by {@link assign}.
   * @throws InvalidArgumentError when shapes or types differ, and as `assign` does; ReadOnlyError
   */
  async rechunkTo(target: DiskArray<D>, options?: RechunkOptions): Promise<void> {
    const { rechunkTo } = await import('./lazy/rechunk-to.ts')
    await within(this.source.label ?? {}, () => rechunkTo(this.source, target.source, options))
  }

  private lazy<K extends DType, N extends number>(make: () => BlockSource<K>): DiskArray<K, N> {
    return this.derive(this.named(make))
  }
}
