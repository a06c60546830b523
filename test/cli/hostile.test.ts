import { readdirSync, readFileSync } from 'node:fs'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { create } from '../../src/runtime/index.ts'
import { hyperslab, NETCDF, type Run, temporaryFolder } from './support.ts'

/**
 * Colour, a sequence begun by one character, DEL, lines of several kinds, text turned around, an isolate
 * never closed.
 */
const HOSTILE = 'a\x1b[31mb\x9b2Jc\x7fd\u2028e\u2029f\u202eg\u2066h\x07i\u200fj'
const FILE = `${HOSTILE}.af`

const forbidden = (text: string): string[] =>
  text.match(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu)?.filter((each) => each !== '\n') ?? []

const expectClean = ({ stdout, stderr }: Pick<Run, 'stdout' | 'stderr'>): void => {
  expect({ found: forbidden(stdout), stdout }).toEqual({ found: [], stdout })
  expect({ found: forbidden(stderr), stderr }).toEqual({ found: [], stderr })
}

/**
 * A folder with a container in whose every name and text is what steers a terminal, and what it must not
 * print in a line of its own.
 */
async function hostileContainer(): Promise<string> {
  const folder = await temporaryFolder()
  await using file = await create(join(folder, FILE))
  const names = [`${HOSTILE}\nok`, `lon${HOSTILE}`]
  const x = file.createArray(HOSTILE, { dtype: 'float32', shape: [2, 2], dimensionNames: names })
  await x.set(null, Float32Array.of(1, 2, 3, 4))
  for (const name of ['units', 'long_name', HOSTILE]) x.attrs.set(name, `${HOSTILE}\nok`)
  const coordinate = file.createArray(names[0]!, { dtype: 'float32', shape: [2], dimensionNames: [names[0]!] })
  await coordinate.set(null, 5)
  coordinate.attrs.set('units', HOSTILE)
  const text = file.createArray('text', { dtype: 'string', shape: [2], fillValue: HOSTILE })
  await text.set([0], `${HOSTILE}\nok`)
  file.attrs.set(HOSTILE, HOSTILE)
  await file.flush()
  return folder
}

test('no text of a file controls the terminal when a command prints it', async () => {
  const folder = await hostileContainer()
  const runs: string[][] = [
    ['info', FILE, '--attributes'],
    ['info', FILE, '--json'],
    ['get', FILE, HOSTILE],
    ['get', FILE, 'text', '--full'],
    ['get', FILE, 'text', '--format', 'json'],
    ['reduce', FILE, HOSTILE, '--op', 'mean'],
    ['plot', FILE, HOSTILE, '--color', 'never'],
    ['verify', FILE],
    ['verify', FILE, '--json'],
    ['compact', FILE],
  ]
  for (const args of runs) {
    const run = await hyperslab(folder, args)
    expect(run, args.join(' ')).toMatchObject({ exitCode: 0 })
    expect(run.stdout.length).toBeGreaterThan(0)
    expectClean(run)
    expect(run.stdout.split('\n'), args.join(' ')).not.toContain('ok')
  }
  await copyFile(NETCDF, join(folder, `${HOSTILE}.nc`))
  expectClean(await hyperslab(folder, ['import', `${HOSTILE}.nc`, `new${FILE}`]))
}, 60_000)

test('JSON with escapes is the same JSON', async () => {
  const folder = await hostileContainer()
  const { stdout } = await hyperslab(folder, ['info', FILE, '--json'])
  const { file, arrays, attributes } = JSON.parse(stdout)
  expect(file).toBe(FILE)
  expect(arrays.map(({ name }: { name: string }) => name)).toContain(HOSTILE)
  expect(attributes[HOSTILE].value).toBe(HOSTILE)
  expect(JSON.parse((await hyperslab(folder, ['get', FILE, 'text', '0', '--format', 'json'])).stdout)).toMatchObject({
    data: [`${HOSTILE}\nok`],
  })
})

test('nor does what it says of errors, of damage, of the command line, or with DEBUG', async () => {
  const folder = await hostileContainer()
  const runs: [string[], number][] = [
    [['get', FILE, `no${HOSTILE}`], 1],
    [['info', `no${FILE}`], 1],
    [['info', FILE, `--${HOSTILE}`], 2],
    [[HOSTILE], 2],
    [['get', FILE, HOSTILE, HOSTILE], 2],
    [['import', `no${HOSTILE}.nc`, 'x.af'], 1],
    [['import', NETCDF, HOSTILE], 2],
  ]
  for (const [args, exitCode] of runs) {
    const run = await hyperslab(folder, args, { DEBUG: '1' })
    expect(run, args.join(' ')).toMatchObject({ exitCode })
    expect(run.stderr.length).toBeGreaterThan(0)
    expectClean(run)
  }
  const bytes = await readFile(join(folder, FILE))
  await writeFile(
    join(folder, FILE),
    bytes.map((byte, i) => (i < 20 ? byte ^ 255 : byte)),
  )
  await mkdir(join(folder, `folder${FILE}`))
  for (const args of [
    ['verify', FILE],
    ['verify', FILE, '--json'],
    ['get', FILE, HOSTILE],
    ['info', `folder${FILE}`],
  ]) {
    const run = await hyperslab(folder, args)
    expect(run, args.join(' ')).toMatchObject({ exitCode: 1 })
    expectClean(run)
  }
}, 60_000)

test('a picture keeps its own colours and no others', async () => {
  const folder = await hostileContainer()
  const { stdout } = await hyperslab(folder, ['plot', FILE, HOSTILE, '--color', 'always'], { COLORTERM: 'truecolor' })
  const colours = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g')
  expect(stdout.match(colours)!.length).toBeGreaterThan(1)
  expect(stdout.match(colours)).not.toContain('\x1b[31m')
  expectClean({ stdout: stdout.replace(colours, ''), stderr: '' })
})

test('only two files of show/ write to the streams: text.ts, and progress.ts with lines of its own', () => {
  const folder = new URL('../../src/cli/', import.meta.url).pathname
  const writing = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) =>
      name.endsWith('.ts') &&
      /std(out|err)\.write|console\.|terminal: Terminal = process\.stderr/.test(readFileSync(join(folder, name), 'utf8')),
  )
  expect(writing.sort()).toEqual(['show/progress.ts', 'show/text.ts'])
})
