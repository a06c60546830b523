import { textFault } from '../adapters/netcdf/write/elements.ts'
import { arrayOrder } from '../array/iteration.ts'
import { copyInOrder, copyRegion, regionsAtOnce } from '../array/lazy/rechunk-to.ts'
import type { BlockSource } from '../array/source.ts'
import type { DataOf, DType } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { numbersFrom } from '../core/numbers.ts'
import type { Signal } from '../core/signal.ts'
import { denseData } from '../core/tensor.ts'

/** Options of reading all values of an array. */
export interface ScanOptions {
  /** Limit of the bytes of elements in memory. */
  readonly maxBytes: number
  readonly signal?: Signal | undefined
}

/** Returns a target that passes all written elements to `use`, in the order of the writes. */
export const sinkFor = (source: BlockSource, use: (data: DataOf<DType>) => Promise<void> | void): BlockSource => ({
  dtype: source.dtype,
  shape: source.shape,
  chunks: source.chunks,
  fillValue: source.fillValue,
  missing: source.missing,
  readBlock: () => {},
  writeBlock: (_, tensor) => use(denseData(tensor)),
})

/**
 * Reads all values of an array in C order.
 * @param visit returns false if it needs no more values
 */
async function scanValues(
  source: BlockSource,
  { maxBytes, signal }: ScanOptions,
  visit: (data: DataOf<DType>) => boolean,
): Promise<void> {
  const regions = arrayOrder(source, maxBytes / 2)
  let goesOn = true
  const sink = sinkFor(source, (data) => {
    goesOn &&= visit(data)
  })
  const copy = () =>
    copyInOrder(numbersFrom(0, regions.count), regionsAtOnce(regions, source.dtype, maxBytes), async (number, region) => {
      if (goesOn) await copyRegion(source, sink, regions, number, { ...region, signal })
    })
  await within(source.label ?? {}, copy)
}

/** Result of `scanIntegers`. */
export interface IntegerScan {
  /** Whether 32 bits hold all values except the missing one. */
  readonly fits: boolean
  /** Smallest and largest of these values and 0. Incomplete if `fits` is false. */
  readonly low: number
  readonly high: number
}

/**
 * Checks whether 32 bits hold all 64-bit integers of an array.
 * @param missing element that is ignored
 */
export async function scanIntegers(
  source: BlockSource,
  { isUnsigned, missing }: { readonly isUnsigned: boolean; readonly missing: bigint | undefined },
  options: ScanOptions,
): Promise<IntegerScan> {
  let [fits, low, high] = [true, 0, 0]
  const [missingLow, missingHigh] = missing === undefined ? [0, 0.5] : new Int32Array(BigInt64Array.of(missing).buffer)
  await scanValues(source, options, (data) => {
    const { buffer, byteOffset, length } = data as BigInt64Array
    const words = new Int32Array(buffer, byteOffset, 2 * length)
    for (let i = 0; i < words.length; i += 2) {
      const [lower, upper] = [words[i]!, words[i + 1]!]
      if (upper === missingHigh && lower === missingLow) continue
      if (upper !== lower >> 31 || (isUnsigned && upper !== 0)) {
        fits = false
        break
      }
      if (lower < low) low = lower
      if (lower > high) high = lower
    }
    return fits
  })
  return { fits, low, high }
}

/** Units of time, the longest first, with their lengths in nanoseconds. */
const UNITS = [
  ['days', 86_400_000_000_000n],
  ['hours', 3_600_000_000_000n],
  ['minutes', 60_000_000_000n],
  ['seconds', 1_000_000_000n],
  ['milliseconds', 1_000_000n],
  ['microseconds', 1000n],
  ['nanoseconds', 1n],
] as const

/** Element that stands for a missing time (`NaT` in numpy). */
export const MISSING_TIME = -(2n ** 63n)

/** Result of `scanTimes`: the longest unit of which all times are whole multiples. */
export interface TimeScan {
  readonly name: string
  readonly nanoseconds: bigint
  /** Smallest and largest of all times and 0, in this unit. */
  readonly low: bigint
  readonly high: bigint
  /** Whether a time is missing. */
  readonly isAnyMissing: boolean
}

/** Finds the longest unit of which all times are whole multiples. */
export async function scanTimes(source: BlockSource, options: ScanOptions): Promise<TimeScan> {
  let [unit, low, high, isAnyMissing] = [0, 0n, 0n, false]
  await scanValues(source, options, (data) => {
    for (const time of data as BigInt64Array) {
      if (time === MISSING_TIME) {
        isAnyMissing = true
        continue
      }
      while (time % UNITS[unit]![1] !== 0n) unit++
      if (time < low) low = time
      if (time > high) high = time
    }
    return true
  })
  const [name, nanoseconds] = UNITS[unit]!
  return { name, nanoseconds, low: low / nanoseconds, high: high / nanoseconds, isAnyMissing }
}

/**
 * Returns the length of the longest text in UTF-8 bytes.
 * @throws UnsupportedError for texts that a reader of NetCDF would not read unchanged
 */
export async function scanTexts(source: BlockSource, options: ScanOptions): Promise<number> {
  let longest = 0
  const utf8 = new TextEncoder()
  await scanValues(source, options, (data) => {
    for (const text of data as string[]) {
      const fault = textFault(text)
      if (fault !== undefined) {
        const message = `the text ${JSON.stringify(text.slice(0, 40))} ${fault}; change it, or leave the variable out`
        throw new HyperslabError('UnsupportedError', message, { actual: text })
      }
      longest = Math.max(longest, text.length * 3 <= longest ? 0 : utf8.encode(text).length)
    }
    return true
  })
  return longest
}
