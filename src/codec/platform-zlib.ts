/** The used part of `node:zlib`, which Node, Deno, Bun and, optionally, workerd provide. */
export interface PlatformZlib {
  readonly inflateSync: InflateNow
  readonly gunzipSync: InflateNow
  readonly inflate: Inflate
  readonly gunzip: Inflate
  readonly deflate: Inflate
  readonly gzip: Inflate
  // Available in Node 22.15 and newer, Deno and Bun.
  readonly zstdDecompressSync?: InflateNow
  readonly zstdDecompress?: Inflate
  readonly zstdCompress?: Compress
  readonly constants: Readonly<Record<string, number>>
}

type Options = { readonly maxOutputLength?: number; readonly chunkSize?: number; readonly level?: number }
type InflateNow = (bytes: Uint8Array, options: Options) => Uint8Array
type Done = (error: Error | null, result: Uint8Array) => void
type Inflate = (bytes: Uint8Array, options: Options, done: Done) => void
type Compress = (bytes: Uint8Array, options: Options & { pledgedSrcSize: number; params: object }, done: Done) => void

declare const process: { getBuiltinModule?(name: string): unknown } | undefined

/**
 * Returns the platform's zlib, if there is one. Looked up at run time, so that bundlers for browsers never
 * see an import.
 */
export function platformZlib(): PlatformZlib | undefined {
  const found = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:zlib')
  const zlib = found as PlatformZlib | undefined
  return typeof zlib?.inflateSync === 'function' && typeof zlib.gunzip === 'function' ? zlib : undefined
}
