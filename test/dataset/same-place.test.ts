import { expect, test } from 'vitest'
import { tensorOf } from '../../src/core/tensor.ts'
import { Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { MemoryStore } from '../../src/store/memory.ts'

/** Variables `v(time, x)` and `w(time)`, with labels of time only, along which they are reduced. */
const source = (): Dataset =>
  new Dataset(
    {
      v: {
        dims: ['time', 'x'],
        data: tensorOf(
          'float64',
          [4, 3],
          Float64Array.from({ length: 12 }, (_, i) => i),
        ),
      },
      w: { dims: ['time'], data: Float64Array.of(1, 2, 3, 4) },
    },
    { coords: { time: ['2000-01-01', '2000-01-02', '2000-02-01', '2000-02-02'].map((day) => new Date(day)) } },
  )

type Change = (ds: Dataset) => Dataset
const only = (ds: Dataset): Dataset => ds.drop('w')
const REDUCED = ['sum', 'mean', 'min', 'max', 'std', 'variance', 'median', 'prod', 'count', 'countNonzero', 'any', 'all'] as const

const CHANGES: Record<string, Change> = {
  ...Object.fromEntries(REDUCED.map((kind) => [kind, (ds: Dataset) => only(ds)[kind]({ axis: 'time' })])),
  quantile: (ds) => only(ds).quantile(0.5, { axis: 'time' }),
  'quantile of several shares': (ds) => only(ds).quantile([0.1, 0.9], { axis: 'time' }),
  argMin: (ds) => new Dataset({ v: ds.get('v').argMin({ axis: 'time' }) }).drop(),
  idxMax: (ds) => new Dataset({ v: ds.get('v').idxMax({ axis: 'time' }) }),
  groupBy: (ds) => only(ds).groupBy('time.month').mean(),
  resample: (ds) => only(ds).resample({ time: '1ME' }).mean(),
  weighted: (ds) => new Dataset({ v: ds.get('v').weighted(ds.get('w')).mean({ axis: 'time' }) }),
  'computed from a mean': (ds) => new Dataset({ v: ds.get('v').mean({ axis: 'time' }).add(1) }),
  'labels of extremes of a computed array': (ds) => new Dataset({ v: ds.get('v').sub(1).idxMin({ axis: 'time' }) }),
}

test.each(Object.keys(CHANGES).flatMap((name) => ['nc', 'af', 'zarr'].map((ending) => [name, ending] as const)))(
  'a place is not replaced by what is computed from it: %s in .%s',
  async (name, ending) => {
    const store = new MemoryStore()
    const path = `a.${ending}`
    await source().write({ store, path })
    const before = await snapshot(store)
    await using ds = await openDataset({ store, path })
    const written = CHANGES[name]!(ds).write({ store, path }, { overwrite: true })
    await expect(written).rejects.toThrow(/the same place, or one lies in the other/)
    expect(await snapshot(store)).toEqual(before)
  },
)

async function snapshot(store: MemoryStore): Promise<Record<string, string>> {
  const keys = await store.list('')
  const contents = await Promise.all(keys.map((key) => store.get(key)))
  return Object.fromEntries(keys.map((key, i) => [key, Buffer.from(contents[i]!.bytes).toString('base64')]))
}
