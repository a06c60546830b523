import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openNetcdf } from '../src/runtime/netcdf.ts'
import { runPages } from './support/page-programs.ts'

/** Without the section of short programs, which test/dataset/tasks.test.ts runs. */
const page = readFileSync(new URL('../docs/guide.md', import.meta.url), 'utf8').split('\n## In three lines\n')[0]!
/** Title, program, and what stands below it of requests and bytes. */
const TASKS = [...page.matchAll(/^## (.*)\n[\s\S]*?```[jt]s\n([\s\S]*?)```\n\n(.*)/gm)].map(([, title, code, cost]) => ({
  title: title!,
  code: code!,
  cost: cost!,
}))

const reader = await openNetcdf(readFileSync(new URL('../demo/data/tas_rectilinear_grid_2D.nc', import.meta.url)))
const numbers = async (name: string, selection: number[] = []): Promise<number[]> => {
  const { data } = (await reader.variable(name).get(selection)) as { data: Float64Array }
  return [...data]
}
const [lat, lon] = [await numbers('lat'), await numbers('lon')]
const months = await Promise.all(Array.from({ length: 12 }, (_, month) => numbers('tas', [month])))
const all = <T>(list: readonly T[]): number[] => list.map((_, i) => i)
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
const mean = (values: readonly number[]): number => sum(values) / values.length
const near = (labels: readonly number[], wanted: number): number =>
  labels.reduce((best, label, i) => (Math.abs(label - wanted) < Math.abs(labels[best]! - wanted) ? i : best), 0)
const within = (labels: readonly number[], low: number, high: number): number[] =>
  all(labels).filter((i) => labels[i]! >= low && labels[i]! <= high)
const cell = (month: number, y: number, x: number): number => months[month]![y * lon.length + x]!
const row = (month: number, y: number): number[] => lon.map((_, x) => cell(month, y, x))
const series = (y: number, x: number): number[] => months.map((_, month) => cell(month, near(lat, y), near(lon, x)))
const rounded = (values: readonly number[]): string => values.map(Math.round).join(' ')
const [JULY, BERLIN] = [6, series(52.5, 13.4)]

/** Output of the programs, computed by loops over the values that another reader returns. */
const NAIVE: Record<string, () => string> = {
  'Read a remote file': () => rounded(within(lon, 10, 20).map((x) => cell(JULY, near(lat, 52.5), x))),
  Climatology: () => {
    const seasons = [11, 2, 5, 8].map((first) => mean([0, 1, 2].map((month) => BERLIN[(first + month) % 12]!)))
    // Sorted by name: DJF, JJA, MAM, SON.
    return `DJF JJA MAM SON ${rounded([seasons[0]!, seasons[2]!, seasons[1]!, seasons[3]!])}`
  },
  'Zonal mean': () => `${lat.length} ${rounded([0, 48, 95].map((y) => mean(row(0, y))))}`,
  Anomaly: () => BERLIN.map((kelvin) => Math.round(kelvin - mean(BERLIN))).join(' '),
  Stations: () => rounded([Math.max(...series(52.4, 13.1)), Math.max(...series(-1.3, 36.8))]),
  Mask: () => {
    const cells = all(lat).flatMap((y) => row(0, y).map((kelvin) => ({ kelvin, weight: Math.cos((lat[y]! * Math.PI) / 180) })))
    const frozen = cells.filter(({ kelvin }) => kelvin < 273.15)
    return `${frozen.length} ${Math.round(sum(frozen.map(({ kelvin, weight }) => kelvin * weight)) / sum(frozen.map(({ weight }) => weight)))}`
  },
  'Mosaic of files': () => {
    const tropics = within(lat, -10, 10)
    return `96 1 x ${tropics.length} x 192 ${rounded([mean(tropics.flatMap((y) => row(JULY, y)))])}`
  },
  'On a map': () => {
    const square = (y: number, x: number): number =>
      mean([0, 1, 2, 3].flatMap((dy) => [0, 1, 2, 3].map((dx) => cell(0, 4 * y + dy, 4 * x + dx))))
    return `1152 ${rounded([square(0, 0) - 273.15, square(12, 24) - 273.15])}`
  },
  'In a Worker': () => rounded(BERLIN),
  'In Deno': () =>
    rounded([
      mean(
        all(lat)
          .slice(0, 48)
          .flatMap((y) => row(JULY, y)),
      ),
    ]),
  'Many machines': () =>
    rounded([
      mean(
        months.flatMap((_, month) =>
          all(lat)
            .slice(48)
            .flatMap((y) => row(month, y)),
        ),
      ),
    ]),
}

const run = runPages()

test('the guide has the tasks that people come with, each with a program', () => {
  const wanted = ['Read a remote file', 'Climatology', 'Zonal mean', 'Anomaly', 'Stations', 'Mask', 'Mosaic of files', 'Write']
  const places = ['Publish to a bucket', 'On a map', 'In a Worker', 'In Deno', 'Many machines']
  expect(TASKS.map(({ title }) => title)).toEqual([...wanted, ...places])
  expect(TASKS).toHaveLength(page.match(/^## /gm)!.length)
})

test.each(TASKS)('$title: prints what its comments say, for the requests and bytes below it', async ({ title, code, cost }) => {
  const promised = code.split('\n').flatMap((line) => (line.includes('console.log(') ? [line.split(') // ')[1]] : []))
  expect(await run(code)).toEqual({ printed: promised, cost })
  if (NAIVE[title] !== undefined) expect(promised.join('\n')).toBe(NAIVE[title]())
})

test('the program of the first page draws January', async () => {
  const [, code] = /```js\n([\s\S]*?)```/.exec(readFileSync(new URL('../site/pages/index.mdx', import.meta.url), 'utf8'))!
  const drawn: unknown[] = []
  await run(code!, (values, shape) => drawn.push(shape, Array.from(values)))
  expect(drawn).toEqual([[lat.length, lon.length], months[0]])
})
