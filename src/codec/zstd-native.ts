/** What is used of `node:zlib` where it has Zstandard: Node from 22.15, Deno, Bun. */
interface Zlib {
  readonly constants: { readonly ZSTD_c_compressionLevel: number }
  zstdDecompress(bytes: Uint8Array, options: { maxOutputLength: number; chunkSize: number }, done: Done): void
  zstdCompress(bytes: Uint8Array, options: { chunkSize: number; pledgedSrcSize: number; params: object }, done: Done): void
}

type Done = (error: Error | null, result: Uint8Array) => void

/** Zstandard in threads of the platform's own. */
export interface NativeZstd {
  /** Decodes a frame that says its size, `contentBytes`. Rejects when it has another one. */
  decode(frame: Uint8Array, contentBytes: number): Promise<Uint8Array>
  /** One frame that says its size. */
  encode(bytes: Uint8Array, level: number): Promise<Uint8Array>
}

declare const process: { getBuiltinModule?(name: string): unknown } | undefined

/** Found at run time, so that bundlers for browsers never see an import of it. */
export function nativeZstd(): NativeZstd | undefined {
  const found = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('node:zlib')
  const zlib = found as Zlib | undefined
  if (typeof zlib?.zstdDecompress !== 'function' || typeof zlib.zstdCompress !== 'function') return undefined
  return {
    // A chunk that is never full is the only one that is allocated.
    decode: (frame, contentBytes) =>
      promised((done) =>
        zlib.zstdDecompress(frame, { maxOutputLength: Math.max(contentBytes, 1), chunkSize: contentBytes + 64 }, done),
      ),
    encode: (bytes, level) =>
      promised((done) =>
        zlib.zstdCompress(
          bytes,
          {
            chunkSize: Math.max(bytes.length >> 1, 1024),
            pledgedSrcSize: bytes.length,
            params: { [zlib.constants.ZSTD_c_compressionLevel]: level },
          },
          done,
        ),
      ),
  }
}

const promised = (start: (done: Done) => void): Promise<Uint8Array> =>
  new Promise((resolve, reject) =>
    start((error, result) => (error === null || error === undefined ? resolve(result) : reject(error))),
  )
