import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { DiskArray } from '../../src/array/disk-array.ts'
import { type ArrayOptions, create, type FileArray, MemoryStore, open, slice } from '../../src/runtime/index.ts'
import { runs } from '../support/budget.ts'

/** With exact numbers, of small integers. */
function plainly(values: readonly number[], ddof = 0): number {
  const sum = values.reduce((a, b) => a + b, 0)
  const squares = values.reduce((a, b) => a + b * b, 0)
  return values.length > ddof ? (squares - (sum * sum) / values.length) / (values.length - ddof) : Number.NaN
}

const near = (actual: number, expected: number): boolean =>
  Object.is(actual, expected) || Math.abs(actual - expected) <= 1e-12 * Math.max(1, expected)

/** Returns an array of 12 by 10 in chunks of 3 by 4, a block each, whose last rows are unwritten. */
async function stored(
  options: Partial<ArrayOptions>,
  rows: number,
  value: (i: number) => number,
): Promise<{ array: FileArray } & AsyncDisposable & { blocks(): number }> {
  const where = { store: new MemoryStore(), path: 'a.af' }
  await using writer = await create(where, { blockBytes: 1 })
  const array = writer.createArray('x', {
    dtype: 'float32',
    shape: [12, 10],
    chunks: [3, 4],
    dimensionNames: ['y', 'x'],
    ...options,
  })
  await array.set(
    [slice(0, rows)],
    Float64Array.from({ length: rows * 10 }, (_, i) => value(i)),
  )
  await writer.flush()
  const file = await open(where)
  return { array: file.array('x'), blocks: () => file.readCost.blocks, [Symbol.asyncDispose]: () => file.close() }
}

describe('variances of a container', () => {
  test('read each block once, and nothing of what nobody wrote', async () => {
    const at = (y: number, x: number): number => (y < 6 ? ((y * 10 + x) * 7) % 11 : 4)
    await using file = await stored({ fillValue: 4 }, 6, (i) => at(Math.floor(i / 10), i % 10))
    const { array, blocks } = file
    const all = Array.from({ length: 120 }, (_, i) => at(Math.floor(i / 10), i % 10))
    expect(near(await array.variance({ skipMissing: false }), plainly(all))).toBe(true)
    expect(blocks()).toBe(6)
    expect(
      near(
        await array.std({ ddof: 1 }),
        Math.sqrt(
          plainly(
            all.filter((v) => v !== 4),
            1,
          ),
        ),
      ),
    ).toBe(true)
    expect(blocks()).toBe(12)
    const { data } = await array.variance({ axis: 'y', skipMissing: false })
    data.forEach((value, x) => {
      expect(near(value, plainly(Array.from({ length: 12 }, (_, y) => at(y, x))))).toBe(true)
    })
    expect(blocks()).toBe(18)
  })

  test('of views with steps, transposed, along any axes', async () => {
    const range = fc.record({ start: fc.nat(4), length: fc.integer({ min: 1, max: 5 }), step: fc.integer({ min: 1, max: 3 }) })
    const axes = fc.constantFrom<number[] | undefined>(undefined, [0], [1], [0, 1], [])
    await fc.assert(
      fc.asyncProperty(fc.tuple(range, range), axes, fc.boolean(), fc.boolean(), async (ranges, axis, turned, skipNaN) => {
        await using file = await stored({}, 12, (i) => (i % 13 === 5 ? Number.NaN : 1000 + ((i * i) % 29)))
        const picks = ranges.map(({ start, length, step }, k) =>
          slice(start, Math.min([12, 10][k]!, start + length * step), step),
        )
        const cut = file.array.view(picks)
        const view = (turned ? cut.transpose([1, 0]) : cut) as unknown as DiskArray<'float32'>
        const options = { skipNaN, ...(axis && { axis }) }
        const [rows, columns] = view.shape as [number, number]
        const { data } = await view.get()
        const members = new Map<number, number[]>()
        for (let i = 0; i < rows * columns; i++) {
          const [y, x] = [axis?.includes(0) || !axis ? 0 : Math.floor(i / columns), axis?.includes(1) || !axis ? 0 : i % columns]
          const cell = y * columns + x
          members.set(cell, [...(members.get(cell) ?? []), ...(skipNaN && Number.isNaN(data[i]) ? [] : [data[i]!])])
        }
        const found = await view.variance(options)
        const values = typeof found === 'number' ? [found] : [...(found as { data: Float64Array }).data]
        expect(values.length).toBe(members.size)
        for (const [k, list] of [...members.values()].entries())
          expect(Math.abs(values[k]! - plainly(list)) <= 1e-9 || Object.is(values[k]!, plainly(list))).toBe(true)
      }),
      { numRuns: runs(200) },
    )
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('are NaN where %d is, written or not', async (value) => {
    await using written = await stored({}, 12, (i) => (i === 37 ? value : 1))
    await using missing = await stored({ fillValue: value }, 6, () => 1)
    for (const { array } of [written, missing]) {
      expect(await array.variance({ skipMissing: false })).toBeNaN()
      expect((await array.variance({ axis: 'y', skipMissing: false })).data[7]).toBeNaN()
      expect((await array.variance({ axis: 'x', skipMissing: false })).data[0]).toBe(0)
    }
    expect(await missing.array.variance()).toBe(0)
    expect((await missing.array.variance({ axis: 'x' })).data[11]).toBeNaN()
  })

  test('of the greatest numbers, which nobody wrote, are 0', async () => {
    await using file = await create({ store: new MemoryStore(), path: 'a.af' })
    const array = file.createArray('x', { dtype: 'float64', shape: [100, 30], chunks: [50, 10], fillValue: Number.MAX_VALUE })
    expect(await array.variance({ skipMissing: false })).toBe(0)
    expect([...(await array.variance({ axis: 0, skipMissing: false })).data]).toEqual(new Array(30).fill(0))
  })

  test('far from zero keep their digits, in parts as in whole', async () => {
    const value = (i: number): number => 1e8 + (i % 3)
    await using file = await stored({ dtype: 'float64' }, 12, value)
    const exact = plainly(Array.from({ length: 120 }, (_, i) => i % 3))
    expect(Math.abs((await file.array.variance()) - exact)).toBeLessThan(1e-14 * exact * 1e3)
  })

  // Long enough for the blocks to be reduced where they are decoded.
  test.each(['float32', 'int16', 'uint64', 'bool'] as const)('of %s along an axis, block by block', async (dtype) => {
    const [rows, columns, written] = [200, 6, 130]
    const at = (y: number, x: number): number => (y < written ? (y * 31 + x * 7) % (dtype === 'bool' ? 2 : 23) : 1)
    const where = { store: new MemoryStore(), path: 'a.af' }
    await using writer = await create(where, { blockBytes: 1 })
    const fillValue = (dtype === 'bool' ? true : dtype === 'uint64' ? 1n : 1) as never
    const array = writer.createArray('x', { dtype, shape: [rows, columns], chunks: [50, 4], fillValue })
    const value = (i: number): unknown => {
      const x = at(Math.floor(i / columns), i % columns)
      return dtype === 'bool' ? x === 1 : dtype === 'uint64' ? BigInt(x) : x
    }
    await array.set([slice(0, written)], Array.from({ length: written * columns }, (_, i) => value(i)) as never)
    await writer.flush()
    await using file = await open(where)
    for (const step of [1, 2])
      for (const skipMissing of [false, true]) {
        const view = file.array('x').view([slice(3, rows, step), slice(1, columns)])
        const before = file.readCost.blocks
        const { data } = (await view.variance({ axis: 0, skipMissing, ddof: 1 })) as { data: Float64Array }
        expect(file.readCost.blocks - before).toBe(6)
        const expected = Array.from({ length: columns - 1 }, (_, x) => {
          const column = Array.from({ length: Math.ceil((rows - 3) / step) }, (_, y) => at(3 + y * step, x + 1))
          return plainly(skipMissing ? column.filter((x) => x !== 1) : column, 1)
        })
        for (const [x, found] of data.entries()) expect(near(found, expected[x]!), `${found} for ${expected[x]}`).toBe(true)
      }
  })
})
