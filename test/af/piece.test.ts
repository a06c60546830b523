import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allocate, isBigInt } from '../../src/core/dtype.ts'
import { eachIndex, sizeOf } from '../../src/core/shape.ts'
import { create, MemoryStore, open } from '../../src/runtime/index.ts'
import { grids, numbered, numericDTypes } from '../support/arbitraries.ts'
import { runs } from '../support/budget.ts'
import { pick } from '../support/oracle.ts'

const shapes = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 })

const cases = shapes.chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    grid: grids(shape, false),
    dtype: numericDTypes,
    codec: fc.constantFrom('lz4', 'none'),
    blockBytes: fc.constantFrom(1, 64, 1 << 20),
    box: fc.tuple(
      ...shape.map((length) =>
        fc
          .tuple(fc.nat(length - 1), fc.nat(length - 1))
          .map(([a, b]) => ({ start: Math.min(a, b), stop: Math.max(a, b) + 1, step: 1 })),
      ),
    ),
    /**
     * Layout of the target in memory: outermost axis first, backwards or not, with so many elements apart.
     */
    order: fc.shuffledSubarray(
      shape.map((_, axis) => axis),
      { minLength: shape.length },
    ),
    layout: fc.tuple(
      ...shape.map(() => fc.record({ backwards: fc.boolean(), gap: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 3 })) })),
    ),
  }),
)

test('a box goes to a target of any layout, and nowhere else', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ shape, grid, dtype, codec, blockBytes, box, order, layout }) => {
      const plain = numbered(dtype, shape)
      const where = { store: new MemoryStore(), path: 'a.af' }
      await using writer = await create(where, { codec, blockBytes })
      await writer.createArray('x', { dtype, shape, chunks: grid.chunkShape }).set(null, plain.data)
      await writer.flush()

      const boxShape = box.map(({ start, stop }) => stop - start)
      const stride = new Array<number>(shape.length)
      let [span, offset] = [1, 1]
      for (const axis of [...order].reverse()) {
        const { backwards, gap } = layout[axis]!
        stride[axis] = span * gap * (backwards ? -1 : 1)
        if (backwards) offset += (boxShape[axis]! - 1) * span * gap
        span *= boxShape[axis]! * gap
      }
      const sentinel = isBigInt(dtype) ? 77n : 77
      const data = allocate(dtype, span + 2).fill(sentinel as never)
      const expected = data.slice()
      const { flat } = pick(
        shape,
        box.map(({ start, stop }) => ({ start, stop, step: 1 })),
      )
      let i = 0
      eachIndex(boxShape, (index) => {
        const at = index.reduce((sum, k, axis) => sum + k * stride[axis]!, offset)
        expected[at] = plain.data[flat[i++]!] as never
      })
      expect(i).toBe(sizeOf(boxShape))

      await using file = await open(where)
      await file.array('x', dtype).source.readBlock(box, { data, shape: boxShape, stride, offset })
      expect([...data]).toEqual([...expected])
    }),
    { numRuns: runs(500) },
  )
})
