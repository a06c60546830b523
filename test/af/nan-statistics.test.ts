import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeStatsFile } from '../../src/af/stats-file.js'
import { MemoryStore } from '../../src/runtime/index.js'
import { createWithBase as create } from '../support/containers.js'

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
      await file.define('x', { dtype: 'float64', shape: [bits.length], chunkShape: [2] }).set(null, values)
      await file.flush()
      const bytes = (await store.getRange('a.stats', 0, (await store.stat('a.stats'))!.size))!
      const [{ min, max }] = decodeStatsFile(bytes).arrays as never as [Record<'min' | 'max', { bits: bigint }>]
      const sorted = bits.map((one) => order.indexOf(one)).sort((a, b) => a - b)
      expect([min.bits, max.bits]).toEqual([order[sorted[0]!], order[sorted.at(-1)!]])
    }),
    { numRuns: 300 },
  )
})
