import { chainCodec, outOfKernel, type Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { invalidArgument } from '../../core/errors.ts'
import { loadBytesCodec } from './codecs.ts'

/** A loaded entry of zarrita's registry, which creates codecs. */
export interface ZarritaCodecEntry {
  /** Kind of all its codecs. */
  readonly kind?: 'array_to_array' | 'array_to_bytes' | 'bytes_to_bytes'
  /** Creates the codec of one array from its configuration and the metadata of a chunk. */
  // biome-ignore lint/suspicious/noExplicitAny: what metadata and chunks are is zarrita's matter
  fromConfig(configuration: any, metadata: any): ZarritaCodec
}

/** Codec of one array, as zarrita uses it. */
export interface ZarritaCodec {
  /** Kind of its input and output. */
  readonly kind?: ZarritaCodecEntry['kind']
  /** Encodes a chunk or bytes; may return a promise. */
  // biome-ignore lint/suspicious/noExplicitAny: chunks, or bytes
  encode(data: any): any
  /** Decodes a chunk or bytes; may return a promise. */
  // biome-ignore lint/suspicious/noExplicitAny: chunks, or bytes
  decode(data: any): any
  /** Returns the encoded number of bytes. Only codecs with this method encode the index of a shard. */
  computeEncodedSize?(decodedBytes: number): number
}

/** The registry that zarrita exports: functions that load codecs, by name. */
export interface ZarritaRegistry {
  /** Returns the function of a name; undefined if there is none. */
  get(name: string): (() => Promise<ZarritaCodecEntry>) | undefined
  /** Sets the function of a name, and replaces an earlier one. */
  set(name: string, load: () => Promise<ZarritaCodecEntry>): unknown
}

const NAMES = ['blosc', 'lz4', 'zstd', 'gzip', 'zlib', 'crc32c']

/**
 * Makes zarrita decode with this package: Blosc, LZ4, Zstandard, gzip, zlib and CRC-32C, under all their
 * names. Checksums are compared. Encoding does not change.
 *
 * ```js
 * import { registry } from 'zarrita'
 *
 * zarrCodecs(registry)
 * ```
 *
 * @param registry the `registry` that zarrita exports
 * @throws InvalidArgumentError for any other value. Damaged data throw a CodecError when zarrita decodes them
 */
export function zarrCodecs(registry: ZarritaRegistry): void {
  const { get, set } = Object(registry) as Partial<ZarritaRegistry>
  if (typeof get !== 'function' || typeof set !== 'function')
    invalidArgument(`zarrCodecs takes the registry that zarrita exports, got ${typeof registry}`, registry)
  for (const name of NAMES)
    for (const key of [name, `numcodecs.${name}`]) {
      const theirs = registry.get(key)
      registry.set(key, async () => {
        const createStep = await loadBytesCodec(name)
        return {
          kind: 'bytes_to_bytes',
          fromConfig: (configuration, metadata) =>
            createDecoder(name, createStep(configuration ?? {}), async () => {
              if (theirs === undefined) throw new TypeError(`zarrita has no codec '${key}' to encode with`)
              return (await theirs()).fromConfig(configuration, metadata)
            }),
        }
      })
    }
}

function createDecoder(name: string, step: Step, theirs: () => Promise<ZarritaCodec>): ZarritaCodec {
  const chain = chainCodec(name, [step, outOfKernel], () => new Uint8Array(0), Infinity) as Pick<Codec, 'decode'> & {
    ready(): Promise<void>
  }
  const ready = chain.ready()
  ready.catch(() => undefined)
  return {
    kind: 'bytes_to_bytes',
    encode: async (data) => (await theirs()).encode(data),
    async decode(bytes: Uint8Array) {
      await ready
      return chain.decode(bytes, Infinity)
    },
    ...(step.encodedBytes && { computeEncodedSize: (bytes: number) => step.encodedBytes!(bytes) }),
  }
}
