import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eachIndex, sizeOf } from '../../src/core/shape.ts'
import { withArena } from '../../src/kernels/arena.ts'
import { copyStrided, type ElementBytes } from '../../src/kernels/copy.ts'
import { runs } from '../support/budget.ts'
import { boxes, expectSameBytes, guarded, type Layout, layOut, noise, placeOf } from './support.ts'

const SIZES: ElementBytes[] = [1, 2, 4, 8]

/** Copies by nested loops, byte by byte. */
function naive(size: number, shape: readonly number[], src: Uint8Array, from: Layout, dst: Uint8Array, to: Layout): void {
  eachIndex(shape, (index) => {
    const source = placeOf(from, index) * size
    const target = placeOf(to, index) * size
    for (let byte = 0; byte < size; byte++) dst[target + byte] = src[source + byte]!
  })
}

/**
 * Copies with the kernel and by hand, and compares the whole destination: what is between the elements must
 * stay.
 */
function check(size: ElementBytes, shape: readonly number[], from: Layout, to: Layout, misalign = 0): void {
  withArena((arena) => {
    const source = noise(from.places * size, 1)
    const expected = noise(to.places * size, 2)
    const src = arena.alloc(source.length + misalign) + misalign
    arena.bytes(src, source.length).set(source)
    const dst = guarded(arena, expected.length, misalign)
    arena.bytes(dst.pointer, expected.length).set(expected)
    naive(size, shape, source, from, expected, to)
    copyStrided(arena, size, shape, src + from.first * size, from.stride, dst.pointer + to.first * size, to.stride)
    dst.check()
    expectSameBytes(arena.bytes(dst.pointer, expected.length), expected)
  })
}

const dense = (shape: readonly number[]): Layout =>
  layOut(
    shape,
    [...shape.keys()].reverse(),
    shape.map(() => 1),
    shape.map(() => false),
  )

describe.each(SIZES)('copyStrided of %i-byte elements', (size) => {
  test('one axis: every length from 0 to 300 and every kind of stride', () => {
    const strides = [0, 1, 2, 3, 4, 7, -1, -2, -3]
    for (let length = 0; length <= 300; length += length < 70 ? 1 : 23) {
      for (const step of strides) {
        const from = layOut([length], [0], [Math.abs(step)], [step < 0], [step === 0])
        check(size, [length], from, dense([length]), length % 5)
        if (step !== 0) check(size, [length], dense([length]), from, length % 3)
      }
    }
  })

  test('transposes, with every remainder of the tiles', () => {
    for (const n of [1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 33]) {
      for (const m of [1, 2, 5, 8, 11, 16, 19, 40]) {
        const transposed = layOut([n, m], [0, 1], [1, 1], [false, false])
        check(size, [n, m], transposed, dense([n, m]))
        check(size, [n, m], dense([n, m]), transposed)
        check(size, [n, 3, m], layOut([n, 3, m], [0, 1, 2], [1, 1, 1], [false, false, false]), dense([n, 3, m]))
      }
    }
  })

  test('any box between any two layouts', () => {
    fc.assert(
      fc.property(boxes(3000, true), fc.integer({ min: 0, max: 15 }), ({ shape, layout, other }, misalign) => {
        check(size, shape, layout, other, misalign)
      }),
      { numRuns: runs(300) },
    )
  })

  test('rows long enough for the engine', () => {
    for (const length of [1023, 1024, 1025, 5000]) {
      check(size, [3, length], layOut([3, length], [1, 0], [2, 1], [false, false]), dense([3, length]), 1)
    }
  })
})

test('an empty box copies nothing, a scalar one element', () => {
  check(4, [3, 0, 2], dense([3, 0, 2]), dense([3, 0, 2]))
  check(4, [], dense([]), dense([]))
})

test('more axes than any box of more than one element could have', () => {
  const shape = new Array(40).fill(1)
  shape[7] = 5
  expect(sizeOf(shape)).toBe(5)
  check(2, shape, dense(shape), dense(shape))
})
