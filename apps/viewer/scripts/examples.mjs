// Creates the example files of the page from the demo's real data, small and packed into 16 bits.
import { readFileSync } from 'node:fs'

const DATA = new URL('../../../demo/data/tas_rectilinear_grid_2D.nc', import.meta.url)
const PACKING = { dtype: 'int16', _FillValue: -32768 }

/** @returns the bytes of each file by name */
export async function makeExamples() {
  const { MemoryStore } = await import('../../../dist/index.js')
  const { Dataset, openDataset } = await import('../../../dist/dataset.js')
  const all = await openDataset(readFileSync(DATA))
  const store = new MemoryStore()
  const write = async (path, array, encoding) => {
    const dataset = new Dataset(
      { tas: array },
      { attrs: { source: 'MPI-ESM-LR, historical, r1i1p1 (Max Planck Institute for Meteorology)' } },
    )
    await dataset.write({ store, path }, { chunks: { time: 1 }, codec: 'zstd', encoding: { tas: { ...PACKING, ...encoding } } })
  }
  const tas = all.get('tas')
  await write('temperature.af', tas, { scale_factor: 0.1, add_offset: 260 })
  const coarse = tas.coarsen({ lat: 2, lon: 2 }).mean()
  const anomaly = coarse.sub(coarse.mean({ axis: 'time' })).assignAttrs({
    long_name: 'Difference of near-surface air temperature from the mean of the year',
    units: 'K',
  })
  await write('anomaly.af', anomaly, { scale_factor: 0.05, add_offset: 0 })
  await all.close()
  return Promise.all(['temperature.af', 'anomaly.af'].map(async (path) => [path, await bytesOf(store, path)]))
}

async function bytesOf(store, path) {
  const { size } = await store.stat(path)
  return store.getRange(path, 0, size)
}
