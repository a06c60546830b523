import { bloscStep } from '../../codec/blosc.ts'
import type { Span, Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { inflateStep } from '../../codec/inflate.ts'
import { type ChecksumName, checksumStep, lz4Step, zstdStep } from '../../codec/steps.ts'
import { HyperslabError } from '../../core/errors.ts'
import { sizeOf } from '../../core/shape.ts'
import { withArena } from '../../kernels/arena.ts'
import { filters } from '../../kernels/filters.ts'
import { showJson } from './document.ts'
import { type BitField, bitFieldStep, castStep, deltaStep, fixedScaleOffsetStep, packbitsStep, shuffleStep } from './filters.ts'
import type { CodecMetadata, StoredType } from './metadata.ts'
import { type NumberType, numbersIn, parseNumberType } from './numbers.ts'
import { lengthPrefixedStep, reorderStep, valuesStep } from './stored-values.ts'
import { isNatural, parseOrder, transposedOffsets, transposeStep } from './transpose.ts'

/**
 * Returns the steps that decode a chunk, in the order of decoding. The last step yields the chunk in C order,
 * in the form of `engine/chunk-values.ts`.
 * @param codecs in the order of encoding
 * @param chunkShape shape of the full chunk, as it is stored
 * @param users codecs of users, which take precedence over those of the package
 * @param chain form of the elements. Default: each value is an element
 * @throws CodecError for an unknown codec, or one that does not fit the codec before it
 */
export function chunkSteps(
  codecs: readonly CodecMetadata[],
  type: StoredType,
  chunkShape: readonly number[],
  users: readonly Codec[],
  chain: Chain = new Chain(type, chunkShape),
): readonly Step[] {
  for (const codec of codecs) {
    const own = users.find(({ name }) => name === codec.name)
    if (own !== undefined) chain.addUsers(own)
    else chain.add(createStep(chain, codec))
  }
  if (chain.isBytes || chain.hasUsers) return chain.steps
  throw new HyperslabError(
    'CodecError',
    `none of the codecs ${names(codecs)} makes bytes of elements: that does bytes, or vlen-utf8`,
  )
}

/**
 * Returns the decoding step of a codec from bytes to bytes.
 * @throws CodecError for an unknown codec, or one of another kind
 */
export function bytesStep(codec: CodecMetadata): Step {
  const chain = new Chain(BYTES, [])
  chain.isBytes = true
  const step = OF_BYTES.has(codec.name) ? createStep(chain, codec) : undefined
  if (step !== undefined) return step
  throw new HyperslabError('CodecError', `codec '${codec.name}' does not convert bytes to bytes`, { actual: codec.name })
}

const BYTES: StoredType = { dtype: 'binary', kind: 'binary', bytes: undefined }

const names = (codecs: readonly CodecMetadata[]): string => codecs.map(({ name }) => `'${name}'`).join(', ')

/** The steps of an array's codecs, and the form of the elements before the next codec encodes them. */
export class Chain {
  /** In the order of decoding. */
  readonly steps: Step[] = []
  shape: readonly number[]
  /** Bytes of an element; undefined for elements of variable length. */
  elementBytes: number | undefined
  /** Bytes of a number within an element. All numbers have the same byte order. */
  wordBytes: number
  /** Type of the elements if they are numbers. */
  numbers: NumberType | undefined
  /** Whether the number of bytes is known before decoding. */
  isSized: boolean
  /** Whether elements have been encoded to bytes. */
  isBytes = false
  /** Whether a codec of the user came before, which may have encoded them to bytes. */
  hasUsers = false

  constructor(type: StoredType, shape: readonly number[]) {
    this.shape = shape
    this.elementBytes = type.bytes
    this.wordBytes = bytesOfWord(type)
    this.numbers = numbersIn(type)
    this.isSized = type.bytes !== undefined
    this.add(valuesStep(type, sizeOf(shape)))
  }

  /** Adds the step of the next codec in the order of encoding. */
  add(step: Step | undefined): void {
    if (step === undefined) return
    this.steps.unshift(step)
    this.isSized &&= step.encodedBytes !== undefined || step.inputBytes !== undefined
  }

  /** Adds the step of a codec of the user. */
  addUsers(codec: Codec): void {
    this.hasUsers = true
    this.add({ name: codec.name, decode: (bytes, decodedBytes) => codec.decode(bytes, decodedBytes ?? Infinity) })
  }

  /** Records that elements are numbers of a type from here on. */
  become(numbers: NumberType): void {
    this.numbers = numbers
    this.elementBytes = numbers.bytes
    this.wordBytes = numbers.bytes
  }
}

/** Returns the bytes of one character of text, of one raw byte, or of a number. */
export function bytesOfWord({ kind, bytes = 1 }: StoredType): number {
  if (kind === 'fixed-text') return 4
  return kind === 'fixed-bytes' || kind === 'raw' ? 1 : bytes
}

function createStep(chain: Chain, { name, configuration }: CodecMetadata): Step | undefined {
  const make = MAKERS.get(name)
  if (make !== undefined) {
    if (OF_BYTES.has(name) !== chain.isBytes && !OF_BOTH.has(name) && !chain.hasUsers)
      throw new HyperslabError(
        'CodecError',
        `codec '${name}' comes ${chain.isBytes ? 'behind' : 'before'} the one that makes bytes of elements`,
      )
    return make(chain, configuration)
  }
  const text = `codec '${name}' is not read here; pass one of that name in \`codecs\``
  throw new HyperslabError('CodecError', text, { actual: name, expected: [...MAKERS.keys()] })
}

const OF_BYTES: ReadonlySet<string> = new Set([
  'blosc',
  'lz4',
  'zstd',
  'gzip',
  'zlib',
  'crc32c',
  'crc32',
  'adler32',
  'fletcher32',
  'shuffle',
])
/** Filters of numbers. Version 2 places them after the conversion to bytes, version 3 before it. */
const OF_BOTH: ReadonlySet<string> = new Set(['delta', 'fixedscaleoffset', 'quantize', 'astype', 'bitround', 'packbits'])

type Configuration = Readonly<Record<string, unknown>>

/** Returns the step that decodes a codec; undefined if the codec leaves bytes as they are. */
type StepMaker = (chain: Chain, configuration: Configuration) => Step | undefined

const MAKERS: ReadonlyMap<string, StepMaker> = new Map<string, StepMaker>([
  ['transpose', transpose],
  ['bytes', bytesInOrder],
  ['vlen-utf8', lengthPrefixed('vlen-utf8')],
  ['vlen-bytes', lengthPrefixed('vlen-bytes')],
  ['blosc', (_, { cname }) => bloscStep(cname)],
  ['lz4', () => lz4Step],
  ['zstd', ({ isSized }) => zstdStep(isSized)],
  ['gzip', () => inflateStep('gzip')],
  ['zlib', () => inflateStep('zlib')],
  ['crc32c', (_, { location = 'end' }) => checksum('crc32c', location)],
  ['crc32', (_, { location = 'start' }) => checksum('crc32', location)],
  ['adler32', (_, { location = 'start' }) => checksum('adler32', location)],
  ['fletcher32', () => checksum('fletcher32', 'end')],
  ['shuffle', (_, { elementsize = 4 }) => shuffleStep(integer('shuffle', 'elementsize', elementsize))],
  ['delta', delta],
  ['fixedscaleoffset', fixedScaleOffset],
  ['quantize', quantize],
  ['astype', astype],
  ['bitround', () => undefined],
  ['packbits', packbits],
])

function transpose({ shape, elementBytes }: Chain, { order }: Configuration): Step | undefined {
  const axes = parseOrder(order, shape.length)
  if (isNatural(axes)) return undefined
  if (elementBytes !== undefined) return transposeStep(axes, shape, elementBytes)
  return reorderStep('transpose', sizeOf(shape), () => transposedOffsets(axes, shape))
}

function bytesInOrder(chain: Chain, { endian }: Configuration): Step | undefined {
  if (endian !== undefined && endian !== 'little' && endian !== 'big') {
    const text = `bytes: the byte order ${showJson(endian)} is neither 'little' nor 'big'`
    throw new HyperslabError('CodecError', text, { actual: endian })
  }
  const { wordBytes, elementBytes } = chain
  if (elementBytes === undefined) throw new HyperslabError('CodecError', 'bytes: elements of variable length are not numbers')
  chain.isBytes = true
  if (wordBytes === 1) return undefined
  if (endian === undefined) throw new HyperslabError('CodecError', `bytes: numbers of ${wordBytes} bytes have no byte order`)
  return endian === 'big' ? swapStep(wordBytes) : undefined
}

function lengthPrefixed(name: string): StepMaker {
  return (chain) => {
    if (chain.elementBytes !== undefined)
      throw new HyperslabError(
        'CodecError',
        `${name}: elements have ${chain.elementBytes} bytes each, and no lengths of their own`,
      )
    chain.isBytes = true
    return lengthPrefixedStep(name, sizeOf(chain.shape))
  }
}

function checksum(name: ChecksumName, place: unknown): Step {
  if (place === 'start' || place === 'end') return checksumStep(name, place)
  throw new HyperslabError('CodecError', `${name}: the location ${showJson(place)} is neither 'start' nor 'end'`)
}

function delta(chain: Chain, { dtype, astype = dtype }: Configuration): Step {
  const [decoded, stored] = [parseNumberType(dtype, 'delta'), parseNumberType(astype, 'delta')]
  chain.become(stored)
  return deltaStep(stored, decoded)
}

function fixedScaleOffset(chain: Chain, configuration: Configuration): Step {
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

function quantize(chain: Chain, configuration: Configuration): Step | undefined {
  const [stored, decoded] = parseTypes('quantize', chain, configuration)
  chain.become(stored)
  return castStep('quantize', stored, decoded)
}

function astype(chain: Chain, { encode_dtype, decode_dtype }: Configuration): Step | undefined {
  const stored = parseNumberType(encode_dtype, 'astype')
  const decoded = decode_dtype === undefined ? requireNumbers('astype', chain) : parseNumberType(decode_dtype, 'astype')
  chain.become(stored)
  return castStep('astype', stored, decoded)
}

function packbits(chain: Chain, configuration: Configuration): Step {
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

function integer(name: string, key: string, value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 0) return value as number
  throw new HyperslabError('CodecError', `${name}: ${key} is not a size: ${showJson(value)}`, { actual: value })
}

const VECTOR = Uint8Array.from({ length: 16 }, (_, i) => i)

/** Returns the source positions of 16 bytes for reversing the byte order of numbers. */
export const swappedPlaces = (wordBytes: number): Uint8Array =>
  // Within a number, the position of a byte and that of its source differ in all bits.
  VECTOR.map((i) => i ^ (wordBytes - 1))

export function swapStep(wordBytes: number): Step {
  const places = swappedPlaces(wordBytes)
  return {
    name: 'bytes',
    encodedBytes: (bytes) => bytes,
    decodeIn(arena, pointer, length): Span {
      if (length > 0) arena.scratch(() => filters(arena).swap(pointer, length, arena.put(places)))
      return { pointer, length }
    },
  }
}

/** Type of the index of a shard: offset and length of each inner chunk. */
export const INDEX_TYPE: StoredType = { dtype: 'uint64', kind: 'uint', bytes: 8 }

/**
 * Decodes the index of a shard: offset and length of each inner chunk, both 2^64 - 1 if it is not stored.
 * @param codecs of the index, in the order of encoding
 * @param count number of inner chunks
 * @throws CodecError if the bytes do not decode, or if the encoded size of a codec varies
 */
export function decodeIndex(codecs: readonly CodecMetadata[], bytes: Uint8Array, count: number): BigUint64Array {
  const steps = indexSteps(codecs, count)
  return withArena((arena) => {
    let span: Span = { pointer: arena.put(bytes), length: bytes.length }
    for (const step of steps) span = step.decodeIn!(arena, span.pointer, span.length, undefined, Infinity)
    if (span.length === 16 * count) return new BigUint64Array(arena.bytes(span.pointer, span.length).slice().buffer)
    throw new HyperslabError('CodecError', `the index of ${count} chunks has ${span.length} bytes instead of ${16 * count}`, {
      actual: span.length,
      expected: 16 * count,
    })
  })
}

/**
 * Returns the stored size of the index of a shard, in bytes.
 * @throws CodecError if the encoded size of a codec varies
 */
export function indexBytes(codecs: readonly CodecMetadata[], count: number): number {
  return indexSteps(codecs, count).reduceRight((bytes, step) => step.encodedBytes!(bytes), 16 * count)
}

function indexSteps(codecs: readonly CodecMetadata[], count: number): readonly Step[] {
  const steps = chunkSteps(codecs, INDEX_TYPE, [count, 2], [])
  const other = steps.find((step) => step.encodedBytes === undefined || step.decodeIn === undefined)
  if (other === undefined) return steps
  throw new HyperslabError(
    'CodecError',
    `codec '${other.name}' cannot encode the index of a shard: its result has no fixed size`,
    {
      actual: other.name,
    },
  )
}
