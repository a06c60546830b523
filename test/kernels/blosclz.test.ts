import { expect, test } from 'vitest'
import { withArena } from '../../src/kernels/arena.ts'
import { filters } from '../../src/kernels/filters.ts'
import { guarded, putAt, randoms } from './support.ts'

/** Decodes a stream byte by byte; returns undefined if it is malformed or yields another number of bytes. */
function naive(stream: Uint8Array, decodedBytes: number): number[] | undefined {
  const out: number[] = []
  let at = 0
  while (at < stream.length) {
    const control = at === 0 ? stream[at++]! & 31 : stream[at++]!
    if (control < 32) {
      if (at + control + 1 > stream.length) return undefined
      out.push(...stream.subarray(at, at + control + 1))
      at += control + 1
    } else {
      let length = (control >> 5) + 2
      for (let more = control >> 5 === 7 ? 255 : 0; more === 255; length += more) {
        more = stream[at++] ?? -1
        if (more < 0) return undefined
      }
      let distance = ((control & 31) << 8) + (stream[at++] ?? Number.NaN)
      if (distance === 8191) distance += ((stream[at++] ?? Number.NaN) << 8) + (stream[at++] ?? Number.NaN)
      // A match is never the last.
      if (!(distance < out.length) || at >= stream.length) return undefined
      for (let i = 0; i < length && out.length <= decodedBytes; i++) out.push(out[out.length - distance - 1]!)
    }
    if (out.length > decodedBytes) return undefined
  }
  return out.length === decodedBytes && stream.length > 0 ? out : undefined
}

/** Literals and matches of all kinds, nearly always good ones, and how many bytes they decode to. */
function streamOf(next: () => number, sequences: number): [stream: number[], decodedBytes: number] {
  const stream: number[] = []
  let size = 0
  for (let i = 0; i < sequences; i++) {
    const isLast = i === sequences - 1
    if (i === 0 || isLast || next() % 2 === 0) {
      const count = 1 + (next() % 32)
      stream.push(count - 1, ...Array.from({ length: count }, () => next() & 255))
      size += count
      continue
    }
    const extra = next() % 3 === 0 ? next() % 600 : -1
    const short = extra < 0 ? 1 + (next() % 6) : 7
    const distance = next() % 50 === 0 ? size : next() % Math.min(size, next() % 2 ? 40 : 70_000)
    const near = Math.min(distance, 8191)
    stream.push((short << 5) | (near >> 8))
    if (extra >= 0) stream.push(...new Array(Math.floor(extra / 255)).fill(255), extra % 255)
    stream.push(near & 255)
    if (near === 8191) stream.push((distance - near) >> 8, (distance - near) & 255)
    size += extra < 0 ? short + 2 : 9 + extra
  }
  return [stream, size]
}

test('streams, whole and damaged, decode as a naive decoder does, between guards', () => {
  const next = randoms(21)
  const counts = { good: 0, bad: 0 }
  for (let i = 0; i < 3000; i++) {
    const [list, size] = streamOf(next, 1 + (next() % (i % 50 === 0 ? 3000 : 40)))
    const stream = Uint8Array.from(next() % 4 === 0 ? list.slice(0, next() % list.length) : list)
    if (next() % 4 === 0 && stream.length > 0) stream[next() % stream.length] = next()
    const decodedBytes = Math.max(0, size + (next() % 8 === 0 ? (next() % 40) - 20 : 0))
    const expected = naive(stream, decodedBytes)
    withArena((arena) => {
      const target = guarded(arena, decodedBytes, next() % 16)
      const code = filters(arena).bloscLzDecode(putAt(arena, stream, next() % 16), stream.length, target.pointer, decodedBytes)
      target.check()
      if ((code === 0) !== (expected !== undefined)) throw new Error(`stream ${i}: code ${code}`)
      const decoded = Buffer.from(arena.bytes(target.pointer, decodedBytes))
      if (expected && Buffer.compare(decoded, Buffer.from(expected)) !== 0) throw new Error(`stream ${i} decodes to other bytes`)
    })
    counts[expected ? 'good' : 'bad']++
  }
  expect(Math.min(counts.good, counts.bad)).toBeGreaterThan(500)
})
