import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { create, createPool, findWhere, MemoryStore, open } from '../../src/runtime/index.ts'
import { isQuick, runs } from '../support/budget.ts'
import { pick } from '../support/oracle.ts'
import { type Element, layered, same, values, write } from './layered.ts'

const cases = layered.chain((history) =>
  fc.record({
    history: fc.constant(history),
    min: fc.option(
      values(history.dtype).filter((value) => !Number.isNaN(value)),
      { nil: undefined },
    ),
    max: fc.option(
      values(history.dtype).filter((value) => !Number.isNaN(value)),
      { nil: undefined },
    ),
    skipMissing: fc.boolean(),
    limit: fc.nat(20),
  }),
)

describe('where', () => {
  test('finds what comparing every element finds, and reads no chunk that its statistics rule out', async () => {
    let ruledOut = 0
    await fc.assert(
      fc.asyncProperty(cases, async ({ history, min, max, skipMissing, limit }) => {
        const { shape, fill } = history
        const { file, array, plain, grid, missing, unknown } = await write({ ...history, blockBytes: 1 })
        await using _ = file
        const elements = [...(plain.data as Iterable<Element>)]
        const isFill = (value: Element): boolean => fill !== null && same(value, fill)
        const matches = (value: Element): boolean =>
          !Number.isNaN(value) && (min === undefined || value >= min) && (max === undefined || value <= max)
        const wanted = (value: Element): boolean => matches(value) && !(skipMissing && isFill(value))
        const expected = elements.flatMap((value, position) => (wanted(value) ? [position] : []))
        const empty = min !== undefined && max !== undefined && min > max
        let [reads, countReads] = [0, 0]
        for (let number = 0; number < grid.count; number++) {
          if (missing.has(number) || empty) continue
          const selection = grid.box(grid.index(number)).map(({ start, stop }) => ({ start, stop, step: 1 }))
          const chunk = pick(shape, selection).flat.map((at) => elements[at]!)
          const numbers = chunk.filter((value) => !Number.isNaN(value) && !isFill(value))
          const below = numbers.some((value) => min !== undefined && value < min)
          const above = numbers.some((value) => max !== undefined && value > max)
          const ends = {
            out:
              numbers.every((value) => min !== undefined && value < min) ||
              numbers.every((value) => max !== undefined && value > max),
            in: !below && !above,
          }
          const fills = !skipMissing && fill !== null && matches(fill) && chunk.some(isFill)
          if (unknown.has(number) || !ends.out || fills) reads++
          else ruledOut++
          if (unknown.has(number) || !(ends.out || ends.in)) countReads++
        }
        const query = findWhere(array, { ...(min !== undefined && { min }), ...(max !== undefined && { max }) }, { skipMissing })
        let before = file.readCost.blocks
        const found: [number, Element][] = []
        for await (const { box, positions, indices, values } of query) {
          expect(box).toEqual(grid.box(box.map(({ start }, axis) => grid.axes[axis]!.find(start))))
          expect(positions.length).toBe(values.length)
          for (const [i, position] of positions.entries()) {
            const at = indices.map((axis) => axis[i]!)
            expect(box.every(({ start, stop }, axis) => at[axis]! >= start && at[axis]! < stop)).toBe(true)
            expect(at.reduce((sum, k, axis) => sum * shape[axis]! + k, 0)).toBe(position)
            found.push([position, values[i] as Element])
          }
          expect([...positions].sort((a, b) => a - b)).toEqual([...positions])
        }
        expect(file.readCost.blocks - before).toBe(reads)
        const sorted = found.sort(([a], [b]) => a - b)
        expect(sorted.map(([position]) => position)).toEqual(expected)
        for (const [position, value] of sorted) expect(value).toBe(elements[position])
        before = file.readCost.blocks
        expect(await query.count()).toBe(expected.length)
        expect(file.readCost.blocks - before).toBe(countReads)
        const some = await query.all({ limit })
        expect(some.positions.length).toBe(Math.min(limit, expected.length))
        expect(some.complete).toBe(expected.length < limit)
        expect(new Set(some.positions).size).toBe(some.positions.length)
        some.positions.forEach((position, i) => {
          expect(elements[position]).toBe(some.values[i])
          expect(wanted(elements[position]!)).toBe(true)
        })
      }),
      { numRuns: runs(500) },
    )
    // With fewer cases, `ruledOut` varies more.
    expect(ruledOut).toBeGreaterThan(isQuick ? 5 : 50)
  })

  test('reads each block once, also where blocks are mixed among chunks, without a cache', async () => {
    const place = { store: new MemoryStore(), path: 'a.af' }
    await using writer = await create(place, { blockBytes: 400 })
    const array = writer.createArray('x', { dtype: 'float32', shape: [100], chunks: [10] })
    for (const first of [0, 1]) {
      for (let chunk = first; chunk < 10; chunk += 2) {
        const ten = Float32Array.from({ length: 10 }, (_, i) => 10 * chunk + i)
        await array.set([{ start: 10 * chunk, stop: 10 * chunk + 10, step: 1 }], ten)
      }
      await writer.flush()
    }
    await using file = await open(place, { cacheBytes: 0 })
    const { positions, complete } = await findWhere(file.array('x'), { min: 5.5, max: 84 }).all()
    expect([[...positions].sort((a, b) => a - b), complete]).toEqual([Array.from({ length: 79 }, (_, i) => i + 6), true])
    expect(file.readCost.blocks).toBe(2)
  })

  test('finds the same with a pool', async () => {
    const place = { store: new MemoryStore(), path: 'a.af' }
    await using writer = await create(place, { blockBytes: 1 })
    const values = Int32Array.from({ length: 5000 }, (_, i) => (i * 7919) % 5000)
    await writer.createArray('x', { dtype: 'int32', shape: [50, 100], chunks: [7, 100] }).set(null, values)
    await writer.flush()
    await using pool = createPool({ size: 2 })
    const results: unknown[] = []
    for (const more of [{}, { pool }]) {
      await using file = await open(place, more)
      results.push(await findWhere(file.array('x'), { min: 100, max: 3000 }).all(), file.readCost)
    }
    expect(results.slice(2)).toEqual(results.slice(0, 2))
    expect(pool.inlineReason).toBeUndefined()
  })

  test('stops reading when nobody wants more', async () => {
    const place = { store: new MemoryStore(), path: 'a.af' }
    await using writer = await create(place, { codec: 'none', blockBytes: 2 ** 20 })
    const array = writer.createArray('x', { dtype: 'float64', shape: [32, 2 ** 17], chunks: [1, 2 ** 17] })
    for (let row = 0; row < 32; row++) await array.set([row], row)
    await writer.flush()
    await using file = await open(place, { cacheBytes: 0 })
    const { positions, complete } = await findWhere(file.array('x'), {}).all({ limit: 5 })
    expect([[...positions], complete]).toEqual([[0, 1, 2, 3, 4], false])
    // The search reads at most 16 of the 32 blocks, each of 1 MiB: two rounds of 8.
    expect(file.readCost.blocks).toBeLessThanOrEqual(16)
    const controller = new AbortController()
    const seen: number[] = []
    await expect(
      (async () => {
        for await (const { box } of findWhere(file.array('x'), {}, { signal: controller.signal })) {
          seen.push(box[0]!.start)
          if (seen.length === 3) controller.abort(new Error('enough'))
        }
      })(),
    ).rejects.toThrow('enough')
    expect(seen.length).toBeLessThan(25)
  })

  test('errors name file and array', async () => {
    const place = { store: new MemoryStore(), path: 'a.af' }
    await using file = await create(place)
    const text = file.createArray('text', { dtype: 'string', shape: [1] })
    const numbers = file.createArray('numbers', { dtype: 'int64', shape: [1] })
    expect(() => findWhere(text, {})).toThrow(
      expect.objectContaining({ tag: 'UnsupportedError', details: { file: 'memory:a.af', array: 'text', actual: 'string' } }),
    )
    for (const min of [Number.NaN, '1', null, new Date()])
      expect(() => findWhere(numbers, { min: min as never })).toThrow(expect.objectContaining({ tag: 'InvalidArgumentError' }))
    await expect(findWhere(numbers, {}).all({ limit: -1 })).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      details: { array: 'numbers' },
    })
    await file.close()
    await expect(findWhere(numbers, {}).count()).rejects.toMatchObject({ tag: 'ClosedError', details: { array: 'numbers' } })
  })
})
