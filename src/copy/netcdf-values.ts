import { textFault } from '../adapters/netcdf/write/elements.ts'
import type { NetcdfKind } from '../adapters/netcdf/write/header.ts'
import { arrayOrder } from '../array/iteration.ts'
import { copyInOrder, copyRegion, regionsAtOnce } from '../array/lazy/rechunk-to.ts'
import { type parseSign, restoreSign } from '../array/lazy/signs.ts'
import type { BlockSource } from '../array/source.ts'
import { NETCDF4_FILL } from '../core/default-fill.ts'
import type { DataOf, DType, NumericDType } from '../core/dtype.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { numbersFrom } from '../core/numbers.ts'
import { TypedValue } from '../core/typed-value.ts'
import { asBytes, givenSign, type ScanOptions, type Storage, sinkFor, toElements } from './netcdf-storage.ts'
import type { ExportedArray } from './stored-arrays.ts'

const utf8 = new TextEncoder()

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
interface IntegerScan {
  /** Whether 32 bits hold all values except the missing one. */
  readonly fits: boolean
  /** Smallest and largest of these values and 0. Incomplete if `fits` is false. */
  readonly low: number
  readonly high: number
  readonly isAnyMissing: boolean
}

/**
 * Checks whether 32 bits hold all 64-bit integers of an array.
 * @param missing element that is ignored
 */
async function scanIntegers(
  source: BlockSource,
  { isUnsigned, missing }: { readonly isUnsigned: boolean; readonly missing: bigint | undefined },
  options: ScanOptions,
): Promise<IntegerScan> {
  let [fits, low, high, isAnyMissing] = [true, 0, 0, false]
  const [missingLow, missingHigh] = missing === undefined ? [0, 0.5] : new Int32Array(BigInt64Array.of(missing).buffer)
  await scanValues(source, options, (data) => {
    const { buffer, byteOffset, length } = data as BigInt64Array
    const words = new Int32Array(buffer, byteOffset, 2 * length)
    for (let i = 0; i < words.length; i += 2) {
      const [lower, upper] = [words[i]!, words[i + 1]!]
      if (upper === missingHigh && lower === missingLow) {
        isAnyMissing = true
        continue
      }
      if (upper !== lower >> 31 || (isUnsigned && upper !== 0)) {
        fits = false
        break
      }
      if (lower < low) low = lower
      if (lower > high) high = lower
    }
    return fits
  })
  return { fits, low, high, isAnyMissing }
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
const MISSING_TIME = -(2n ** 63n)

/** Result of `scanTimes`: the longest unit of which all times are whole multiples. */
interface TimeScan {
  readonly name: string
  readonly nanoseconds: bigint
  /** Smallest and largest of all times and 0, in this unit. */
  readonly low: bigint
  readonly high: bigint
  /** Whether a time is missing. */
  readonly isAnyMissing: boolean
}

/** Finds the longest unit of which all times are whole multiples. */
async function scanTimes(source: BlockSource, options: ScanOptions): Promise<TimeScan> {
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
async function scanTexts(source: BlockSource, options: ScanOptions): Promise<number> {
  let longest = 0
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

/**
 * Reads all values of an array, to find the stored form that holds them: of texts, of times, and of 64-bit
 * integers.
 * @param given attributes of the array
 * @param kind requested kind of the file
 */
export async function storeScanned(
  exported: ExportedArray,
  given: ReadonlyMap<string, unknown>,
  kind: NetcdfKind | undefined,
  warnings: string[],
  options: ScanOptions,
): Promise<Storage> {
  const {
    name,
    array: { dtype, source },
  } = exported
  if (dtype === 'string') return storeTexts(await scanTexts(source, options), given, name, warnings)
  if (dtype === 'timestamp_ns') return storeTimes(await scanTimes(source, options), kind)
  return storeIntegers(exported, given, warnings, options)
}

/** Stores 64-bit integers as int32 if it holds all of them. */
async function storeIntegers(
  { name, array, attributes, implied, fill }: ExportedArray,
  given: ReadonlyMap<string, unknown>,
  warnings: string[],
  options: ScanOptions,
): Promise<Storage> {
  const { source } = array
  const dtype = array.dtype as 'int64' | 'uint64'
  const sign = givenSign(given, dtype)
  const isUnsigned = sign === 'unsigned' || (dtype === 'uint64' && sign !== 'signed')
  const missing = (implied ?? fill) as bigint | undefined
  const { fits, low, high, isAnyMissing } = await scanIntegers(source, { isUnsigned, missing }, options)
  const isHeld = missing === undefined || holds(missing, isUnsigned)
  // Without a `_FillValue`, readers of NetCDF treat the default fill value as missing.
  const isUnused = !isHeld && !attributes.has('_FillValue') && !isAnyMissing && low > NETCDF4_FILL.int32
  const stored = isUnused || isHeld ? missing : low > LEAST ? BigInt(LEAST) : high < MOST ? BigInt(MOST) : null // biome-ignore format: one line
  if (!fits || stored === null || isBeyondBounds(given, dtype, sign)) return { type: dtype, encode: asBytes }
  const change = isUnused ? '' : changedFill(missing, stored)
  warnings.push(`'${name}': values of ${dtype} are written as int32, which holds all of them${change}`)
  const changed = (attribute: string, value: number | bigint, bound: number): void => {
    warnings.push(`'${name}': ${attribute} ${value} becomes ${bound}, because int32 ends there; no value is beyond either`)
  }
  const omitted = { ...(sign !== undefined && { _Unsigned: undefined }), ...(isUnused && { _FillValue: undefined }) }
  return { ...storeHalves(missing, stored, sign, changed), attributes: omitted }
}

const [LEAST, MOST] = [-(2 ** 31), 2 ** 31 - 1]

const holds = (value: bigint, isUnsigned: boolean): boolean => value >= (isUnsigned ? 0n : LEAST) && value <= MOST

/** Returns a bound as a value, which may have the other sign than its type. */
const withSign = (bound: number | bigint, sign: ReturnType<typeof parseSign>): number | bigint =>
  typeof sign === 'string' ? restoreSign(bound, 64, sign) : bound

/** Whether bounds of valid values exclude all that int32 holds. No bound within int32 would do so. */
function isBeyondBounds(given: ReadonlyMap<string, unknown>, dtype: NumericDType, sign: ReturnType<typeof parseSign>): boolean {
  const list = (name: string) =>
    toElements(given.get(name), dtype, typeof sign === 'string')?.map((bound) => withSign(bound, sign))
  const range = list('valid_range') ?? []
  const isAbove = (bound: number | bigint | undefined): boolean => bound !== undefined && bound > MOST
  const isBelow = (bound: number | bigint | undefined): boolean => bound !== undefined && bound < LEAST
  return isAbove(range[0]) || isBelow(range[1]) || isAbove(list('valid_min')?.[0]) || isBelow(list('valid_max')?.[0])
}

const changedFill = (missing: bigint | undefined, stored: bigint | undefined): string =>
  missing === stored ? '' : `; the missing value ${missing} becomes ${stored}`

/**
 * Stores the low halves of 64-bit integers. The missing value may be replaced by another one.
 * @param changed called for a bound of valid values that int32 does not hold
 */
function storeHalves(
  missing: bigint | undefined,
  stored: bigint | undefined,
  sign: ReturnType<typeof parseSign>,
  changed: (attribute: string, value: number | bigint, bound: number) => void,
): Storage {
  const isSame = missing === stored
  return {
    type: 'int32',
    encode: (data) => {
      const low = lowHalves(data as BigInt64Array)
      if (!isSame) for (const [i, value] of (data as BigInt64Array).entries()) if (value === missing) low[i] = Number(stored)
      return asBytes(low)
    },
    element: (value) => {
      const own = Number(BigInt(value) === missing ? stored! : value)
      return own >= LEAST && own <= MOST ? own : undefined
    },
    // All values lie within int32, so farther bounds exclude none of them.
    bound: (given, attribute) => {
      const value = withSign(given, sign)
      const bound = Math.max(LEAST, Math.min(MOST, Number(value)))
      if (BigInt(bound) !== BigInt(value)) changed(attribute, value, bound)
      return bound
    },
  }
}

/** @param longest length of the longest text in bytes */
function storeTexts(longest: number, given: ReadonlyMap<string, unknown>, name: string, warnings: string[]): Storage {
  // A dimension of length 0 would become the record dimension.
  const textBytes = Math.max(1, longest)
  const fill = given.get('_FillValue')
  const text = fill instanceof TypedValue ? fill.value : fill
  const isCharacter = fill === undefined || (typeof text === 'string' && utf8.encode(text).length === 1)
  if (!isCharacter) warnings.push(`'${name}': _FillValue is left out, because that of text is one character in NetCDF`)
  const attributes = { _Encoding: 'utf-8', ...(!isCharacter && { _FillValue: undefined }) }
  return { type: 'char', textBytes, encode: (data) => encodeTexts(data as string[], textBytes), attributes }
}

/** Stores times as whole numbers of the unit that `scanTimes` found. */
function storeTimes(
  { name, nanoseconds, low, high, isAnyMissing }: Awaited<ReturnType<typeof scanTimes>>,
  kind: NetcdfKind | undefined,
): Storage {
  const isShort = low > LEAST && high <= MOST
  const isExact = low >= Number.MIN_SAFE_INTEGER && high <= Number.MAX_SAFE_INTEGER
  const type = isShort ? 'int32' : isExact && kind !== 5 ? 'float64' : 'int64'
  const missing = type === 'int32' ? LEAST : type === 'float64' ? Number.NaN : MISSING_TIME
  const encode = (data: DataOf<DType>): Uint8Array => {
    const times = data as BigInt64Array
    const out = type === 'int32' ? new Int32Array(times.length) : type === 'float64' ? new Float64Array(times.length) : new BigInt64Array(times.length) // biome-ignore format: one line
    for (const [i, time] of times.entries()) {
      const units = time / nanoseconds
      out[i] = time === MISSING_TIME ? missing : type === 'int64' ? units : Number(units)
    }
    return asBytes(out)
  }
  const fill = isAnyMissing ? new TypedValue({ type, value: missing }) : undefined
  const attributes = { units: `${name} since 1970-01-01`, calendar: 'proleptic_gregorian', _FillValue: fill }
  return { type, encode, attributes }
}

/** Encodes each text in `width` bytes, padded with NULs. */
function encodeTexts(texts: readonly string[], width: number): Uint8Array {
  const bytes = new Uint8Array(texts.length * width)
  for (const [i, text] of texts.entries()) utf8.encodeInto(text, bytes.subarray(i * width, (i + 1) * width))
  return bytes
}

/** Returns the low 32 bits of 64-bit integers. */
function lowHalves(data: BigInt64Array | BigUint64Array): Int32Array {
  const words = new Int32Array(data.buffer, data.byteOffset, 2 * data.length)
  const low = new Int32Array(data.length)
  for (let i = 0; i < low.length; i++) low[i] = words[2 * i]!
  return low
}
