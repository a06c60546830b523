// Files that the programs of docs/guide.md read, for the site and for the test of the page.
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TAS = fileURLToPath(new URL('../demo/data/tas_rectilinear_grid_2D.nc', import.meta.url))

/** Writes the files into a folder; `openDataset` is that of the sources or of the built package. */
export async function layOutData(folder, openDataset) {
  await copyFile(TAS, join(folder, 'tas.nc'))
  const ds = await openDataset(TAS)
  const middle = ds.dims.lat / 2
  const half = (from) => ds.isel({ lat: Array.from({ length: middle }, (_, i) => from + i) })
  await half(0).write(join(folder, 'south.af'))
  await half(middle).write(join(folder, 'north.af'))
  await ds.close()
}
