import fc from 'fast-check'
import { describe, test } from 'vitest'
import { type AxisIndices, indexAt } from '../../src/core/axis-indices.ts'
import { eachIndex, sizeOf } from '../../src/core/shape.ts'
import { withArena } from '../../src/kernels/arena.ts'
import type { ElementBytes } from '../../src/kernels/copy.ts'
import { copyPlaces } from '../../src/kernels/pick.ts'
import { runs } from '../support/budget.ts'
import { expectSameBytes, guarded, noise, randoms } from './support.ts'

const SIZES: ElementBytes[] = [1, 2, 4, 8]

/** One axis: places along axes of `lengths` elements, from which to which. */
interface Axis {
  readonly lengths: readonly [number, number]
  readonly from: AxisIndices
  readonly to: AxisIndices
}

const stridesOf = (lengths: readonly number[]): number[] => lengths.map((_, axis) => sizeOf(lengths.slice(axis + 1)))

/** Copies with the kernel and by nested loops, byte by byte, and compares the whole destination. */
function check(size: ElementBytes, axes: readonly Axis[], misalign = 0): void {
  const [sources, targets] = [0, 1].map((side) => axes.map(({ lengths }) => lengths[side]!)) as [number[], number[]]
  const [a, b] = [stridesOf(sources), stridesOf(targets)]
  withArena((arena) => {
    const source = noise(sizeOf(sources) * size, 1)
    const expected = noise(sizeOf(targets) * size, 2)
    const src = guarded(arena, source.length, misalign)
    arena.bytes(src.pointer, source.length).set(source)
    const dst = guarded(arena, expected.length, 3 * misalign)
    arena.bytes(dst.pointer, expected.length).set(expected)
    eachIndex(
      axes.map(({ from }) => from.length),
      (index) => {
        const from = index.reduce((sum, i, axis) => sum + indexAt(axes[axis]!.from, i) * a[axis]!, 0)
        const to = index.reduce((sum, i, axis) => sum + indexAt(axes[axis]!.to, i) * b[axis]!, 0)
        for (let byte = 0; byte < size; byte++) expected[to * size + byte] = source[from * size + byte]!
      },
    )
    const tables = axes.map(({ from, to }, axis) => ({ from, to, strides: [a[axis]!, b[axis]!] as const }))
    copyPlaces(arena, size, src.pointer, dst.pointer, tables)
    src.check()
    dst.check()
    expectSameBytes(arena.bytes(dst.pointer, expected.length), expected)
  })
}

const shuffled = (length: number, next: () => number): Uint32Array => {
  const list = Uint32Array.from({ length }, (_, i) => i)
  for (let i = length - 1; i > 0; i--) {
    const k = next() % (i + 1)
    ;[list[i], list[k]] = [list[k]!, list[i]!]
  }
  return list
}

const views = (length: number, count: number): fc.Arbitrary<AxisIndices> =>
  fc
    .tuple(fc.integer({ min: 1, max: Math.max(1, Math.floor((length - 1) / Math.max(1, count - 1))) }), fc.boolean())
    .chain(([step, back]) => {
      const room = length - (count - 1) * step
      return fc
        .nat(room - 1)
        .map((start) =>
          back ? { start: start + (count - 1) * step, step: -step, length: count } : { start, step, length: count },
        )
    })

/** Places in the source in any order and repeated, in the target all different. */
const axes: fc.Arbitrary<Axis> = fc.tuple(fc.integer({ min: 1, max: 24 }), fc.integer({ min: 1, max: 24 })).chain(([from, to]) =>
  fc.integer({ min: 1, max: Math.min(from, to) }).chain((count) =>
    fc.record({
      lengths: fc.constant([from, to] as const),
      from: fc.oneof(
        fc.array(fc.nat(from - 1), { minLength: count, maxLength: count }).map((list) => Uint32Array.from(list)),
        fc.constant({ start: 0, step: 1, length: count }),
        views(from, count),
      ),
      to: fc.oneof(
        fc.uniqueArray(fc.nat(to - 1), { minLength: count, maxLength: count }).map((list) => Uint32Array.from(list)),
        fc.constant({ start: 0, step: 1, length: count }),
        views(to, count),
      ),
    }),
  ),
)

describe.each(SIZES)('copyPlaces of %i-byte elements', (size) => {
  test('one axis: every length from 0 to 300, in any order, repeated, and to any places', () => {
    for (let length = 0; length <= 300; length++) {
      const next = randoms(length)
      const repeated = Uint32Array.from({ length }, () => next() % Math.max(1, Math.ceil(length / 2)))
      const dense = { start: 0, step: 1, length }
      for (const from of [repeated, shuffled(length, next), dense])
        for (const to of [dense, shuffled(length, next)]) check(size, [{ lengths: [length, length], from, to }], length % 5)
    }
  })

  test('runs of every length, by way of tables of rows', () => {
    for (const length of [1, 2, 3, 7, 15, 16, 17, 31, 64, 127, 300, 1025]) {
      const run = { start: 0, step: 1, length }
      const rows = { lengths: [9, 5] as const, from: Uint32Array.of(8, 1, 1, 0, 3), to: Uint32Array.of(4, 0, 2, 1, 3) }
      check(size, [rows, { lengths: [length, length], from: run, to: run }], 1)
      check(size, [rows, { lengths: [length + 2, length + 1], from: { ...run, start: 2 }, to: run }], 1)
    }
  })

  test('any places along any axes', () => {
    fc.assert(
      fc.property(fc.array(axes, { maxLength: 3 }), fc.integer({ min: 0, max: 15 }), (all, misalign) =>
        check(size, all, misalign),
      ),
      { numRuns: runs(300) },
    )
  })
})
