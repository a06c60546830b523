import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { UsageError } from '../../src/cli/show/failure.ts'
import { create } from '../../src/runtime/index.ts'
import { type Manners, RudeServer } from '../support/rude-server.ts'

let rude: RudeServer
let folder: string
beforeAll(async () => {
  rude = await RudeServer.start()
  folder = await mkdtemp(join(tmpdir(), 'not-found-'))
})
afterAll(async () => {
  await rude.stop()
  await rm(folder, { recursive: true })
})

const text = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
const ARRAY = {
  zarr_format: 3,
  node_type: 'array',
  shape: [4],
  data_type: 'int8',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
  chunk_key_encoding: { name: 'default' },
  dimension_names: ['x'],
  fill_value: 0,
  codecs: [{ name: 'bytes' }],
}

/**
 * A group of one array whose chunk 1 is missing, and a container without sidecars; missing objects are
 * answered 403.
 */
let group = ''
let container = ''
beforeEach(async () => {
  rude.reset()
  const metadata = { v: ARRAY }
  const consolidated = { kind: 'inline', must_understand: false, metadata }
  rude.put('g.zarr/v/c/0', Uint8Array.of(1, 2))
  rude.put('g.zarr/v/zarr.json', text(ARRAY))
  const root = text({ zarr_format: 3, node_type: 'group', consolidated_metadata: consolidated })
  group = rude.put('g.zarr/zarr.json', root).replace('/zarr.json', '')
  const path = join(folder, 'c.af')
  await using file = await create(path, { overwrite: true })
  await file.createArray('v', { dtype: 'int8', shape: [4], dimensionNames: ['x'] }).set([], 1)
  await file.flush()
  container = rude.put('c.af', await readFile(path))
  rude.manners = { missing: 403 }
})

/** Runs a command in this process and returns its output. */
async function run(...args: string[]): Promise<string> {
  const printed: string[] = []
  for (const stream of [process.stdout, process.stderr]) {
    const spy = vi.spyOn(stream, 'write').mockImplementation(((chunk: unknown, ...rest: unknown[]) => {
      printed.push(String(chunk))
      const done = rest.at(-1)
      if (typeof done === 'function') done()
      return true
    }) as never)
    onTestFinished(() => spy.mockRestore())
  }
  try {
    await createProgram('0').parseAsync(['node', 'hyperslab', ...args])
  } finally {
    vi.restoreAllMocks()
  }
  return printed.join('')
}

const OPTION = ['--not-found', '403,404']

/** Commands for each place on the server. They print their result or write it to `out`. */
const READING: readonly (readonly [string, (place: string, out: string) => string[]])[] = [
  ['info', (place) => ['info', place]],
  ['head', (place) => ['head', place]],
  ['get', (place) => ['get', place, 'v']],
  ['stats', (place) => ['stats', place]],
  ['reduce', (place) => ['reduce', place, 'v', '--op', 'sum']],
  ['plot', (place) => ['plot', place, 'v']],
  ['attr', (place) => ['attr', place, 'v']],
  ['diff', (place) => ['diff', place, place]],
  ['verify', (place) => ['verify', place]],
  ['cp', (place, out) => ['cp', place, join(out, place.slice(-6))]],
  ['export', (place, out) => ['export', place, join(out, 'out.zarr')]],
  ['rechunk', (place, out) => ['rechunk', place, join(out, 'out.zarr'), '--chunks', 'x=4']],
  ['import', (place, out) => ['import', place, join(out, 'out.af')]],
]

/** Commands of which consolidated metadata answer all. */
const OF_METADATA = ['info', 'attr']

/** The error of a command, thrown or, where others follow, printed. */
async function failureOf(args: readonly string[]): Promise<string> {
  try {
    return await run(...args)
  } catch (error) {
    return String((error as Error).message)
  } finally {
    process.exitCode = undefined
  }
}

test.each(READING)('%s reads places whose server answers 403 for missing objects with the option only', async (name, typed) => {
  for (const place of name === 'import' ? [group] : [group, container]) {
    const out = await mkdtemp(join(folder, 'out-'))
    expect(await run(...typed(place, out), ...OPTION)).not.toContain('403')
    if (place === group && OF_METADATA.includes(name)) continue
    const other = await mkdtemp(join(folder, 'out-'))
    expect(await failureOf(typed(place, other))).toMatch(
      /answered 403: .*(`notFound: \[403, 404, 410\]`|--not-found 403,404,410)/,
    )
  }
})

test.each(READING.filter(([name]) => !OF_METADATA.includes(name)))(
  '%s fails with the option when the session ends with the first chunk',
  async (_, typed) => {
    const out = await mkdtemp(join(folder, 'out-'))
    let isEnded = false
    rude.manners = ({ url }): Manners => {
      isEnded ||= url.includes('/c/')
      return isEnded || !url.endsWith('zarr.json') ? { status: 403 } : {}
    }
    expect(await failureOf([...typed(group, out), ...OPTION])).toMatch(/answered 403|was removed/)
  },
)

test('every command that takes a location has the option', () => {
  const without = createProgram('0').commands.filter(({ options }) => !options.some(({ long }) => long === '--not-found'))
  expect(without.map((command) => command.name())).toEqual(['work', 'jobs', 'completion'])
})

test.each([['403,'], ['abc'], ['99'], ['403;404'], ['']])('%j is no list of statuses', async (statuses) => {
  await expect(run('info', group, '--not-found', statuses)).rejects.toThrow(/statuses of HTTP/)
})

test('the option is refused where no location is a URL', async () => {
  await expect(run('info', join(folder, 'c.af'), ...OPTION)).rejects.toThrow(UsageError)
  await expect(run('diff', join(folder, 'c.af'), container, ...OPTION)).resolves.toContain('differ')
})
