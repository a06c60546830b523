import type { Python } from '../../scripts/python.mjs'
import { startPython } from './python.ts'

/** numcodecs in a process of its own, with c-blosc and zlib as it brings them. */
export interface Numcodecs {
  /** Encodes elements with one codec after another. */
  encode(codecs: readonly object[], dtype: string, data: Uint8Array, shape?: readonly number[]): Promise<Uint8Array>
  /** Encodes strings, by `vlen-utf8` first. */
  encodeTexts(codecs: readonly object[], texts: readonly string[]): Promise<Uint8Array>
  /** Decodes; undefined where numcodecs refuses. */
  decode(codecs: readonly object[], data: Uint8Array): Promise<Uint8Array | undefined>
  close(): void
}

/** Undefined, with a line that says so, where it cannot be had. */
export function startNumcodecs(): Numcodecs | undefined {
  const python: Python | undefined = startPython('./numcodecs_peer.py')
  if (python === undefined) return undefined
  const base64 = (data: Uint8Array): string => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')
  return {
    async encode(codecs, dtype, data, shape = [-1]) {
      const answer = await python.ask({ op: 'encode', codecs, dtype, data: base64(data), shape })
      if (answer.error !== undefined) throw new Error(answer.error)
      return new Uint8Array(Buffer.from(answer.data, 'base64'))
    },
    async encodeTexts(codecs, texts) {
      const answer = await python.ask({ op: 'encode', codecs, texts, data: '' })
      if (answer.error !== undefined) throw new Error(answer.error)
      return new Uint8Array(Buffer.from(answer.data, 'base64'))
    },
    async decode(codecs, data) {
      const answer = await python.ask({ op: 'decode', codecs, data: base64(data) })
      return answer.error === undefined ? new Uint8Array(Buffer.from(answer.data, 'base64')) : undefined
    },
    close: () => python.close(),
  }
}
