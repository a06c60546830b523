import { bloscStep } from '../../codec/blosc.ts'
import type { Span, Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { inflateStep } from '../../codec/inflate.ts'
import { type ChecksumPlace, crc32cStep, lz4Step, zstdStep } from '../../codec/steps.ts'
import { HyperslabError } from '../../core/errors.ts'
import { withArena } from '../../kernels/arena.ts'
import type { ElementBytes } from '../../kernels/copy.ts'
import { filters } from '../../kernels/filters.ts'
import type { CodecMetadata, StoredType } from './metadata.ts'
import { isNatural, orderOf, transposeStep } from './transpose.ts'

/**
 * What decodes a chunk, in the order of decoding: the last step gives it in C order, as
 * `engine/chunk-values.ts` describes.
 * @param codecs in the order of encoding
 * @param chunkShape of the full chunk, as it is stored
 * @param users codecs of users, which come before those of the package
 * @throws CodecError for a codec nobody knows, or one that does not fit what is before it
 */
export function chunkSteps(
  codecs: readonly CodecMetadata[],
  type: StoredType,
  chunkShape: readonly number[],
  users: readonly Codec[],
): readonly Step[] {
  const chain = new Chain(type, chunkShape)
  for (const codec of codecs) {
    const own = users.find(({ name }) => name === codec.name)
    if (own !== undefined) chain.add({ name: own.name, decode: (bytes, decodedBytes) => own.decode(bytes, decodedBytes!) })
    else chain.add(stepOf(chain, codec))
  }
  return chain.steps
}

/** The steps of an array's codecs, and what elements are where the next codec encodes them. */
class Chain {
  /** In the order of decoding. */
  readonly steps: Step[] = []
  readonly shape: readonly number[]
  /** Bytes of an element; undefined where each has its own length. */
  elementBytes: number | undefined
  /** Bytes of a number in it, which all have the same order. */
  wordBytes: number
  /** Whether it is known how many bytes there are. */
  isSized: boolean

  constructor(type: StoredType, shape: readonly number[]) {
    this.shape = shape
    this.elementBytes = type.bytes
    this.wordBytes = wordBytesOf(type)
    this.isSized = type.bytes !== undefined
  }

  /** Adds the step of the codec that comes next in the order of encoding. */
  add(step: Step | undefined): void {
    if (step === undefined) return
    this.steps.unshift(step)
    this.isSized &&= step.encodedBytes !== undefined
  }
}

/** Of text a character, of raw bytes one. */
function wordBytesOf({ kind, bytes = 1 }: StoredType): number {
  if (kind === 'fixed-text') return 4
  return kind === 'fixed-bytes' || kind === 'raw' ? 1 : bytes
}

function stepOf(chain: Chain, { name, configuration }: CodecMetadata): Step | undefined {
  const make = MAKERS.get(name)
  if (make !== undefined) return make(chain, configuration)
  const text = `codec '${name}' is not read here; pass one of that name as the option codecs`
  throw new HyperslabError('CodecError', text, { actual: name, expected: [...MAKERS.keys()] })
}

type Configuration = Readonly<Record<string, unknown>>

/** The step that undoes a codec; undefined where that leaves bytes as they are. */
type StepMaker = (chain: Chain, configuration: Configuration) => Step | undefined

const MAKERS: ReadonlyMap<string, StepMaker> = new Map<string, StepMaker>([
  ['transpose', transpose],
  ['bytes', bytesInOrder],
  ['blosc', bloscStep],
  ['lz4', () => lz4Step],
  ['zstd', ({ isSized }) => zstdStep(isSized)],
  ['gzip', () => inflateStep('gzip')],
  ['zlib', () => inflateStep('zlib')],
  ['crc32c', (_, configuration) => crc32cStep(placeOf('crc32c', configuration, 'end'))],
])

function transpose({ shape, elementBytes }: Chain, { order }: Configuration): Step | undefined {
  const axes = orderOf(order, shape.length)
  if (isNatural(axes)) return undefined
  if (elementBytes !== undefined) return transposeStep(axes, shape, elementBytes)
  throw new HyperslabError('CodecError', 'transpose of elements that have no fixed length is not read')
}

function bytesInOrder({ wordBytes }: Chain, { endian }: Configuration): Step | undefined {
  if (endian !== undefined && endian !== 'little' && endian !== 'big') {
    const text = `bytes: the byte order ${JSON.stringify(endian)} is neither 'little' nor 'big'`
    throw new HyperslabError('CodecError', text, { actual: endian })
  }
  if (wordBytes === 1) return undefined
  if (endian === undefined) throw new HyperslabError('CodecError', `bytes: numbers of ${wordBytes} bytes have no byte order`)
  return endian === 'big' ? swapStep(wordBytes as ElementBytes) : undefined
}

const VECTOR = Uint8Array.from({ length: 16 }, (_, i) => i)

function swapStep(wordBytes: ElementBytes): Step {
  // Within a number the place of a byte and that of the one to take it differ in all bits.
  const places = VECTOR.map((i) => i ^ (wordBytes - 1))
  return {
    name: 'bytes',
    encodedBytes: (bytes) => bytes,
    decodeIn(arena, pointer, length): Span {
      if (length > 0) arena.scratch(() => filters(arena).swap(pointer, length, arena.put(places)))
      return { pointer, length }
    },
  }
}

function placeOf(name: string, { location = undefined }: Readonly<Record<string, unknown>>, usual: ChecksumPlace): ChecksumPlace {
  const place = location ?? usual
  if (place === 'start' || place === 'end') return place
  throw new HyperslabError('CodecError', `${name}: the location ${JSON.stringify(place)} is neither 'start' nor 'end'`)
}

const INDEX_TYPE: StoredType = { dtype: 'uint64', kind: 'uint', bytes: 8 }

/**
 * Where the inner chunks of a shard are: of each its offset and its length, both 2^64 - 1 where there is
 * none.
 * @param codecs those of the index, in the order of encoding
 * @param count of inner chunks
 * @throws CodecError where the bytes do not decode, or a codec's result has no fixed size
 */
export function decodeIndex(codecs: readonly CodecMetadata[], bytes: Uint8Array, count: number): BigUint64Array {
  const steps = indexSteps(codecs, count)
  return withArena((arena) => {
    let span: Span = { pointer: arena.put(bytes), length: bytes.length }
    for (const step of steps) span = step.decodeIn!(arena, span.pointer, span.length, undefined)
    if (span.length === 16 * count) return new BigUint64Array(arena.bytes(span.pointer, span.length).slice().buffer)
    throw new HyperslabError('CodecError', `the index of ${count} chunks has ${span.length} bytes instead of ${16 * count}`, {
      actual: span.length,
      expected: 16 * count,
    })
  })
}

/**
 * Bytes of the index of a shard as it is stored.
 * @throws CodecError where a codec's result has no fixed size
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
