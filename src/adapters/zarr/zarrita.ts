import { chainCodec, outOfKernel } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import { invalidArgument } from '../../core/errors.ts'
import { bytesStep } from './codecs.ts'

/** A loaded entry of zarrita's registry, of which it makes codecs. */
export interface ZarritaCodecEntry {
  /** The kind of all its codecs. */
  readonly kind?: 'array_to_array' | 'array_to_bytes' | 'bytes_to_bytes'
  /** The codec for one array, by its configuration there and what is known of a chunk. */
  // biome-ignore lint/suspicious/noExplicitAny: what metadata and chunks are is zarrita's matter
  fromConfig(configuration: any, metadata: any): ZarritaCodec
}

/** A codec of one array as zarrita uses it. */
export interface ZarritaCodec {
  /** The kind of what it takes and gives. */
  readonly kind?: ZarritaCodecEntry['kind']
  /** The chunk or the bytes encoded, or a promise of that. */
  // biome-ignore lint/suspicious/noExplicitAny: chunks, or bytes
  encode(data: any): any
  /** The chunk or the bytes decoded, or a promise of that. */
  // biome-ignore lint/suspicious/noExplicitAny: chunks, or bytes
  decode(data: any): any
  /** The number of bytes that so many become; only such codecs encode the index of a shard. */
  computeEncodedSize?(decodedBytes: number): number
}

/** The registry that zarrita exports: functions that load codecs, by name. */
export interface ZarritaRegistry {
  /** The function of that name, if there is one. */
  get(name: string): (() => Promise<ZarritaCodecEntry>) | undefined
  /** The place of a function of that name, in which the last one stays. */
  set(name: string, load: () => Promise<ZarritaCodecEntry>): unknown
}

const NAMES = ['blosc', 'lz4', 'zstd', 'gzip', 'zlib', 'crc32c']

/**
 * Has zarrita decode by this package: Blosc, LZ4, Zstandard, gzip, zlib and CRC-32C, which is compared then,
 * under all their names. What encodes stays what it was.
 *
 * ```js
 * import { registry } from 'zarrita'
 *
 * zarrCodecs(registry)
 * ```
 *
 * @param registry the `registry` that zarrita exports
 * @throws InvalidArgumentError for what is no registry. What is damaged ends in a CodecError when zarrita
 *   decodes it
 */
export function zarrCodecs(registry: ZarritaRegistry): void {
  const { get, set } = Object(registry) as Partial<ZarritaRegistry>
  if (typeof get !== 'function' || typeof set !== 'function')
    invalidArgument(`zarrCodecs takes the registry that zarrita exports, got ${typeof registry}`, registry)
  for (const name of NAMES)
    for (const key of [name, `numcodecs.${name}`]) {
      const theirs = registry.get(key)
      registry.set(key, async () => ({
        kind: 'bytes_to_bytes',
        fromConfig: (configuration, metadata) =>
          decoderOf(name, configuration ?? {}, async () => {
            if (theirs === undefined) throw new TypeError(`zarrita has no codec '${key}' to encode with`)
            return (await theirs()).fromConfig(configuration, metadata)
          }),
      }))
    }
}

function decoderOf(name: string, configuration: Record<string, unknown>, theirs: () => Promise<ZarritaCodec>): ZarritaCodec {
  const step = bytesStep({ name, configuration })
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
