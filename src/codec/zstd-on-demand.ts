import type { Codec } from './codec.ts'

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
