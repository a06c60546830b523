import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as Lerc from 'lerc'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import type { Codec } from '../../../src/runtime/index.ts'
import { pythonWith } from '../../support/python.ts'
import { FORMATS, type OracleValues } from '../hdf5/support.ts'
import { RASTERIO } from './support.ts'

const env = pythonWith(RASTERIO)
const NAMES = ['made_lerc.tif', 'made_lerc_deflate_u8.tif', 'made_lerc_zstd.tif']
const { files } = JSON.parse(readFileSync(join(FORMATS, 'oracle.json'), 'utf8')) as {
  files: Record<string, { tifffile: { pages: { values: OracleValues; samples: number }[] } }>
}

/** The codec of the program in docs/geotiff.md. */
let lerc: Codec
beforeAll(async () => {
  const page = readFileSync(new URL('../../../docs/geotiff.md', import.meta.url), 'utf8')
  const program = /```js\n(import \* as Lerc from 'lerc'\n[\s\S]*?)```/.exec(page)![1]!
  const body = program.replace(/^import .*$/gm, '').split('await using')[0]!
  const AsyncFunction = (async () => {}).constructor as new (...source: string[]) => (lerc: typeof Lerc) => Promise<Codec>
  lerc = await new AsyncFunction('Lerc', `${body}\nreturn lerc`)(Lerc)
})

test.each(NAMES)('the program of the page reads %s', async (name) => {
  await using file = await openGeotiff(join(FORMATS, 'tiff', name), { codecs: [lerc] })
  const { array } = file.image(0)
  const { values, samples } = files[`tiff/${name}`]!.tifffile.pages[0]!
  const data = [...((await array.toTensor()).data as Float32Array)]
  expect(data).toHaveLength(values.elements)
  expect(data.reduce((a, b) => Math.min(a, b))).toBe(values.min)
  expect(data.reduce((a, b) => Math.max(a, b))).toBe(values.max)
  const magnitude = data.reduce((sum, value) => sum + Math.abs(value), 0)
  expect(Math.abs(data.reduce((sum, value) => sum + value, 0) - (values.sum as number))).toBeLessThan(1e-12 * magnitude)
  // Positions count the samples of a pixel last.
  const pixels = data.length / samples
  for (const [at, value] of values.at!) expect(data[(at % samples) * pixels + Math.floor(at / samples)]).toBe(value)
})

test('bytes of LERC that are wrapped in an unknown compression are refused', async () => {
  const bytes = new Uint8Array(readFileSync(join(FORMATS, 'tiff', 'made_lerc_zstd.tif')))
  const view = new DataView(bytes.buffer)
  const directory = view.getUint32(4, true)
  const entries = Array.from({ length: view.getUint16(directory, true) }, (_, i) => directory + 2 + 12 * i)
  const entry = entries.find((at) => view.getUint16(at, true) === 50_674)!
  view.setUint32(view.getUint32(entry + 8, true) + 4, 3, true)
  await using file = await openGeotiff(new Blob([bytes]), { codecs: [lerc] })
  expect(file.image(0).error).toMatchObject({ tag: 'UnsupportedError', message: expect.stringContaining('the compression 3') })
})

/** Writes files of GDAL with masks, several samples and noise, and the samples that GDAL reads. */
const WRITE = `
import sys, warnings
import numpy as np, rasterio
warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
for name, dtype, count, options in [
    ("nan", "float32", 1, {}), ("nan-zstd", "float64", 1, {"COMPRESS": "LERC_ZSTD"}),
    ("nan-pixels", "float32", 3, {"INTERLEAVE": "PIXEL", "COMPRESS": "LERC_DEFLATE"}),
    ("planes", "int16", 2, {"INTERLEAVE": "BAND"}), ("noise", "uint16", 1, {}),
    ("alpha", "uint8", 4, {"INTERLEAVE": "PIXEL", "ALPHA": "YES"}), ("strips", "int32", 1, {"TILED": "NO", "BLOCKYSIZE": 16}),
    ("noise-deflate", "uint8", 1, {"COMPRESS": "LERC_DEFLATE"}), ("noise-zstd", "uint8", 3, {"COMPRESS": "LERC_ZSTD", "INTERLEAVE": "PIXEL"}),
]:
    a = rng.integers(0, 256 if dtype == "uint8" else 30000, (count, 70, 50)).astype(dtype)
    if name.startswith("nan"): a[:, 5:20, 7:30] = np.nan
    if name == "alpha": a[3] = np.where(a[3] > 100, 255, 0)
    options = {"COMPRESS": "LERC", "MAX_Z_ERROR": 0, "TILED": "YES", "BLOCKXSIZE": 32, "BLOCKYSIZE": 32, **options}
    if options["TILED"] == "NO": del options["BLOCKXSIZE"]
    path = f"{sys.argv[1]}/{name}.tif"
    with rasterio.open(path, "w", driver="GTiff", width=50, height=70, count=count, dtype=dtype, **options) as d: d.write(a)
    with rasterio.open(path) as d: d.read().tofile(path + ".bin")
`

describe.skipIf(env === undefined)('files of GDAL', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hyperslab-lerc-'))
    execFileSync('python3', ['-c', WRITE, folder], { env })
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(['nan', 'nan-zstd', 'nan-pixels', 'planes', 'noise', 'strips', 'noise-deflate', 'noise-zstd'])(
    'the program of the page reads %s as GDAL does',
    async (name) => {
      await using file = await openGeotiff(join(folder, `${name}.tif`), { codecs: [lerc] })
      const { data } = await file.image(0).array.toTensor()
      const bytes = new Uint8Array(readFileSync(join(folder, `${name}.tif.bin`)))
      const expected = new (data.constructor as Uint8ArrayConstructor)(bytes.buffer)
      expect(data.length).toBe(expected.length)
      expect((data as Uint8Array).every((value, i) => Object.is(value, expected[i]))).toBe(true)
    },
  )

  test('alpha that GDAL stores as the mask is refused, because samples are missing then', async () => {
    await using file = await openGeotiff(join(folder, 'alpha.tif'), { codecs: [lerc] })
    const message = expect.stringContaining('lerc block decodes to 3072 bytes instead of 4096')
    await expect(file.image(0).array.toTensor()).rejects.toMatchObject({ tag: 'CodecError', message })
  })
})
