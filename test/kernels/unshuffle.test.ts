import { expect, test } from 'vitest'
import { type Arena, withArena } from '../../src/kernels/arena.ts'
import { compute } from '../../src/kernels/compute.ts'
import { filters } from '../../src/kernels/filters.ts'
import { expectSameBytes, guarded, noise, putAt, randoms } from './support.ts'

/** Shuffles bytes naively, as the inverse of the kernels: byte `j` of element `i` is in plane `j`. */
function shuffled(size: number, data: Uint8Array): Uint8Array {
  const n = Math.floor(data.length / size)
  return data.map((byte, at) => {
    const [plane, i] = [Math.floor(at / n), at % n]
    return at < n * size ? data[i * size + plane]! : byte
  })
}

/** Bit `k` of byte `j` of element `i` is bit `i` of row `8 * j + k`. */
function bitShuffled(size: number, data: Uint8Array): Uint8Array {
  const n = Math.floor(data.length / size)
  const out = data.slice()
  if (n % 8 !== 0) return out
  out.fill(0, 0, n * size)
  for (let i = 0; i < n; i++)
    for (let j = 0; j < size; j++)
      for (let k = 0; k < 8; k++) {
        const bit = (data[i * size + j]! >> k) & 1
        out[((8 * j + k) * n) / 8 + (i >> 3)]! |= bit << (i & 7)
      }
  return out
}

/** Shuffles, and undoes what was shuffled, between guards, at odd addresses. */
function check(size: number, bytes: number, seed: number): void {
  const data = noise(bytes, seed)
  withArena((arena) => {
    const kernels = filters(arena)
    const misalign = seed % 16
    const target = guarded(arena, bytes, misalign)
    kernels.unshuffle(size, putAt(arena, shuffled(size, data), misalign), target.pointer, bytes)
    expectSameBytes(arena.bytes(target.pointer, bytes).slice(), data)
    target.check()
    const [turned, planes] = [guarded(arena, bytes, misalign), guarded(arena, bytes, 1)]
    kernels.bitUnshuffle(size, putAt(arena, bitShuffled(size, data), misalign), turned.pointer, bytes, planes.pointer)
    expectSameBytes(arena.bytes(turned.pointer, bytes).slice(), data)
    turned.check()
    planes.check()
    shuffle(arena, size, data, misalign)
  })
}

function shuffle(arena: Arena, size: number, data: Uint8Array, misalign: number): void {
  const kernels = compute(arena)
  const bytes = data.length
  const [target, turned, planes] = [misalign, misalign, 1].map((at) => guarded(arena, bytes, at)) as [Guarded, Guarded, Guarded]
  const from = putAt(arena, data, misalign)
  kernels.shuffle(size, from, target.pointer, bytes)
  expectSameBytes(arena.bytes(target.pointer, bytes).slice(), shuffled(size, data))
  kernels.bitShuffle(size, from, turned.pointer, bytes, planes.pointer)
  expectSameBytes(arena.bytes(turned.pointer, bytes).slice(), bitShuffled(size, data))
  for (const each of [target, turned, planes]) each.check()
}

type Guarded = ReturnType<typeof guarded>

test('elements of every size, some whole vectors and more', () => {
  for (let size = 1; size <= 255; size++) {
    check(size, 48 * size, size)
    check(size, 17 * size, size + 1)
    check(size, 136 * size + (size >> 1), size + 2)
  }
})

test('every number of bytes', () => {
  for (const size of [1, 2, 3, 4, 5, 7, 8, 12, 16, 17]) for (let bytes = 0; bytes < 400; bytes++) check(size, bytes, bytes)
})

test('sizes and lengths by chance', () => {
  const next = randoms(15)
  for (let i = 0; i < 300; i++) {
    const size = 1 + (next() % 255)
    check(size, next() % (size * 300), i)
  }
  expect.assertions(300 * 16)
})
