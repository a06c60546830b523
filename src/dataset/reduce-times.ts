import type { DiskArray } from '../array/disk-array.ts'
import type { Signal } from '../core/signal.ts'
import type { Tensor } from '../core/tensor.ts'
import { meanOfTimes } from './mean-of-times.ts'
import { ranksFromFirst } from './ranks-of-times.ts'

/** Reductions of decoded times that are computed from numbers. */
export type TimesKind = 'mean' | 'median' | 'quantile'

/** Reduces an array of numbers that stand for times. */
export type ReduceNumbers = (
  part: DiskArray,
  kind: 'sum' | 'median' | 'quantile',
  skip: { readonly skipMissing?: boolean; readonly skipNaN?: boolean },
  signal: Signal,
) => Promise<Tensor>

/** Computes means, medians or quantiles of decoded times, from reductions of numbers. */
export function reduceTimes(
  array: DiskArray,
  kind: TimesKind,
  skipMissing: boolean,
  reduce: ReduceNumbers,
  signal: Signal,
): Promise<Tensor> {
  if (kind === 'mean') return meanOfTimes(array, skipMissing, (part) => reduce(part, 'sum', {}, signal))
  return ranksFromFirst(array, signal, (part) => reduce(part, kind, { skipMissing, skipNaN: skipMissing }, signal))
}
