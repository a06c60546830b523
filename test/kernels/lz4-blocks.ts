import { expect } from 'vitest'
import { PREFIX_BYTES } from '../../src/codec/lz4.ts'
import { encodeLz4 } from '../../src/codec/lz4-encode.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import type { Arena } from '../../src/kernels/arena.ts'
import { lz4Decode, lz4Position, lz4Resume, lz4State } from '../../src/kernels/lz4.ts'
import { guarded } from './support.ts'

/** One sequence: literals, and unless it is the last a match. */
export interface Sequence {
  readonly literals: Uint8Array
  readonly match?: { readonly offset: number; readonly length: number }
}

/** Reads a block into its sequences; undefined when the bytes end in the middle of one. */
export function parse(block: Uint8Array): Sequence[] | undefined {
  const sequences: Sequence[] = []
  let at = 0
  const lengthFrom = (nibble: number): number | undefined => {
    let length = nibble
    if (nibble < 15) return length
    for (;;) {
      const byte = block[at++]
      if (byte === undefined) return undefined
      length += byte
      if (byte < 255) return length
    }
  }
  for (;;) {
    const token = block[at++]
    if (token === undefined) return undefined
    const count = lengthFrom(token >> 4)
    if (count === undefined || at + count > block.length) return undefined
    const literals = block.subarray(at, at + count)
    at += count
    if (at === block.length) {
      sequences.push({ literals })
      return sequences
    }
    if (at + 2 > block.length) return undefined
    const offset = block[at]! + 256 * block[at + 1]!
    at += 2
    const length = lengthFrom(token & 15)
    if (length === undefined) return undefined
    sequences.push({ literals, match: { offset, length: length + 4 } })
  }
}

/** Writes sequences as a block. */
export function write(sequences: readonly Sequence[]): Uint8Array {
  const out: number[] = []
  const extra = (length: number) => {
    if (length < 15) return
    let rest = length - 15
    for (; rest >= 255; rest -= 255) out.push(255)
    out.push(rest)
  }
  for (const { literals, match } of sequences) {
    const length = match === undefined ? 0 : match.length - 4
    out.push((Math.min(literals.length, 15) << 4) | Math.min(length, 15))
    extra(literals.length)
    for (const byte of literals) out.push(byte)
    if (match === undefined) continue
    out.push(match.offset & 255, match.offset >> 8)
    extra(length)
  }
  return Uint8Array.from(out)
}

export function encode(arena: Arena, data: Uint8Array): Uint8Array {
  return encodeLz4(arena, arena.put(data), data.length).subarray(PREFIX_BYTES)
}

/** The decoded bytes, or the message of the error. Checks that nothing beside the destination was written. */
export function decode(arena: Arena, block: Uint8Array, bytes: number): Uint8Array | string {
  const src = arena.put(block)
  const dst = guarded(arena, bytes, block.length % 3)
  try {
    lz4Decode(arena, src, block.length, dst.pointer, bytes)
    return arena.bytes(dst.pointer, bytes).slice()
  } catch (error) {
    if (!isHyperslabError(error, 'CodecError')) throw error
    return error.message
  } finally {
    dst.check()
  }
}

/**
 * Decodes in steps, each in a place of its own that holds nothing but the last 65 535 bytes of what was
 * decoded before, which is as far as matches reach. The error's message when it is malformed.
 */
export function decodeInSteps(arena: Arena, block: Uint8Array, bytes: number, steps: readonly number[]): Uint8Array | string {
  const decoded = new Uint8Array(bytes)
  let position = { read: 0, written: 0 }
  const src = arena.put(block)
  for (const step of [...steps, bytes]) {
    const { written } = position
    const start = Math.max(written - 65_535, 0)
    const wanted = Math.min(written + step, bytes)
    const dst = guarded(arena, bytes, step % 3)
    arena.bytes(dst.pointer + start, written - start).set(decoded.subarray(start, written))
    const state = lz4State(arena, position)
    try {
      const end = lz4Resume(arena, src, block.length, dst.pointer, bytes, state, wanted)
      expect(end).toBeGreaterThanOrEqual(wanted)
      decoded.set(arena.bytes(dst.pointer + written, end - written), written)
      position = lz4Position(arena, state)
      expect(position.written).toBe(end)
    } catch (error) {
      if (!isHyperslabError(error, 'CodecError')) throw error
      return error.message
    } finally {
      dst.check()
    }
  }
  return decoded
}
