// Chooses the values at the ends of the colours.
import type { DataArray } from 'hyperslab/dataset'
import type { ColourMap } from './colours.ts'
import type { ViewState } from './state.ts'
import { attribute, longNameOf, unitsOf } from './words.ts'

export interface Limits {
  readonly low: number
  readonly high: number
}

/** Returns the smallest and greatest finite value; undefined if there is none. */
export function extentOf(values: ArrayLike<number>): Limits | undefined {
  let [low, high] = [Infinity, -Infinity]
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (value < low && value !== -Infinity) low = value
    if (value > high && value !== Infinity) high = value
  }
  return low <= high ? { low, high } : undefined
}

/** Largest sample for the percentiles 2 and 98. */
const SAMPLE = 65_536

export function percentilesOf(values: ArrayLike<number>): Limits | undefined {
  const step = Math.max(1, Math.ceil(values.length / SAMPLE))
  const sample = new Float64Array(Math.ceil(values.length / step))
  let count = 0
  for (let i = 0; i < values.length; i += step) if (Number.isFinite(values[i]!)) sample[count++] = values[i]!
  if (count === 0) return undefined
  const sorted = sample.subarray(0, count).sort()
  const at = (share: number): number => sorted[Math.round(share * (count - 1))]!
  return { low: at(0.02), high: at(0.98) }
}

/** Returns the extent of all values from statistics, if every chunk has them. Reads no values. */
export async function knownExtent({ array }: DataArray): Promise<Limits | undefined> {
  const { bulk } = array.source
  if (bulk?.visit === undefined || array.size === 0) return undefined
  const box = array.shape.map((length) => ({ start: 0, stop: length, step: 1 }))
  let [low, high, isKnown] = [Infinity, -Infinity, true]
  const visitor = {
    shouldRead(_: unknown, stats: { min: unknown; max: unknown; count: number } | undefined): false {
      if (stats === undefined) isKnown = false
      else if (stats.count > 0) {
        low = Math.min(low, Number(stats.min))
        high = Math.max(high, Number(stats.max))
      }
      return false
    },
    visit: () => undefined,
  }
  for await (const _ of bulk.visit(box, visitor)) break
  return isKnown && low <= high && Number.isFinite(low + high) ? { low, high } : undefined
}

/** Returns limits at equal distances from 0. */
export function symmetric({ low, high }: Limits): Limits {
  const most = Math.max(Math.abs(low), Math.abs(high))
  return { low: 0 - most, high: most }
}

/** Whether values are directions, which repeat after a full turn. */
const isDirection = (array: DataArray): boolean =>
  /^degrees?$/.test(unitsOf(array)) &&
  /direction|phase|azimuth/i.test(`${attribute(array, 'standard_name')} ${longNameOf(array)}`)

const isDifference = (array: DataArray): boolean => /anomal|difference|departure/i.test(`${array.name} ${longNameOf(array)}`)

/**
 * Returns the colour map for an array: cyclic for directions, diverging for differences and for limits around
 * 0, else one of increasing lightness.
 */
export function suitingColours(array: DataArray, { minus, less, log }: ViewState, { low, high }: Limits): ColourMap {
  if (isDirection(array)) return 'cyclic'
  return !log && (minus !== undefined || less !== '' || isDifference(array) || (low < 0 && high > 0)) ? 'diverging' : 'viridis'
}

/** Returns round values between limits, for ticks. */
export function ticksBetween({ low, high }: Limits, about: number, log = false): number[] {
  if (!(high > low)) return [low]
  if (log && low > 0 && high / low >= 100) {
    const powers = Array.from({ length: 40 }, (_, i) => 10 ** (Math.ceil(Math.log10(low)) + i)).filter((tick) => tick <= high)
    return powers.filter((_, i) => i % Math.ceil(powers.length / about) === 0)
  }
  const rough = (high - low) / about
  const power = 10 ** Math.floor(Math.log10(rough))
  const steps = [0.2, 0.5, 1, 2, 5, 10].map((times) => times * power)
  const between = (step: number): [first: number, count: number] => {
    const first = Math.ceil(low / step - 1e-9)
    return [first, Math.floor(high / step + 1e-9) - first + 1]
  }
  let at = steps.findIndex((each) => each >= rough * 0.999)
  // One tick gives no scale.
  while (at > 0 && between(steps[at]!)[1] < 2) at--
  const step = steps[at]!
  const [first, count] = between(step)
  const every = Math.max(1, Math.ceil(count / (about + 1)))
  return Array.from({ length: Math.ceil(Math.max(0, count) / every) }, (_, i) =>
    Number(((first + i * every) * step).toPrecision(12)),
  )
}
