import { expect, test } from 'vitest'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { decodeVariable } from '../../../src/dataset/cf/decode.ts'
import { openDataset } from '../../../src/dataset/open/open-dataset.ts'
import { ChunkGrid } from '../../../src/grid/chunks.ts'
import { CountingSource } from '../../support/counting-source.ts'
import { writeNetcdf } from '../../support/netcdf-writer.ts'

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

test('a missing time makes no other label less exact', async () => {
  const file = writeNetcdf({
    dimensions: [['time', 3]],
    variables: [
      {
        name: 'time',
        type: 'float',
        dimensions: ['time'],
        attributes: [{ name: 'units', type: 'char', value: 'seconds since 1970-01-01' }],
        values: [0, 0.5, Number.NaN],
      },
      { name: 'v', type: 'int', dimensions: ['time'], values: [1, 2, 3] },
    ],
  })
  const ds = await openDataset(new Blob([file as never]))
  for (const [label, value] of [
    ['1970-01-01T00:00:00.000000', 1],
    ['1970-01-01T00:00:00.500000', 2],
  ] as const)
    expect(
      Array.from(
        await ds
          .get('v')
          .sel({ time: [label] })
          .values(),
      ),
    ).toEqual([value])
})
