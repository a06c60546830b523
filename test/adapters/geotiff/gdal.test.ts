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

/** Spellings of the missing value. */
const SPELLINGS = [
  ...[
    '-1.#IND',
    '1.#QNAN',
    'nan',
    'NaN',
    '-nan',
    'inf',
    '-inf',
    '1.#INF',
    '-1.#INF',
    'infinity',
    'Infinity',
    '-Infinity',
    '+Infinity',
    '+nan',
    '5,0',
    '5.0',
    '0x10',
    '5abc',
  ],
  ...[
    'abc',
    ' 7 ',
    '1e3',
    '1e',
    '+5',
    '300',
    '-1',
    '.5',
    '1d3',
    '5;6',
    '1e400',
    '-3.4e38',
    '1,5',
    '--5',
    '256',
    '1 2',
    '-9999.0',
  ],
]
/** Spellings of scale and offset: those that GDAL reads as usable numbers, and others. */
const SCALES = ['2,5', '5abc', '-2', '1 2', '0.5e1']
const DAMAGED = ['0', 'abc', 'nan', '1e400', 'inf', '0x10']

/** Writes files with spellings of missing values and scales. Prints what GDAL reads. */
const SPELL = `
import json, sys, warnings
import numpy as np, rasterio, tifffile
warnings.simplefilter("ignore")
folder, spellings, scales = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
found = {"nodata": {}, "scales": {}}
for dtype in ["float32", "float64", "uint8", "int16"]:
    for i, text in enumerate(spellings):
        path = f"{folder}/{dtype}-{i}.tif"
        tifffile.imwrite(path, np.zeros((2, 2), dtype), extratags=[(42113, "s", 0, text, True)], metadata=None)
        with rasterio.open(path) as d:
            found["nodata"][f"{dtype}-{i}"] = None if d.nodata is None else str(d.nodata)
for i, text in enumerate(scales):
    items = "".join(f'<Item name="x" sample="0" role="{role}">{text}</Item>' for role in ["scale", "offset"])
    tags = [(42112, "s", 0, f"<GDALMetadata>{items}</GDALMetadata>", True)]
    tifffile.imwrite(f"{folder}/scale-{i}.tif", np.array([[1, 2], [3, 4]], "i2"), extratags=tags, metadata=None)
    with rasterio.open(f"{folder}/scale-{i}.tif") as d:
        found["scales"][text] = [str(d.scales[0]), str(d.offsets[0])]
print(json.dumps(found))
`

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
with rasterio.open(f"{folder}/many.tif", "w", driver="GTiff", width=1, height=1, count=1100, dtype="uint8") as d:
    d.write(np.ones((1100, 1, 1), "u1"))
    d.scales = [2 + i for i in range(1100)]
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
  }, 60_000)
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

  test('more than 1024 bands that differ stay one variable, with the samples as they are stored', async () => {
    await using file = await openGeotiff(join(folder, 'many.tif'))
    expect(file.image(0).bands[1099]!.scale).toBe(1101)
    await using ds = await openDataset(join(folder, 'many.tif'))
    expect(Object.keys(ds.variables)).toEqual(['image'])
    const { attrs, shape } = ds.get('image')
    expect([shape, attrs['scale_factor']]).toEqual([[1100, 1, 1], undefined])
    expect(attrs['long_name']).toMatch(/more than 1024 bands differ in scale/)
    expect(Number(await ds.get('image').isel({ band: 7, y: 0, x: 0 }).get())).toBe(1)
  })

  test('missing values, scales and offsets in any spelling', { timeout: 60_000 }, async () => {
    const scales = [...SCALES, ...DAMAGED]
    const args = ['-c', SPELL, folder, JSON.stringify(SPELLINGS), JSON.stringify(scales)]
    const { nodata, scales: read } = JSON.parse(execFileSync('python3', args, { env, encoding: 'utf8' })) as {
      nodata: Record<string, string | null>
      scales: Record<string, [string, string]>
    }
    for (const [name, value] of Object.entries(nodata)) {
      await using file = await openGeotiff(join(folder, `${name}.tif`))
      // No integer equals a fraction.
      const isKept = value !== null && (name.startsWith('float') || Number.isInteger(Number(value)))
      const expected = isKept ? Number(value!.replace('inf', 'Infinity')) : undefined
      expect(file.image(0).noData, `${name}: ${SPELLINGS[Number(name.split('-')[1])]}`).toBe(expected)
    }
    for (const [i, text] of scales.entries()) {
      await using file = await openGeotiff(join(folder, `scale-${i}.tif`))
      const [band] = file.image(0).bands
      const [scale, offset] = read[text]!.map(Number) as [number, number]
      if (SCALES.includes(text)) expect(band, text).toEqual({ scale, offset })
      else {
        expect([scale === 0 || !Number.isFinite(scale), band], text).toEqual([true, {}])
        expect(file.image(0).attrs.get('scale_of_band_1_not_applied'), text).toBe(text)
        await using ds = await openDataset(join(folder, `scale-${i}.tif`))
        expect(Array.from((await ds.get('image').values()) as Int16Array, Number), text).toEqual([1, 2, 3, 4])
      }
    }
  })
})
