import { HyperslabError } from '../core/errors.ts'
import { compilesOnlyWhileLoading } from '../kernels/module.ts'
import { type Codec, inKernel, type KernelCodec } from './codec.ts'
import { lz4 } from './lz4.ts'
import { none } from './none.ts'

/** A codec that can encode. */
export type Encoder = KernelCodec | (Codec & Required<Pick<Codec, 'encode'>>)

/** Codecs by the names that blocks refer to. */
export type CodecSet = Pick<Codecs, 'find' | 'isUsers'>

/** The codecs of one file: the built-in ones and those of the user, which take precedence. */
export class Codecs {
  readonly #known: ReadonlyMap<string, Codec | KernelCodec>
  readonly #users: ReadonlyMap<string, Codec>

  /**
   * @param level of the built-in zstd
   * @throws InvalidArgumentError for an invalid codec, or two codecs of one name
   */
  constructor(own: readonly Codec[] = [], level?: number) {
    this.#users = codecsByName(own)
    this.#known = new Map<string, Codec | KernelCodec>([
      ['none', none],
      ['lz4', lz4],
      ['zstd', zstdOnDemand(level)],
      ...this.#users,
    ])
  }

  /** Whether the codec of a name was passed by the user. */
  isUsers(name: string): boolean {
    return this.#users.has(name)
  }

  /** @throws CodecError if there is no codec of that name */
  find(name: string): Codec | KernelCodec {
    const codec = this.#known.get(name)
    if (codec !== undefined) return codec
    const known = [...this.#known.keys()]
    const text = `unknown codec '${name}': known are ${known.join(', ')}; pass others to open as \`codecs\``
    throw new HyperslabError('CodecError', text, { actual: name, expected: known })
  }

  /** @throws CodecError if there is no codec of that name, or if it is read-only */
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

/**
 * Indexes a user's codecs by name. The name `none` is reserved: files use it for uncompressed blocks.
 * @throws InvalidArgumentError for an invalid codec, or two codecs of one name
 */
export function codecsByName(own: readonly Codec[]): ReadonlyMap<string, Codec> {
  const codecs = new Map<string, Codec>()
  for (const codec of own) {
    const { name, decode } = Object(codec) as Partial<Codec>
    if (typeof name !== 'string' || name === '' || name === 'none' || typeof decode !== 'function') {
      const actual = typeof name === 'string' ? `'${name}'` : typeof codec
      const text = `a codec is { name, decode, encode? } not named 'none', got ${actual}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: codec })
    }
    if (codecs.has(name)) throw new HyperslabError('InvalidArgumentError', `two codecs are named '${name}'`)
    codecs.set(name, codec)
  }
  return codecs
}

/**
 * Creates the Zstandard codec, which is loaded with the first block, or when a file is opened for writing
 * with it.
 * @param level see `zstdEncoder`, which checks it
 */
export function zstdOnDemand(level: number | undefined): Required<Omit<Codec, 'reset'>> {
  const encoder = async () => (await import('./zstd-encode.ts')).zstdEncoder(level)
  return {
    name: 'zstd',
    decode: async (bytes, decodedBytes) => (await import('./zstd.ts')).decode(bytes, decodedBytes),
    encode: async (bytes) => (await encoder())(bytes),
    ready: encoder,
  }
}

// In runtimes that compile only while loading, this compiles the encoder's kernel in time.
if (compilesOnlyWhileLoading()) import('./zstd-encode.ts').catch(() => {})
