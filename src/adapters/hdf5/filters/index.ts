import { bloscStep } from '../../../codec/blosc.ts'
import { chainCodec, type Step } from '../../../codec/chain.ts'
import { type Codec, type KernelCodec, remoteCodec, type SharedCodec } from '../../../codec/codec.ts'
import { inflateStep } from '../../../codec/inflate.ts'
import { zstdStep } from '../../../codec/steps.ts'
import { HyperslabError } from '../../../core/errors.ts'
import { kernels } from '../../../kernels/instance.ts'
import { fletcherStep, lz4FilterStep, unshuffleStep } from './basic.ts'
import { bitshuffleStep } from './bitshuffle.ts'
import { filterName } from './names.ts'

/** A filter of a dataset's pipeline, as the file describes it. */
export interface Filter {
  /** Registered number. */
  readonly id: number
  readonly flags: number
  /** Name in the file, for messages. */
  readonly name?: string | undefined
  /** Client data: unsigned 32-bit integers. */
  readonly parameters: readonly number[]
}

/** Elements of the chunks that filters decode. */
export interface FilteredElement {
  /** Bytes of a stored element. */
  readonly bytes: number
  /** Limit of bytes after each filter whose exact number only decoding reveals. */
  readonly mostBytes: number
}

/** Description of a chunk's decoding, as data that can be sent to other threads. */
export interface FilterSpec {
  readonly filters: readonly Filter[]
  readonly mask: number
  readonly element: FilteredElement
  /** Compiled kernels of rare filters, if one of these is used. */
  readonly rareModule?: object | undefined
}

type FilterCodec = (Codec | KernelCodec) & SharedCodec & { ready(): Promise<void> }

/**
 * Returns the codec of chunks with one filter mask. It decodes to the bytes of elements as the file stores
 * them. Await its `ready` before the first chunk. Workers have the same codec, except for codecs of users.
 * @param name of the codec, for errors
 * @param filters in the order of encoding
 * @param mask bit i skips filter i
 * @param users codecs of users, which take precedence over those of the package: by the registered name of
 *   the filter, or its number as text
 * @throws UnsupportedError for a filter that is not read here, with number, name and what to do; CodecError
 *   for invalid parameters
 */
export function filterCodec(
  name: string,
  filters: readonly Filter[],
  mask: number,
  element: FilteredElement,
  users: readonly Codec[] = [],
): FilterCodec {
  const used = filters.filter((_, i) => !isSkipped(mask, i))
  const own = used.map(({ id }) => users.find((codec) => codec.name === filterName(id)))
  const steps: Step[] = []
  let isSized = true
  for (const [i, filter] of used.entries()) {
    const step: Step | undefined = own[i] === undefined ? createStep(filter, element, isSized) : usersStep(own[i])
    if (step === undefined) continue
    steps.unshift(step)
    isSized &&= step.encodedBytes !== undefined
  }
  const codec = chainCodec(name, steps, emptyChunk, element.mostBytes)
  const isShared = !own.some(Boolean)
  const hasRare = used.some(({ id }, i) => own[i] === undefined && RARE.has(id))
  const share = (rareModule?: object): SharedCodec['remote'] => remoteCodec({ filters: used, mask: 0, element, rareModule })
  let remote = isShared && !hasRare ? share() : undefined
  return {
    ...codec,
    async ready() {
      await codec.ready()
      if (isShared && hasRare)
        remote ??= share((await import('../../../kernels/rare-filters.ts')).rareFilterKernels.module(kernels()))
    },
    get remote() {
      return remote
    },
  }
}

/** Returns the codec that another thread described, with all that it needs. */
export async function openFilterSpec({ filters, mask, element, rareModule }: FilterSpec): Promise<FilterCodec> {
  if (rareModule !== undefined) (await import('../../../kernels/rare-filters.ts')).rareFilterKernels.useModule(rareModule)
  const codec = filterCodec('chunk', filters, mask, element)
  await codec.ready()
  return codec
}

/** The mask has 32 bits. Filters behind these cannot be skipped. */
const isSkipped = (mask: number, index: number): boolean => index < 32 && ((mask >>> index) & 1) === 1

function emptyChunk(): never {
  throw new HyperslabError('CodecError', 'a stored chunk has 0 bytes')
}

const usersStep = (codec: Codec): Step => ({
  name: codec.name,
  decode: (bytes, decodedBytes) => codec.decode(bytes, decodedBytes ?? Infinity),
})

/** Returns the step that reverses a filter; undefined if the filter leaves bytes as they are. */
function createStep(filter: Filter, element: FilteredElement, isSized: boolean): Step | undefined {
  const make = MAKERS.get(filter.id)
  if (make !== undefined) return make(filter.parameters, element, isSized)
  const name = filterName(filter.id)
  if (RARE.has(filter.id)) return rareStep(name, filter)
  const said = filter.name === undefined || filter.name === '' ? '' : `, which the file calls '${filter.name}',`
  const known = name === String(filter.id) ? '' : ` (${name})`
  throw new HyperslabError(
    'UnsupportedError',
    `the filter ${filter.id}${known}${said} is not read here; pass a codec named '${name}' in \`codecs\`, \
or repack the file with deflate`,
    { actual: filter.id, expected: [...MAKERS.keys(), ...RARE] },
  )
}

/** Filters whose decoders are loaded with the first chunk that needs one: szip, n-bit, scale-offset, lzf. */
const RARE: ReadonlySet<number> = new Set([4, 5, 6, 32000])

function rareStep(name: string, { id, parameters }: Filter): Step {
  let decoder: Step['decodeIn']
  return {
    name,
    async ready() {
      decoder = (await import('./rare.ts')).createRareDecoder(id, parameters)
    },
    decodeIn: (arena, pointer, length, decodedBytes, mostBytes) =>
      decoder === undefined ? { pointer, length } : decoder(arena, pointer, length, decodedBytes, mostBytes),
  }
}

/**
 * Creates the step of a filter from its parameters.
 * @param isSized whether the number of decoded bytes is known
 */
type StepMaker = (parameters: readonly number[], element: FilteredElement, isSized: boolean) => Step | undefined

/** Compressors of Blosc by their numbers in the parameters. */
export const BLOSC_COMPRESSORS = ['blosclz', 'lz4', 'lz4hc', 'snappy', 'zlib', 'zstd']

const MAKERS: ReadonlyMap<number, StepMaker> = new Map<number, StepMaker>([
  [1, () => inflateStep('zlib')],
  [2, ([bytes], element) => unshuffleStep(bytes ?? element.bytes)],
  [3, () => fletcherStep],
  [32001, (parameters) => bloscStep(BLOSC_COMPRESSORS[parameters[6] ?? 0])],
  [32004, () => lz4FilterStep],
  [32008, bitshuffleStep],
  [32015, (_, __, isSized) => zstdStep(isSized)],
])
