import { expect, test } from 'vitest'
import { tensorOf } from '../../../src/core/tensor.ts'
import { Dataset, openDataset } from '../../../src/runtime/dataset.ts'
import { MemoryStore } from '../../../src/store/memory.ts'

const UNITS = 'days since 1850-01-01'

test.each([
  ['noleap', {}],
  ['noleap', { units: UNITS }],
  ['noleap', { units: UNITS, calendar: 'noleap' }],
  ['360_day', { units: UNITS }],
  ['julian', { units: UNITS }],
  ['standard', { units: UNITS }],
])('bounds of a %s time with %j are of its calendar, also in a copy', async (calendar, attrs) => {
  const store = new MemoryStore()
  const days = calendar === '360_day' ? 360 : 365
  const ds = new Dataset({
    time: { dims: ['t'], data: Float64Array.of(150 * days), attrs: { units: UNITS, calendar, bounds: 'time_bnds' } },
    time_bnds: { dims: ['t', 'nv'], data: tensorOf('float64', [1, 2], Float64Array.of(150 * days, 150 * days + 1)), attrs },
  })
  await ds.write({ store, path: 'a.nc' })
  await using first = await openDataset({ store, path: 'a.nc' })
  await first.write({ store, path: 'b.nc' })
  for (const path of ['a.nc', 'b.nc']) {
    await using opened = await openDataset({ store, path })
    const [time, bounds] = [opened.get('time'), opened.get('time_bnds')]
    expect(bounds.dtype).toBe(time.dtype)
    const dates = (values: ArrayLike<unknown>): unknown[] => Array.from(values)
    expect(dates((await bounds.values()) as ArrayLike<unknown>)[0]).toEqual(dates((await time.values()) as ArrayLike<unknown>)[0])
    expect(bounds.toString()).not.toMatch(/Error/)
  }
})
