import { expect, test } from 'vitest'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { decodeVariable } from '../../../src/dataset/cf/decode.ts'
import { ChunkGrid } from '../../../src/grid/chunks.ts'
import { CountingSource } from '../../support/counting-source.ts'

/** A variable of days since the year 1, in the standard calendar. */
function daysSince1(...days: number[]): DiskArray {
  const source = new CountingSource(
    { dtype: 'float64', shape: [days.length], data: Float64Array.from(days) },
    ChunkGrid.regular([days.length], [days.length]),
  )
  const attrs = new Map([['units', 'days since 0001-01-01']])
  return decodeVariable({ name: 'time', array: new DiskArray(source), dims: ['time'], attrs }).array
}

test('times of the standard calendar are timestamps, NaN among them NaT', async () => {
  const { data } = await daysSince1(719_164, Number.NaN, 719_165.5).get()
  expect(data).toEqual(BigInt64Array.of(0n, -(2n ** 63n), 129_600_000_000_000n))
})

test('times that 64 bits do not hold are refused, not cut', async () => {
  await expect(daysSince1(719_164, 0).get()).rejects.toMatchObject({
    tag: 'UnsupportedError',
    message: expect.stringContaining("0001-01-01T00:00, of 'days since 0001-01-01', is beyond 64 bits"),
  })
})
