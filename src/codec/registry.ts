import { HyperslabError } from '../core/errors.ts'
import { type Codec, inKernel, type KernelCodec } from './codec.ts'
import { lz4 } from './lz4.ts'
import { none } from './none.ts'

/** A codec that can write. */
export type Encoder = KernelCodec | (Codec & Required<Pick<Codec, 'encode'>>)

/** Codecs by the names that blocks have them under. */
export type CodecSet = Pick<Codecs, 'find' | 'isUsers'>

/** The codecs of one file: those of this package and those its user passes, which come first. */
export class Codecs {
  readonly #known: ReadonlyMap<string, Codec | KernelCodec>
  readonly #users: ReadonlySet<string>

  /**
   * @param level of the package's own zstd
   * @throws InvalidArgumentError for what is no codec, two of one name
   */
  constructor(own: readonly Codec[] = [], level?: number) {
    const known = new Map<string, Codec | KernelCodec>([none, lz4, zstdOnDemand(level)].map((codec) => [codec.name, codec]))
    const names = new Set<string>()
    for (const codec of own) {
      checkCodec(codec)
      if (names.has(codec.name)) throw new HyperslabError('InvalidArgumentError', `two codecs are named '${codec.name}'`)
      names.add(codec.name)
      known.set(codec.name, codec)
    }
    this.#known = known
    this.#users = names
  }

  /** Whether a codec is one of the user's. */
  isUsers(name: string): boolean {
    return this.#users.has(name)
  }

  /** @throws CodecError naming the codec when there is none of that name */
  find(name: string): Codec | KernelCodec {
    const codec = this.#known.get(name)
    if (codec !== undefined) return codec
    const known = [...this.#known.keys()]
    const text = `unknown codec '${name}': known are ${known.join(', ')}; others are passed to open as codecs`
    throw new HyperslabError('CodecError', text, { actual: name, expected: known })
  }

  /** @throws CodecError when there is none of that name, or it only reads */
  encoder(name: string): Encoder {
    const codec = this.find(name)
    if (canEncode(codec)) return codec
    throw new HyperslabError('CodecError', `codec '${name}' can be read but not written`, {
      actual: name,
      expected: [...this.#known.values()].filter(canEncode).map((known) => known.name),
    })
  }
}

const canEncode = (codec: Codec | KernelCodec): codec is Encoder => inKernel(codec) || codec.encode !== undefined

/** `none` is how files say that a block has no codec. */
function checkCodec(codec: Codec): void {
  const { name, decode } = Object(codec) as Partial<Codec>
  if (typeof name === 'string' && name !== '' && name !== 'none' && typeof decode === 'function') return
  const text = `a codec is { name, decode, encode? } and is not named 'none', got ${typeof name === 'string' ? `'${name}'` : typeof codec}`
  throw new HyperslabError('InvalidArgumentError', text, { actual: codec })
}

/**
 * Zstandard, loaded with the first block of it, or when a file is to be written with it.
 * @param level see `zstd`, which checks it
 */
export function zstdOnDemand(level: number | undefined): Required<Codec> {
  const load = async (): Promise<Required<Codec>> => (await import('./zstd.ts')).zstd(level)
  return {
    name: 'zstd',
    decode: async (bytes, decodedBytes) => (await load()).decode(bytes, decodedBytes),
    encode: async (bytes) => (await load()).encode(bytes),
    ready: async () => (await load()).ready(),
    reset: async () => (await load()).reset(),
  }
}
