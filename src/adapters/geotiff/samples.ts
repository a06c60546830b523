import type { FixedDType } from '../../core/dtype.ts'
import type { TagValues } from './directory.ts'
import { damagedTiff, refuseTiff } from './errors.ts'
import { TIFF_LIMITS } from './limits.ts'
import { TAG } from './tags.ts'

/** Stored and decoded form of the samples of an image. */
export interface SampleType {
  /** Type of the elements. */
  readonly dtype: FixedDType
  /** Stored bits of a sample; of one part of a complex number. */
  readonly bits: number
  /** Whether the sample is a float: of 16, 24, 32 or 64 bits. */
  readonly isFloat: boolean
  readonly isComplex: boolean
}

/** Numbers of the sample formats. */
const UNSIGNED = 1
const SIGNED = 2
const FLOAT = 3
const UNDEFINED = 4
const COMPLEX_INTEGER = 5
const COMPLEX_FLOAT = 6

/**
 * Returns the type of the samples of an image.
 * @throws UnsupportedError for samples of different types, and for types that are not read here
 */
export function sampleType(tags: TagValues, samples: number, asBool: boolean): SampleType {
  const bits = same(tags.numbers(TAG.bitsPerSample) ?? [1], samples, 'bits')
  const format = same(tags.numbers(TAG.sampleFormat) ?? [UNSIGNED], samples, 'formats')
  const type = { bits, isFloat: false, isComplex: false }
  if (format === UNSIGNED || format === UNDEFINED) {
    if (bits === 64) return { ...type, dtype: 'uint64' }
    if (Number.isInteger(bits) && bits >= 1 && bits <= 32)
      return { ...type, dtype: bits === 1 && asBool ? 'bool' : bits <= 8 ? 'uint8' : bits <= 16 ? 'uint16' : 'uint32' }
  }
  if (format === SIGNED && [8, 16, 32, 64].includes(bits)) return { ...type, dtype: `int${bits as 8}` }
  if (format === FLOAT && [16, 24, 32, 64].includes(bits))
    return { ...type, dtype: bits === 64 ? 'float64' : 'float32', isFloat: true }
  if (format === COMPLEX_INTEGER && (bits === 32 || bits === 64))
    return { bits: bits / 2, dtype: bits === 32 ? 'int16' : 'int32', isFloat: false, isComplex: true }
  if (format === COMPLEX_FLOAT && (bits === 64 || bits === 128))
    return { bits: bits / 2, dtype: bits === 64 ? 'float32' : 'float64', isFloat: true, isComplex: true }
  return refuseTiff(`samples of ${bits} bits in the format ${format} are not read here`, { bits, format })
}

/** Returns the one value of all samples. */
function same(values: readonly number[], samples: number, what: string): number {
  // Some writers store one value for all.
  if (values.length < samples && values.length !== 1)
    damagedTiff(`there are ${values.length} ${what} for ${samples} samples`, values.length, samples)
  const [first] = values
  const used = values.slice(0, samples)
  if (used.some((value) => value !== first))
    refuseTiff(
      `samples of different ${what} are not read: ${used.slice(0, 8).join(', ')}; convert the file with gdal_translate`,
      used,
    )
  return first!
}

/** Returns the number of samples of a pixel. */
export function sampleCount(tags: TagValues): number {
  const samples = tags.number(TAG.samples) ?? 1
  if (!Number.isInteger(samples) || samples < 1 || samples > TIFF_LIMITS.samples)
    damagedTiff(`a pixel has ${samples} samples`, samples, TIFF_LIMITS.samples)
  return samples
}
