import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { type ErrorTag, HyperslabError } from '../../../src/core/errors.ts'

const ROOT = new URL('../../fixtures/af/', import.meta.url)

/** A fixture's bytes, at an odd offset in memory: nothing may depend on alignment. */
export function fixture(path: string): Uint8Array {
  const file = readFileSync(new URL(path, ROOT))
  const shifted = new Uint8Array(file.byteLength + 1).subarray(1)
  shifted.set(file)
  return shifted
}

/** Paths of all fixtures with the given ending. */
export const fixtures = (ending: string): string[] =>
  readdirSync(ROOT, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(ending))
    .sort()

/** The error that `work` throws, checked for its tag. */
export function caught(tag: ErrorTag, work: () => unknown): HyperslabError {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(HyperslabError)
    expect((error as HyperslabError).tag, (error as HyperslabError).message).toBe(tag)
    return error as HyperslabError
  }
  return expect.fail(`expected a ${tag}`)
}

/** Bytes from hexadecimal; blanks are ignored, and `xx*n` repeats a byte. */
export function hex(text: string): Uint8Array {
  const full = text.replace(/(\w\w)\*(\d+)/g, (_, byte: string, times: string) => byte.repeat(Number(times)))
  return new Uint8Array((full.match(/\w\w/g) ?? []).map((byte) => Number.parseInt(byte, 16)))
}

export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const packed = (bytes: number, set: (view: DataView) => void): Uint8Array => {
  const view = new DataView(new ArrayBuffer(bytes))
  set(view)
  return new Uint8Array(view.buffer)
}

export const u32 = (value: number): Uint8Array => packed(4, (view) => view.setUint32(0, value, true))
export const u64 = (value: number | bigint): Uint8Array => packed(8, (view) => view.setBigUint64(0, BigInt(value), true))
export const i64 = (value: number | bigint): Uint8Array => packed(8, (view) => view.setBigInt64(0, BigInt(value), true))
export const ascii = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))
export const join = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))

/** Pseudo-random integers below `limit`, the same in every run. */
export function random(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }
}

/** A damaged copy of a payload: a bit flipped, the start or the end cut off, or 8 bytes replaced. */
export function mutate(payload: Uint8Array, next: (limit: number) => number): Uint8Array {
  const copy = payload.slice()
  const size = copy.byteLength
  const kind = next(4)
  if (kind === 0) return next(2) === 0 ? copy.subarray(next(size)) : copy.subarray(0, next(size))
  if (kind === 1) {
    const words = [
      0n,
      1n,
      2n ** 31n,
      2n ** 32n,
      2n ** 60n,
      2n ** 63n,
      2n ** 64n - 1n,
      BigInt(next(size)),
      BigInt(2 ** 32 * next(2 ** 31)),
    ]
    copy.set(u64(words[next(words.length)]!), Math.min(8 * next(size / 8), size - 8))
    return copy
  }
  // The root and its pointers are the last bytes; aim there half of the time.
  const at = kind === 2 ? next(size) : size - 1 - next(Math.min(size, 200))
  copy[at]! ^= 1 << next(8)
  return copy
}
