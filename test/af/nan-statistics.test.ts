import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeStatsFile } from '../../src/af/format/stats-file.ts'
import { MemoryStore, open } from '../../src/runtime/index.ts'
import { runs } from '../support/budget.ts'
import { createWithBase as create } from '../support/containers.ts'

const POSITIVE = 0x7ff8000000000000n
const NEGATIVE = 0xfff8000000000000n
/** By their bits: a NaN that is handed around as a number may lose its sign. */
const NUMBERS = [Number.NEGATIVE_INFINITY, -2, 0.5, 3].map((value) => new BigUint64Array(new Float64Array([value]).buffer)[0]!)
const elements = fc.array(fc.constantFrom(NEGATIVE, ...NUMBERS, POSITIVE), { minLength: 1, maxLength: 7 })

test('statistics are stored with NaNs at the ends, by their signs', async () => {
  const order = [NEGATIVE, ...NUMBERS, POSITIVE]
  await fc.assert(
    fc.asyncProperty(elements, async (bits) => {
      const store = new MemoryStore()
      await using file = await create({ store, path: 'a.af' })
      const values = new Float64Array(BigUint64Array.from(bits).buffer)
      await file.createArray('x', { dtype: 'float64', shape: [bits.length], chunks: [2] }).set(null, values)
      await file.flush()
      const bytes = (await store.getRange('a.stats', 0, (await store.stat('a.stats'))!.size))!
      const [{ min, max }] = decodeStatsFile(bytes).arrays as never as [Record<'min' | 'max', { bits: bigint }>]
      const sorted = bits.map((one) => order.indexOf(one)).sort((a, b) => a - b)
      expect([min.bits, max.bits]).toEqual([order[sorted[0]!], order[sorted.at(-1)!]])
    }),
    { numRuns: runs(300) },
  )
})

/** With plain arithmetic. */
function plainly(values: readonly number[], fill: number | undefined) {
  const isNull = (value: number) => value === fill || (Number.isNaN(value) && Number.isNaN(fill))
  const rest = values.filter((value) => !isNull(value))
  const numbers = rest.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b)
  return {
    min: numbers[0],
    max: numbers.at(-1),
    nullCount: values.length - rest.length,
    nanCount: rest.length - numbers.length,
    rowCount: values.length,
  }
}

describe('statistics of arrays with NaNs', () => {
  test('count them apart, before and after a flush, of a file that was opened and of one without stored ones', async () => {
    const fills = fc.constantFrom(undefined, Number.NaN, -2)
    await fc.assert(
      fc.asyncProperty(elements, fills, fc.constantFrom('float32', 'float64'), async (bits, fill, dtype) => {
        const values = new Float64Array(BigUint64Array.from(bits).buffer)
        const where = { store: new MemoryStore(), path: 'a.af' }
        const expected = plainly([...values], fill)
        await using file = await create(where)
        const fillValue = fill === undefined ? {} : { fillValue: fill }
        await file.createArray('x', { dtype, shape: [values.length], chunks: [2], ...fillValue }).set(null, values)
        expect(await file.stats('x')).toEqual(expected)
        await file.flush()
        expect(await file.stats('x')).toEqual(expected)
        for (const stored of [true, false]) {
          if (!stored) await where.store.delete('a.stats')
          await using reader = await open(where)
          expect(await reader.stats('x')).toEqual(expected)
          expect(reader.readCost.blocks).toBe(0)
        }
      }),
      { numRuns: runs(150) },
    )
  })
})
