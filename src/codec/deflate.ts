import { joinBytes } from '../core/bytes.ts'
import { platformZlib } from './platform-zlib.ts'

declare const CompressionStream: new (format: string) => object

/** The used part of a `CompressionStream`, whose type needs the DOM library. */
interface Deflating {
  readonly writable: { getWriter(): { write(bytes: Uint8Array): Promise<void>; close(): Promise<void> } }
  readonly readable: { getReader(): { read(): Promise<{ done: boolean; value?: Uint8Array }> } }
}

/** Names of the formats on the platform. */
const STREAM_FORMATS = { gzip: 'gzip', zlib: 'deflate' }

/**
 * Encodes bytes as gzip or as a zlib stream by the platform's library, on threads of its own if it has any.
 * Platforms with streams only choose the level themselves.
 * @param level from 0, uncompressed, to 9
 */
export function deflate(name: 'gzip' | 'zlib', bytes: Uint8Array, level: number): Promise<Uint8Array> {
  const zlib = platformZlib()
  if (zlib === undefined) return streamed(name, bytes)
  const encode = name === 'gzip' ? zlib.gzip : zlib.deflate
  return new Promise((resolve, reject) => encode(bytes, { level }, (error, result) => (error ? reject(error) : resolve(result))))
}

async function streamed(name: 'gzip' | 'zlib', bytes: Uint8Array): Promise<Uint8Array> {
  const { writable, readable } = new CompressionStream(STREAM_FORMATS[name]) as Deflating
  const writer = writable.getWriter()
  // The reading side reports failures.
  const written = writer.write(bytes).then(() => writer.close())
  written.catch(() => undefined)
  const reader = readable.getReader()
  const parts: Uint8Array[] = []
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value!)
  }
  await written
  return joinBytes(parts)
}
