import type { Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { type ChecksumName, checksumStep, lz4Step, zstdStep } from '../../codec/steps.ts'
import { HyperslabError } from '../../core/errors.ts'
import { lazily } from '../../core/lazily.ts'
import { sizeOf } from '../../core/shape.ts'
import { showJson } from './document.ts'
import { Chain, type Configuration, type StepMaker } from './element-chain.ts'
import { filterStep } from './filter-step.ts'
import type { CodecMetadata, StoredType } from './metadata.ts'
import { lengthPrefixedStep, reorderStep } from './stored-values.ts'
import { swapStep } from './swap.ts'
import { isNatural, parseOrder, transposedOffsets, transposeStep } from './transpose.ts'

/**
 * Returns the steps that decode a chunk, in the order of decoding. The last step yields the chunk in C order,
 * in the form of `engine/chunk-values.ts`. Loads the codecs that few arrays have.
 * @param codecs in the order of encoding
 * @param chunkShape shape of the full chunk, as it is stored
 * @param users codecs of users, which take precedence over those of the package
 * @param chain form of the elements. Default: each value is an element
 * @throws CodecError for an unknown codec, or one that does not fit the codec before it
 */
export async function chunkSteps(
  codecs: readonly CodecMetadata[],
  type: StoredType,
  chunkShape: readonly number[],
  users: readonly Codec[],
  chain: Chain = new Chain(type, chunkShape),
): Promise<readonly Step[]> {
  for (const codec of codecs) {
    const own = users.find(({ name }) => name === codec.name)
    if (own !== undefined) chain.addUsers(own)
    else chain.add(createStep(chain, codec, await loadMaker(codec.name)))
  }
  if (chain.isBytes || chain.hasUsers) return chain.steps
  throw new HyperslabError(
    'CodecError',
    `none of the codecs ${names(codecs)} makes bytes of elements: that does bytes, or vlen-utf8`,
  )
}

/**
 * Returns a function that creates the decoding step of a codec from bytes to bytes from its configuration.
 * @throws CodecError for an unknown codec, or one of another kind
 */
export async function loadBytesCodec(name: string): Promise<(configuration: Configuration) => Step> {
  const make = await loadMaker(name)
  return (configuration) => {
    const chain = new Chain(BYTES, [])
    chain.isBytes = true
    const step = OF_BYTES.has(name) ? createStep(chain, { name, configuration }, make) : undefined
    if (step !== undefined) return step
    throw new HyperslabError('CodecError', `codec '${name}' does not convert bytes to bytes`, { actual: name })
  }
}

const BYTES: StoredType = { dtype: 'binary', kind: 'binary', bytes: undefined }

const names = (codecs: readonly CodecMetadata[]): string => codecs.map(({ name }) => `'${name}'`).join(', ')

/** @throws CodecError for an unknown codec */
async function loadMaker(name: string): Promise<StepMaker> {
  const maker = MAKERS.get(name)
  if (maker !== undefined) return 'load' in maker ? maker.load() : maker
  const text = `codec '${name}' is not read here; pass one of that name in \`codecs\``
  throw new HyperslabError('CodecError', text, { actual: name, expected: [...MAKERS.keys()] })
}

/** @throws CodecError for a codec that does not fit the codec before it */
function createStep(chain: Chain, { name, configuration }: CodecMetadata, make: StepMaker): Step | undefined {
  if (OF_BYTES.has(name) !== chain.isBytes && !OF_BOTH.has(name) && !chain.hasUsers)
    throw new HyperslabError(
      'CodecError',
      `codec '${name}' comes ${chain.isBytes ? 'behind' : 'before'} the one that makes bytes of elements`,
    )
  return make(chain, configuration)
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

/** Returns a function that loads the maker of a step for a filter of numbers. */
const loadFilter = (name: keyof typeof import('./number-filters.ts')) => async (): Promise<StepMaker> =>
  (await import('./number-filters.ts'))[name]

/** Creates a step that decodes gzip or zlib streams. Loads the decoder while the first chunk is fetched. */
function inflate(name: 'gzip' | 'zlib'): Step {
  const load = lazily(() => import('../../codec/inflate.ts'))
  Promise.resolve(load()).catch(() => undefined)
  return { name, decode: async (...input) => (await load()).inflateStep(name).decode!(...input) }
}

async function loadBlosc(): Promise<StepMaker> {
  const { bloscStep } = await import('../../codec/blosc.ts')
  return (_, { cname }) => bloscStep(cname)
}

/** Makers of steps by the name of the codec. The first array with a large or rare codec loads its maker. */
const MAKERS: ReadonlyMap<string, StepMaker | { readonly load: () => Promise<StepMaker> }> = new Map<
  string,
  StepMaker | { readonly load: () => Promise<StepMaker> }
>([
  ['transpose', transpose],
  ['bytes', bytesInOrder],
  ['vlen-utf8', lengthPrefixed('vlen-utf8')],
  ['vlen-bytes', lengthPrefixed('vlen-bytes')],
  ['blosc', { load: loadBlosc }],
  ['lz4', () => lz4Step],
  ['zstd', ({ isSized }) => zstdStep(isSized)],
  ['gzip', () => inflate('gzip')],
  ['zlib', () => inflate('zlib')],
  ['crc32c', (_, { location = 'end' }) => checksum('crc32c', location)],
  ['crc32', (_, { location = 'start' }) => checksum('crc32', location)],
  ['adler32', (_, { location = 'start' }) => checksum('adler32', location)],
  ['fletcher32', () => checksum('fletcher32', 'end')],
  ['shuffle', shuffle],
  ['delta', { load: loadFilter('createDelta') }],
  ['fixedscaleoffset', { load: loadFilter('createFixedScaleOffset') }],
  ['quantize', { load: loadFilter('createQuantize') }],
  ['astype', { load: loadFilter('createCast') }],
  ['bitround', () => undefined],
  ['packbits', { load: loadFilter('createPackbits') }],
])

function shuffle(_: Chain, { elementsize = 4 }: Configuration): Step | undefined {
  if (!Number.isInteger(elementsize) || (elementsize as number) < 0)
    throw new HyperslabError('CodecError', `shuffle: elementsize is not a size: ${showJson(elementsize)}`, {
      actual: elementsize,
    })
  const size = elementsize as number
  if (size <= 1) return undefined
  return filterStep({
    name: 'shuffle',
    encodedBytes: (bytes) => bytes,
    decodeIn(kernels, arena, pointer, length) {
      if (length % size !== 0)
        throw new HyperslabError('CodecError', `shuffle: ${length} bytes are not a multiple of ${size}`, { actual: length })
      // The kernel does not end for sizes near 2^32.
      if (length === 0) return { pointer, length }
      const target = arena.alloc(length)
      kernels.unshuffle(size, pointer, target, length)
      return { pointer: target, length }
    },
  })
}

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
