import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { GeotiffImage } from '../../../src/adapters/geotiff/image.ts'
import type { GeotiffFile } from '../../../src/adapters/geotiff/open.ts'
import { openGeotiff } from '../../../src/runtime/geotiff.ts'
import { FORMATS, type OracleValues } from '../hdf5/support.ts'
import { REFUSED } from './support.ts'

interface Page {
  readonly shape: readonly number[]
  readonly dtype: string
  readonly subfiletype: number
  readonly planar: number
  readonly samples: number
  readonly values?: OracleValues
  readonly error?: string
}

interface Raster {
  readonly count: number
  readonly crs: number | null
  readonly transform: readonly number[]
  readonly nodata: number | null | string
  readonly scales: readonly number[]
  readonly offsets: readonly number[]
  readonly descriptions: readonly (string | null)[]
  readonly units: readonly (string | null)[]
  readonly overviews: readonly number[]
  readonly gcps: number
  readonly areaOrPoint: string | null
}

const { files } = JSON.parse(readFileSync(join(FORMATS, 'oracle.json'), 'utf8')) as {
  files: Record<string, { tifffile: { pages: Page[] }; rasterio: Raster }>
}

const names = Object.keys(files)
  .filter((name) => name.startsWith('tiff/'))
  .map((name) => name.slice(5))

const opened: GeotiffFile[] = []
afterAll(async () => {
  for (const file of opened) await file.close()
})
async function open(name: string): Promise<GeotiffFile> {
  const file = await openGeotiff(join(FORMATS, 'tiff', name))
  opened.push(file)
  return file
}

/** Images of a file in the order of its directories. */
function pagesOf(file: GeotiffFile, pages: readonly Page[]): GeotiffImage[] {
  const all: GeotiffImage[] = []
  const used = new Map<GeotiffImage, { level: number }>()
  let current = -1
  for (const { subfiletype } of pages) {
    if ((subfiletype & 5) === 0) all.push(file.image(++current))
    else {
      const image = file.image(current)
      const state = used.get(image) ?? { level: 0 }
      used.set(image, state)
      if ((subfiletype & 4) === 0) all.push(image.levels()[++state.level]!)
      else if (subfiletype === 4) all.push(image.mask!)
      else all.push(image.levels()[state.level]!.mask ?? image.levels().find(({ mask }) => mask !== undefined)!.mask!)
    }
  }
  return all
}

async function compare(image: GeotiffImage, page: Page): Promise<void> {
  const { array } = image
  const isChunky = page.samples > 1 && page.planar === 1
  const [rows, columns] = (isChunky ? page.shape : page.shape.slice(-2)) as [number, number]
  expect(array.shape.slice(page.samples > 1 ? 1 : 0, page.samples > 1 ? 3 : 2)).toEqual([rows, columns])
  const { data } = await array.toTensor()
  const isComplex = page.dtype.startsWith('complex')
  const { sum, at, min, max } = page.values!
  const numbers = Array.from(data as ArrayLike<number | bigint>, Number)
  const parts = isComplex ? 2 : 1
  const total = (part: number): number =>
    numbers.reduce((all, value, i) => (i % parts === part && Number.isFinite(value) ? all + value : all), 0)
  const expectedSums = Array.isArray(sum) ? (sum as number[]) : [Number(sum)]
  for (const [part, expected] of expectedSums.entries())
    expect(Math.abs(total(part) - expected)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(expected)))
  if (!isComplex && typeof min === 'number') {
    const finite = numbers.filter(Number.isFinite)
    expect(finite.reduce((a, b) => Math.min(a, b), Infinity)).toBe(min)
    expect(finite.reduce((a, b) => Math.max(a, b), -Infinity)).toBe(max)
  }
  const plane = rows * columns
  for (const [position, value] of at!) {
    const place = isChunky ? (position % page.samples) * plane + Math.floor(position / page.samples) : position
    const actual = numbers.slice(place * parts, place * parts + parts)
    const expected = [value].flat().map(Number)
    if (typeof value === 'number' || Array.isArray(value) || typeof value === 'boolean') expect(actual).toEqual(expected)
    else expect(String(actual[0])).toBe(String(value))
  }
}

describe.each(names)('%s', (name) => {
  const { tifffile, rasterio } = files[`tiff/${name}`]!
  const refused = REFUSED[name]

  test(refused === undefined ? 'reads as tifffile does' : 'is refused by name', async () => {
    const file = await open(name)
    const images = pagesOf(file, tifffile.pages)
    if (refused !== undefined) {
      expect(() => images[0]!.array).toThrow(refused)
      expect(images[0]!.error?.tag).toBe('UnsupportedError')
      return
    }
    for (const [i, page] of tifffile.pages.entries()) {
      if (page.error === undefined) await compare(images[i]!, page)
      else await expect(images[i]!.array.toTensor()).rejects.toMatchObject({ tag: 'FormatError' })
    }
  })

  test('has the place, the missing value and the bands that GDAL finds', async () => {
    const image = (await open(name)).image(0)
    const { transform, crs, gcps, isPoint } = image
    expect([...(transform ?? [1, 0, 0, 0, 1, 0])].map((each) => each.toPrecision(13))).toEqual(
      rasterio.transform.map((each) => each.toPrecision(13)),
    )
    if (gcps.length === 0) expect(crs?.epsg ?? null).toBe(rasterio.crs)
    expect(gcps.length).toBe(rasterio.gcps)
    if (rasterio.areaOrPoint !== null && isPoint !== undefined) expect(isPoint).toBe(rasterio.areaOrPoint === 'Point')
    if (refused !== undefined) return
    expect(image.noData === undefined ? null : Number(image.noData)).toEqual(
      rasterio.nodata === null ? null : Number(rasterio.nodata),
    )
    const { bands } = image
    expect(bands.length).toBe(rasterio.count)
    expect(bands.map(({ scale = 1 }) => scale)).toEqual(rasterio.scales)
    expect(bands.map(({ offset = 0 }) => offset)).toEqual(rasterio.offsets)
    expect(bands.map(({ description = null }) => description)).toEqual(rasterio.descriptions)
    expect(bands.map(({ units = null }) => units || null)).toEqual(rasterio.units)
    expect(image.levels().length - 1).toBe(rasterio.overviews.length)
  })
})
