import type { Step } from '../../codec/chain.ts'
import { HyperslabError } from '../../core/errors.ts'
import { showJson } from './document.ts'
import type { Chain, Configuration } from './element-chain.ts'
import { type BitField, bitFieldStep, castStep, deltaStep, fixedScaleOffsetStep, packbitsStep } from './filters.ts'
import type { NumberType } from './number-types.ts'
import { parseNumberType } from './numbers.ts'

// Makers of the steps of filters, from their configuration. Loaded with the first array that has a filter.

export function createDelta(chain: Chain, { dtype, astype = dtype }: Configuration): Step {
  const [decoded, stored] = [parseNumberType(dtype, 'delta'), parseNumberType(astype, 'delta')]
  chain.become(stored)
  return deltaStep(stored, decoded)
}

export function createFixedScaleOffset(chain: Chain, configuration: Configuration): Step {
  const name = 'fixedscaleoffset'
  const [stored, decoded] = parseTypes(name, chain, configuration)
  const [scale, offset] = ['scale', 'offset'].map((key) => {
    const value = configuration[key]
    if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
    throw new HyperslabError('CodecError', `${name}: ${key} is not a number: ${showJson(value)}`, { actual: value })
  }) as [number, number]
  chain.become(stored)
  return fixedScaleOffsetStep(stored, decoded, scale, offset)
}

export function createQuantize(chain: Chain, configuration: Configuration): Step | undefined {
  const [stored, decoded] = parseTypes('quantize', chain, configuration)
  chain.become(stored)
  return castStep('quantize', stored, decoded)
}

export function createCast(chain: Chain, { encode_dtype, decode_dtype }: Configuration): Step | undefined {
  const stored = parseNumberType(encode_dtype, 'astype')
  const decoded = decode_dtype === undefined ? requireNumbers('astype', chain) : parseNumberType(decode_dtype, 'astype')
  chain.become(stored)
  return castStep('astype', stored, decoded)
}

export function createPackbits(chain: Chain, configuration: Configuration): Step {
  if ('padding_encoding' in configuration) return bitField(chain, configuration)
  chain.become({ kind: 'u', bytes: 1, isBigEndian: false })
  return packbitsStep()
}

/** Alternative names of paddings in existing files. */
const PADDINGS: Readonly<Record<string, BitField['padding']>> = {
  none: 'none',
  first_byte: 'first_byte',
  start_byte: 'first_byte',
  last_byte: 'last_byte',
  end_byte: 'last_byte',
}

/** Returns the step of the codec `packbits` of version 3, which converts elements to bytes itself. */
function bitField(chain: Chain, configuration: Configuration): Step {
  const fail = (text: string, actual: unknown): never => {
    throw new HyperslabError('CodecError', `packbits: ${text}`, { actual })
  }
  if (chain.isBytes) return fail('it follows the codec that converts elements to bytes', configuration)
  const { kind, bytes } = chain.numbers ?? fail('it is read here of numbers and bools alone', undefined)
  const most = kind === 'b' ? 1 : 8 * bytes
  const bit = (key: 'first_bit' | 'last_bit', usual: number): number => {
    const value = configuration[key] ?? usual
    if (Number.isInteger(value) && (value as number) >= 0 && (value as number) < most) return value as number
    return fail(`${key} is ${showJson(value)}, of elements of ${most} bits`, value)
  }
  const [firstBit, lastBit] = [bit('first_bit', 0), bit('last_bit', most - 1)]
  if (lastBit < firstBit) fail(`last_bit ${lastBit} comes before first_bit ${firstBit}`, lastBit)
  const name = configuration['padding_encoding']
  const padding = PADDINGS[String(name)] ?? fail(`there is no padding_encoding ${showJson(name)} that is read here`, name)
  chain.become({ kind: 'u', bytes: 1, isBigEndian: false })
  chain.isBytes = true
  return bitFieldStep({ bytes, firstBit, lastBit, isSigned: kind === 'i', padding })
}

/**
 * Returns the types that a filter stores and decodes to. Default: the type of the elements, and the same
 * type.
 */
function parseTypes(name: string, chain: Chain, { dtype, astype }: Configuration): [stored: NumberType, decoded: NumberType] {
  const decoded = dtype === undefined ? requireNumbers(name, chain) : parseNumberType(dtype, name)
  return [astype === undefined ? decoded : parseNumberType(astype, name), decoded]
}

function requireNumbers(name: string, { numbers }: Chain): NumberType {
  if (numbers !== undefined) return numbers
  throw new HyperslabError('CodecError', `${name}: the metadata do not say of which type the numbers are`)
}
