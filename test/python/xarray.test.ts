import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startScript } from '../../scripts/python.mjs'
import { openDataset } from '../../src/runtime/dataset.ts'
import { importNetcdf } from '../../src/runtime/netcdf.ts'
import { zarrPython } from '../support/python.ts'

const env = zarrPython()
const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const TOS = file('../fixtures/nc/tos_ocean_bipolar_grid.nc')
const TAS = file('../../demo/data/tas_rectilinear_grid_2D.nc')

test.skipIf(env === undefined)('xarray opens containers of real files as it does these', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hyperslab-xarray-'))
  const python = startScript(file('with_xarray.py'), env!)
  try {
    for (const [netcdf, variable, codec] of [
      [TAS, 'tas', 'lz4'],
      [TOS, 'tos', 'zstd'],
    ] as const) {
      const container = join(folder, `${variable}.af`)
      await importNetcdf(netcdf, container, { codec, chunks: { time: 1 } })
      const imported = await python.ask({ netcdf, container, variable })
      expect(imported.attrs).toEqual(imported.want)
      expect(imported.lazy).toContain(variable)
      // Labels decoded and encoded again here give the same.
      const written = join(folder, `${variable}-written.af`)
      await using ds = await openDataset(netcdf)
      await ds.write(written)
      const again = await python.ask({ netcdf, container: written, variable })
      expect(again.mean).toBe(imported.mean)
      expect(again.variables).toEqual(imported.variables)
    }
  } finally {
    python.close()
    await rm(folder, { recursive: true })
  }
})
