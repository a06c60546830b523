import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDataset } from '../../../src/runtime/dataset.ts'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import { pythonWith } from '../../support/python.ts'
import { RASTERIO } from './support.ts'

const env = pythonWith(RASTERIO)

/** Writes `texts.tif`, and files with a vertical scale of 0.5. Prints the scales and offsets of GDAL. */
const WRITE = `
import json, sys, warnings
import numpy as np, rasterio, tifffile
warnings.simplefilter("ignore")
folder, samples = sys.argv[1], np.array([[1, 2], [3, 4]], "u2")
with rasterio.open(f"{folder}/texts.tif", "w", driver="GTiff", width=2, height=2, count=1, dtype="uint8") as d:
    d.write(np.ones((1, 2, 2), "u1"))
    d.update_tags(A='a<b & c &lt; "q"')
    d.set_band_description(1, "x<y & z")
    d.set_band_unit(1, "m&s")
GEO = [(1024, 0, 1, 2), (1025, 0, 1, 1), (2048, 0, 1, 4326)]
SCALE = '<GDALMetadata><Item name="SCALE" sample="0" role="scale">2</Item></GDALMetadata>'
found = {}
for name, minor, vertical, tie, text in [
    ("vertical", 1, 5773, 0, None), ("tied", 1, 5773, 4, None), ("both", 1, 5773, 0, SCALE),
    ("old", 0, 5773, 0, None), ("flat", 1, None, 0, None), ("ellipsoid", 1, 5030, 0, SCALE),
]:
    keys = GEO + ([(4096, 0, 1, vertical)] if vertical else [])
    numbers = (1, 1, minor, len(keys)) + tuple(number for key in keys for number in key)
    tags = [(33550, "d", 3, (30, 30, 0.5)), (33922, "d", 6, (0, 0, tie, 5, 4, 10)), (34735, "H", len(numbers), numbers)]
    if text:
        tags.append((42112, "s", 0, text))
    tifffile.imwrite(f"{folder}/{name}.tif", samples, extratags=tags, metadata=None)
    with rasterio.open(f"{folder}/{name}.tif") as d:
        found[name] = [d.scales[0], d.offsets[0]]
print(json.dumps(found))
`

describe.skipIf(env === undefined)('as GDAL reads them', () => {
  let folder: string
  let expected: Record<string, [number, number]>
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hyperslab-gdal-'))
    expected = JSON.parse(execFileSync('python3', ['-c', WRITE, folder], { env, encoding: 'utf8' }))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test('texts, descriptions and units with characters of XML', async () => {
    await using file = await openGeotiff(join(folder, 'texts.tif'))
    expect(file.image(0).attrs.get('A')).toBe('a<b & c &lt; "q"')
    expect(file.image(0).bands).toEqual([{ description: 'x<y & z', units: 'm&s' }])
  })

  test.each(['vertical', 'tied', 'both', 'old', 'flat', 'ellipsoid'])(
    'scale and offset of a vertical coordinate system: %s',
    async (name) => {
      const [scale, offset] = expected[name]!
      await using file = await openGeotiff(join(folder, `${name}.tif`))
      const [band] = file.image(0).bands
      expect([band!.scale ?? 1, band!.offset ?? 0]).toEqual([scale, offset])
      await using ds = await openDataset(join(folder, `${name}.tif`))
      const values = [...((await Object.values(ds.variables)[0]!.values()) as Float64Array)]
      expect(values.map(Number)).toEqual([1, 2, 3, 4].map((value) => value * scale + offset))
    },
  )

  test('the cases differ', () => {
    expect(expected).toEqual({
      vertical: [0.5, 10],
      tied: [0.5, 8],
      both: [0.5, 10],
      old: [1, 0],
      flat: [1, 0],
      ellipsoid: [2, 0],
    })
  })
})
