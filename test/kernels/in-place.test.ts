import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AxisIndices, indexAt } from '../../src/core/axis-indices.ts'
import { coordsAt, sizeOf } from '../../src/core/shape.ts'
import { withArena } from '../../src/kernels/arena.ts'
import type { ElementBytes } from '../../src/kernels/copy.ts'
import { putStored, type StoredRead, swapBytes } from '../../src/kernels/in-place.ts'
import { runs } from '../support/budget.ts'
import { expectSameBytes, guarded, noise } from './support.ts'

const reversed = (bytes: Uint8Array, size: number): Uint8Array =>
  bytes.map((_, i) => bytes[i - (i % size) + size - 1 - (i % size)]!)

describe.each<ElementBytes>([1, 2, 4, 8])('elements of %i bytes', (size) => {
  test('swapBytes: every length from 0 to 300, at every alignment', () => {
    withArena((arena) => {
      for (let count = 0; count <= 300; count += count < 70 ? 1 : 23) {
        for (let misalign = 0; misalign < 16; misalign += count < 40 ? 1 : 5) {
          const bytes = noise(count * size, count + misalign)
          // Whole vectors are written.
          const place = guarded(arena, size === 1 ? bytes.length : Math.ceil(bytes.length / 16) * 16, misalign)
          arena.bytes(place.pointer, bytes.length).set(bytes)
          swapBytes(arena, place.pointer, bytes.length, size)
          place.check()
          expectSameBytes(arena.bytes(place.pointer, bytes.length), reversed(bytes, size))
        }
      }
    })
  })
})

test('elements of several reads, at even distances or listed, come one after another', () => {
  const axis = fc.record({
    length: fc.integer({ min: 1, max: 9 }),
    gap: fc.constantFrom(0, 1, 3, 4, 8, 20),
    listed: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.array(fc.array(axis, { maxLength: 3 }), { minLength: 1, maxLength: 3 }),
      fc.constantFrom(1, 2, 3, 4, 8, 13),
      fc.boolean(),
      (boxes, elementBytes, order) => {
        const bigEndian = order && [1, 2, 4, 8].includes(elementBytes)
        const file = noise(400_000, elementBytes)
        const expected: number[] = []
        let before = 0
        const reads = boxes.map((parts, k): StoredRead => {
          let span = elementBytes
          const axes: AxisIndices[] = []
          for (const { length, gap, listed } of [...parts].reverse()) {
            const step = span + gap
            // The last of a list is one byte further.
            const at = Uint32Array.from({ length }, (_, i) => i * step + (i > 0 && i === length - 1 ? 1 : 0))
            axes.unshift(listed ? at : { start: 0, step, length })
            span += listed ? at.at(-1)! : (length - 1) * step
          }
          const lengths = axes.map((own) => own.length)
          for (let i = 0; i < sizeOf(lengths); i++) {
            const at = 1000 * k + coordsAt(i, lengths).reduce((sum, place, axis) => sum + indexAt(axes[axis]!, place), 0)
            const bytes = [...file.subarray(at, at + elementBytes)]
            expected.push(...(bigEndian ? bytes.reverse() : bytes))
          }
          before += sizeOf(lengths)
          return { offset: 1000 * k, length: span, axes, before: before - sizeOf(lengths) }
        })
        withArena((arena) => {
          const pointer = putStored(arena, { elementBytes, bigEndian, count: before, reads }, ({ offset, length }, into) => {
            expect(into.length).toBe(length)
            into.set(file.subarray(offset, offset + length))
            return true
          })!
          expectSameBytes(arena.bytes(pointer, before * elementBytes), Uint8Array.from(expected))
        })
      },
    ),
    { numRuns: runs(300) },
  )
})

test('a read that cannot be filled gives nothing', () => {
  withArena((arena) => {
    const read = { offset: 0, length: 8, axes: [{ start: 0, step: 4, length: 2 }], before: 0 }
    const elements = { elementBytes: 4, bigEndian: true, count: 4, reads: [read, { ...read, before: 2 }] }
    let left = 1
    expect(putStored(arena, elements, () => left-- > 0)).toBeUndefined()
  })
})
