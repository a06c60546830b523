import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { infoLines } from '../../src/cli/commands/info.ts'
import { openPlace } from '../../src/cli/commands/place.ts'
import { createProgram } from '../../src/cli/program.ts'
import { table, wrap } from '../../src/cli/show/text.ts'
import { NETCDF } from './support.ts'

const FIXTURES = new URL('../fixtures/', import.meta.url).pathname

const files = (folder: string, isPlace: (name: string) => boolean): string[] =>
  readdirSync(join(FIXTURES, folder), { recursive: true, encoding: 'utf8' })
    .filter(isPlace)
    .map((name) => join(FIXTURES, folder, name))

const PLACES = [
  NETCDF,
  ...files('nc', (name) => name.endsWith('.nc')),
  ...files('zarr', (name) => /^[^/]+\.zarr$/.test(name)),
  ...files('af', (name) => name.endsWith('.af') && !/\.\d+\.af$|hostile/.test(name)),
]

describe('info', () => {
  test.each([80, 60, 120])('of all fixtures and of the data of the demo takes no more than %i columns', async (width) => {
    expect(PLACES.length).toBeGreaterThan(10)
    for (const path of PLACES) {
      await using place = await openPlace(path, {})
      const description = await place.describe({ raw: false })
      const lines = infoLines(description, { attributes: true, width })
      expect(lines.filter((line) => line.length > width)).toEqual([])
      // Long names continue on the lines below: the text is the same in narrower columns.
      const words = (text: readonly string[]): string => text.join('').replace(/\s/g, '')
      for (const { name } of description.arrays) expect(words(lines)).toContain(words([name]).slice(0, 12))
    }
  })
})

test.each([80, 64, 120])('the help of every command takes no more than %i columns', (width) => {
  vi.stubEnv('COLUMNS', String(width))
  const program = createProgram('0.0.0')
  for (const command of [program, ...program.commands])
    expect(command.helpInformation().split('\n').filter((line) => line.length > width)).toEqual([]) // biome-ignore format: one line
  vi.unstubAllEnvs()
})

test('options that the help of a command leaves to a page are on that page', () => {
  const page = readFileSync(new URL('../../docs/many-machines.md', import.meta.url), 'utf8')
  const left = createProgram('0.0.0').commands.flatMap(({ options }) => options.filter(({ hidden }) => hidden))
  expect(left.length).toBeGreaterThan(10)
  for (const { flags } of left) expect(page).toContain(`\`${flags}\``)
})

test('text is wrapped between words, and nothing of it is lost', () => {
  expect(wrap('days since 1850-01-01 00:00:00', 12)).toEqual(['days since', '1850-01-01', '00:00:00'])
  expect(wrap('http://a.example/long', 8)).toEqual(['http://a', '.example', '/long'])
  expect(wrap('ab😀cd', 3)).toEqual(['ab', '😀c', 'd'])
  const words = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' ', '😀'), maxLength: 30 }), { maxLength: 5 })
  fc.assert(
    fc.property(words, fc.integer({ min: 2, max: 20 }), (list, width) => {
      const text = list.join(' ')
      const lines = wrap(text, width)
      expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(Math.max(width, 2))
      expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''))
    }),
  )
})

test('a table narrows its texts first, and has columns for which there is no room below', () => {
  const columns = [{ title: 'name' }, { title: 'bytes', align: 'right' as const }, { title: 'units' }]
  const rows = [
    ['tas', '864.0 KiB', 'K'],
    ['time', '96 B', 'days since 1850-01-01 00:00:00'],
  ]
  expect(table(columns, rows, '')).toEqual([
    'name      bytes  units',
    'tas   864.0 KiB  K',
    'time       96 B  days since 1850-01-01 00:00:00',
  ])
  expect(table(columns, rows, '', 30)).toEqual([
    'name      bytes  units',
    'tas   864.0 KiB  K',
    'time       96 B  days since',
    '                 1850-01-01',
    '                 00:00:00',
  ])
  expect(table(columns, rows, '', 20)).toEqual([
    'name      bytes',
    'tas   864.0 KiB',
    'time       96 B',
    'name  units',
    'tas   K',
    'time  days since',
    '      1850-01-01',
    '      00:00:00',
  ])
})

test('no line of a table is wider than asked for', () => {
  const columns = [{ title: 'name' }, { title: 'bytes', align: 'right' as const }, { title: 'value' }]
  const rows = [
    ['tas', '864.0 KiB', 'x'.repeat(100)],
    ['y'.repeat(100), '96 B', 'K'],
  ]
  for (let width = 40; width < 120; width++)
    expect(Math.max(...table(columns, rows, '  ', width).map(({ length }) => length)), `${width}`).toBe(width)
})
