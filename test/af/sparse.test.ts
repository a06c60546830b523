import fc from 'fast-check'
import { expect, test } from 'vitest'
import { create, findWhere, MemoryStore, slice } from '../../src/runtime/index.ts'

/** Enough chunks for runs of missing ones not to be looked up one by one. */
const SHAPE = [140, 70]

const someCase = fc.record({
  dtype: fc.constantFrom('int32' as const, 'float64' as const, 'int64' as const),
  chunkShape: fc.constantFrom([1, 1], [1, 2], [2, 1]),
  fill: fc.constantFrom(undefined, 3, -2),
  cells: fc.array(fc.tuple(fc.nat(139), fc.nat(69), fc.integer({ min: -9, max: 9 })), { maxLength: 12 }),
  flushes: fc.nat(2),
  start: fc.tuple(fc.nat(3), fc.nat(3)),
  step: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 2 })),
})

test('of an array of which little is stored all reads are what a plain array gives', async () => {
  await fc.assert(
    fc.asyncProperty(someCase, async ({ dtype, chunkShape, fill, cells, flushes, start, step }) => {
      const wide = dtype === 'int64'
      const value = (x: number): never => (wide ? BigInt(x) : x) as never
      await using file = await create({ store: new MemoryStore(), path: 'x.af' })
      const x = file.createArray('x', {
        dtype,
        shape: SHAPE,
        chunks: chunkShape,
        ...(fill !== undefined && { fillValue: value(fill) }),
      })
      const plain = Array.from({ length: SHAPE[0]! }, () => new Array<number>(SHAPE[1]!).fill(fill ?? 0))
      for (const [i, [row, column, cell]] of cells.entries()) {
        if (flushes > 0 && i % 4 === 3) await file.flush()
        await x.set([row, column], value(cell))
        plain[row]![column] = cell
      }
      if (flushes > 1) await file.flush()
      const selected = plain
        .filter((_, i) => i >= start[0] && (i - start[0]) % step[0] === 0)
        .map((row) => row.filter((_, k) => k >= start[1] && (k - start[1]) % step[1] === 0))
      const selection = [slice(start[0], null, step[0]), slice(start[1], null, step[1])] as const
      const read = (await x.get(selection)) as { data: ArrayLike<number | bigint> }
      expect(Array.from(read.data, Number)).toEqual(selected.flat())
      expect(Array.from((await x.get()).data, Number)).toEqual(plain.flat())
      const view = x.view(selection)
      const all = selected.flat()
      const keep = { skipMissing: false, ignoreStats: true }
      expect(Number(await view.sum(keep))).toBe(all.reduce((a, b) => a + b, 0))
      expect(Number(await view.min(keep))).toBe(Math.min(...all))
      const taken = fill === undefined ? all : all.filter((each) => each !== fill)
      expect(Number(await view.sum({ skipMissing: true }))).toBe(taken.reduce((a, b) => a + b, 0))
      const columns = await view.sum({ axis: 0, ...keep })
      expect(Array.from(columns.data as ArrayLike<number>, Number)).toEqual(
        selected[0]!.map((_, k) => selected.reduce((sum, row) => sum + row[k]!, 0)),
      )
      const rows = await view.max({ axis: 1, ...keep })
      expect(Array.from(rows.data as ArrayLike<number>, Number)).toEqual(selected.map((row) => Math.max(...row)))
      const mean = all.reduce((a, b) => a + b, 0) / all.length
      const variance = all.reduce((sum, each) => sum + (each - mean) ** 2, 0) / all.length
      expect(await view.variance(keep)).toBeCloseTo(variance, 9)
      const least = all.indexOf(Math.min(...all))
      expect(await view.argMin(keep)).toBe(least)
      expect(await findWhere(x, { min: 1 }, { skipMissing: false }).count()).toBe(plain.flat().filter((each) => each >= 1).length)
      const found = await findWhere(x, { min: 3 }, { skipMissing: false }).all()
      expect([...found.positions].sort((a, b) => a - b)).toEqual(plain.flat().flatMap((each, i) => (each >= 3 ? [i] : [])))
    }),
    { numRuns: 25 },
  )
})
