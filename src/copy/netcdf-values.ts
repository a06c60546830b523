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
  /** Bytes of elements that are held at a time. */
  readonly maxBytes: number
  readonly signal?: Signal | undefined
}

/** Returns a target that passes elements on, in the order in which they are written. */
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
 * Reads all values of an array, in their order.
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

/** Range of integers of 64 bits, as far as 32 bits hold them. */
export interface IntegerScan {
  /** Whether 32 bits hold all values that are not the missing one. */
  readonly fits: boolean
  /** Least and largest of these values. */
  readonly low: number
  readonly high: number
}

/**
 * Finds whether 32 bits hold integers of 64 bits.
 * @param missing element that does not count
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

/** Units of times, the longest first, with their length in nanoseconds. */
const UNITS = [
  ['days', 86_400_000_000_000n],
  ['hours', 3_600_000_000_000n],
  ['minutes', 60_000_000_000n],
  ['seconds', 1_000_000_000n],
  ['milliseconds', 1_000_000n],
  ['microseconds', 1000n],
  ['nanoseconds', 1n],
] as const

/** Nanoseconds of a time that is not a time. */
export const MISSING_TIME = -(2n ** 63n)

/** Units that times are whole numbers of. */
export interface TimeScan {
  readonly name: string
  readonly nanoseconds: bigint
  /** Least and largest number of these units. */
  readonly low: bigint
  readonly high: bigint
  /** Whether a time is missing. */
  readonly isAnyMissing: boolean
}

/** Finds the longest units that all times are whole numbers of. */
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
 * @throws UnsupportedError for texts that would be read as others
 */
export async function scanTexts(source: BlockSource, options: ScanOptions): Promise<number> {
  let longest = 0
  const utf8 = new TextEncoder()
  await scanValues(source, options, (data) => {
    for (const text of data as string[]) {
      const fault = text.endsWith('\0') ? 'ends with NUL, which is padding' : /\p{Surrogate}/u.test(text) ? 'is no valid Unicode' : undefined // biome-ignore format: one line
      if (fault !== undefined) {
        const shown = JSON.stringify(text.slice(0, 40))
        throw new HyperslabError(
          'UnsupportedError',
          `the text ${shown} ${fault} in NetCDF; change it, or leave the variable out`,
          {
            actual: text,
          },
        )
      }
      longest = Math.max(longest, text.length * 3 <= longest ? 0 : utf8.encode(text).length)
    }
    return true
  })
  return longest
}
