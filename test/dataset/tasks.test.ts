import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as hyperslab from '../../src/runtime/dataset.ts'

const page = readFileSync(new URL('../../docs/guide.md', import.meta.url), 'utf8')
const TASKS = new Map([...page.matchAll(/^### (.*)\n\n```js\n([\s\S]*?)```/gm)].map(([, title, code]) => [title!, code!]))

const [MONTHS, LAT, LON] = [36, [60, 20, -40], [0, 90, 180, 270]]
const valueAt = (t: number, y: number, x: number): number => 270 + (t % 12) + t / 16 + 2 * y + x / 4
const cells = LAT.flatMap((_, y) => LON.map((_, x) => [y, x] as const))
const times = Array.from({ length: MONTHS }, (_, month) => month)
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length
/** Returns the mean of a month over the base period, the first two of three years, for one cell. */
const climatology = (month: number, y: number, x: number): number => mean([month, month + 12].map((t) => valueAt(t, y, x)))

const NAIVE: Record<string, () => number[] | string> = {
  'The climatology of months': () => times.slice(0, 12).flatMap((month) => cells.map(([y, x]) => climatology(month, y, x))),
  Anomalies: () => times.flatMap((t) => cells.map(([y, x]) => valueAt(t, y, x) - climatology(t % 12, y, x))),
  'The series of the mean over the globe, by area': () => {
    const weights = LAT.map((lat) => Math.cos((lat * Math.PI) / 180))
    const sum = mean(cells.map(([y]) => weights[y]!)) * cells.length
    return times.map((t) => cells.reduce((total, [y, x]) => total + weights[y]! * valueAt(t, y, x), 0) / sum)
  },
  'A region at a date': () => [0, 1].flatMap((y) => [3, 0].map((x) => valueAt(6, y, x))),
  'The series at a station': () => times.map((t) => valueAt(t, 0, 0)),
  'A file with other units': () => times.flatMap((t) => cells.map(([y, x]) => valueAt(t, y, x) - 273.15)),
  'A table': () =>
    ['time,lat,lon,tas', ...cells.map(([y, x]) => `1998-07-15T00:00,${LAT[y]},${LON[x]},${valueAt(6, y, x)}`), ''].join('\n'),
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-tasks-'))
  const data = Float64Array.from({ length: MONTHS * 12 }, (_, i) => valueAt(Math.floor(i / 12), Math.floor(i / 4) % 3, i % 4))
  const ds = new hyperslab.Dataset(
    { tas: { dims: ['time', 'lat', 'lon'], data: { data, shape: [MONTHS, 3, 4] }, attrs: { units: 'K' } } },
    {
      coords: {
        time: times.map((month) => new Date(Date.UTC(1998, month, 15))),
        lat: { dims: ['lat'], data: LAT, attrs: { units: 'degrees_north' } },
        lon: { dims: ['lon'], data: LON, attrs: { units: 'degrees_east' } },
      },
    },
  )
  await ds.write(join(folder, 'tas.af'))
})
afterAll(() => rm(folder, { recursive: true }))

test('the guide has what is asked for, each in three lines at most', () => {
  expect([...TASKS.keys()]).toEqual(Object.keys(NAIVE))
  for (const code of TASKS.values()) expect(code.trimEnd().split('\n').length).toBeLessThanOrEqual(3)
})

test.each([...TASKS])('%s', async (title, code) => {
  const { between, cos, Dataset, openDataset } = hyperslab
  const ds = await openDataset(join(folder, 'tas.af'))
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as new (
    ...source: string[]
  ) => (...given: unknown[]) => Promise<ArrayLike<number> | string>
  const run = new AsyncFunction('ds', 'tas', 'between', 'cos', 'Dataset', 'openDataset', 'path', `${code}\nreturn values`)
  const values = await run(ds, ds.get('tas'), between, cos, Dataset, openDataset, join(folder, 'celsius.af'))
  await ds.close()
  const wanted = NAIVE[title]!()
  if (typeof wanted === 'string') expect(values).toBe(wanted)
  else {
    expect(values.length).toBe(wanted.length)
    for (const [i, value] of wanted.entries()) expect(values[i]).toBeCloseTo(value, 9)
  }
})
