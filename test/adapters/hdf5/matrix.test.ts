import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import type { Hdf5Attributes } from '../../../src/adapters/hdf5/attributes.ts'
import type { Hdf5Array, Hdf5Group } from '../../../src/adapters/hdf5/group.ts'
import { isFixed } from '../../../src/core/dtype.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { byBudget, isSoak, seedOf, timeLimit } from '../../support/budget.ts'
import { digest, listOf, startPython, walkFile } from './support.ts'

/** Time that the files take, in ms. */
const MOST_MS = byBudget({ quick: 4_000, full: 60_000, soak: Infinity })
/** Files that are read in any time. */
const LEAST_FILES = byBudget({ quick: 5, full: 30, soak: 900 })
const SELECTIONS = byBudget({ quick: 3, full: 4, soak: 20 })
const SEED = seedOf('hdf5 matrix', 41)
/** Larger arrays are read by small selections only. */
const MOST_ELEMENTS = 300_000
/** Arrays of more chunks are read and reduced less often. */
const MANY_CHUNKS = 200

/** An attribute as `matrix.py` describes it. Empty ones are null. */
type Attribute = { readonly count: number; readonly sha: string } | null

/** A file as `matrix.py` describes it, or why h5py does not make it. */
interface Made {
  readonly unmade?: string
  readonly arrays: readonly string[]
  readonly groups: readonly string[]
  readonly attributes: Readonly<Record<string, Readonly<Record<string, Attribute>>>>
}

type Selector = null | number | readonly number[] | { readonly start?: number; readonly stop?: number; readonly step?: number }

const started = startPython('matrix.py')
const python = 'python' in started ? started.python : undefined
if ('failure' in started) console.warn(`SKIPPED: the matrix of HDF5 files needs h5py: ${started.failure}`)
afterAll(() => python?.close())

/** Selectors of one axis; short ones on axes of large arrays. */
function selectors(length: number, most: number): fc.Arbitrary<Selector> {
  const start = fc.integer({ min: 0, max: Math.max(0, length - 1) })
  const short = fc.tuple(start, fc.integer({ min: 0, max: most }), fc.integer({ min: 1, max: 4 })).map(([from, count, step]) => ({
    start: from,
    stop: Math.min(length, from + count),
    step,
  }))
  if (length === 0) return short
  const near = fc.tuple(start, fc.array(fc.integer({ min: 0, max: Math.min(most, length) - 1 }), { minLength: 1, maxLength: 6 }))
  const lists = near.map(([from, list]) => list.map((each) => (from + each) % length)).filter((list) => spread(list) <= most)
  const position = fc.integer({ min: -length, max: length - 1 })
  if (length > most) return fc.oneof(short, position, lists)
  const bound = fc.integer({ min: -length, max: length })
  const long = fc.record({ start: bound, stop: bound, step: fc.constantFrom(1, 2, 3, -1, -2) })
  return fc.oneof(short, position, lists, long, fc.constant(null))
}

const spread = (list: readonly number[]): number => Math.max(...list) - Math.min(...list)

const sample = (array: Hdf5Array, seed: number): Selector[][] => {
  const shape = array.shape.slice(0, array.shape.length - array.index.plan.innerShape.length)
  const most = array.size > MOST_ELEMENTS ? 20 : MOST_ELEMENTS
  return fc.sample(fc.tuple(...shape.map((length) => selectors(length, most))), { numRuns: SELECTIONS, seed }) as Selector[][]
}

/** Returns the sum; if 64 bits do not hold it, the exact one that the error names. */
async function sumOf(array: Hdf5Array): Promise<[string, string]> {
  try {
    return ['sum', String(await array.sum())]
  } catch (error) {
    if (!isHyperslabError(error, 'OverflowError')) throw error
    return ['overflow', String(error.details.actual)]
  }
}

async function differences(file: string, path: string, array: Hdf5Array, seed: number): Promise<string[]> {
  const { dtype } = array
  const inner = array.index.plan.innerShape.map(() => null)
  const all = array.shape.slice(0, array.shape.length - inner.length).map(() => null)
  const selections = array.size > MOST_ELEMENTS ? [] : [all]
  const reads = []
  const sampled = sample(array, seed).slice(0, array.chunks.count > MANY_CHUNKS ? 1 : undefined)
  for (const selection of [...selections, ...sampled]) {
    const got: unknown = await array.get([...selection, ...inner] as never)
    const shape = typeof got === 'object' && got !== null && 'shape' in got ? got.shape : []
    reads.push([selection, shape, digest(dtype, listOf(dtype, got))])
  }
  const isReduced = isFixed(dtype) && dtype !== 'bool' && array.size <= MOST_ELEMENTS
  const reductions = []
  if (isReduced) {
    reductions.push(['count', String(await array.count())], await sumOf(array))
    if (array.chunks.count <= MANY_CHUNKS && array.size > 0 && (await array.count()) > 0)
      reductions.push(
        ['min', String(await array.min())],
        ['max', String(await array.max())],
        ['mean', String(await array.mean())],
      )
  }
  const missing = (array.source.missing?.values ?? []).map(String)
  return python!.ask({ judge: { file, path, dtype, reads, reductions, missing } }) as Promise<string[]>
}

function described(value: unknown): Attribute {
  const list = ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value as ArrayLike<unknown>) : [value]
  if (value === null || value === undefined) return null
  const isText = list.some((each) => typeof each === 'string')
  const data = isText ? list.map(String) : Float64Array.from(list, Number)
  return { count: list.length, sha: digest(isText ? 'string' : 'float64', data) }
}

/** Digest of no elements: Empty attributes and those of no texts have no type here. */
const NO_ELEMENTS = createHash('sha256').digest('hex')

function compareAttributes(actual: Hdf5Attributes, expected: Readonly<Record<string, Attribute>> = {}, path: string): string[] {
  return Object.entries(expected).flatMap(([name, attribute]) => {
    const found = actual.has(name) ? described(actual.get(name)) : undefined
    if (attribute === null) return actual.has(name) ? [] : [`${path}@${name} is missing`]
    if (attribute.count === 0 && found?.sha === NO_ELEMENTS) return []
    const equal = found !== undefined && found?.sha === attribute.sha && found.count === attribute.count
    return equal ? [] : [`${path}@${name}: ${JSON.stringify(found)}, h5py has ${JSON.stringify(attribute)}`]
  })
}

/** Reads a file and returns what differs. */
async function compareFile(file: string, made: Made, seed: number): Promise<string[]> {
  await using root = await openHdf5(file, { external: true })
  const { arrays, unreadable } = await walkFile(root)
  const wrong = [...unreadable].map(([path, error]) => `${path}: ${error}`)
  for (const path of made.arrays) if (!arrays.has(path)) wrong.push(`${path}: there is no such array`)
  for (const [path, array] of arrays) {
    wrong.push(...(await differences(file, path, array, seed)))
    wrong.push(...compareAttributes(array.attrs, made.attributes[path], path))
  }
  const groups = new Map<string, Hdf5Group>([['', root]])
  for (const path of made.groups) groups.set(path, await root.group(path))
  for (const [path, group] of groups) wrong.push(...compareAttributes(group.attrs, made.attributes[path], path))
  return wrong
}

/** Returns names in an order that the seed draws, with all kinds in turn. The kind is the first word. */
function shuffled(names: readonly string[]): string[] {
  const drawn = fc.sample(fc.shuffledSubarray([...names], { minLength: names.length }), { numRuns: 1, seed: SEED })[0]!
  const counts = new Map<string, number>()
  const turns = drawn.map((name) => {
    const kind = name.split(' ')[0]!
    const turn = counts.get(kind) ?? 0
    counts.set(kind, turn + 1)
    return { name, turn }
  })
  return turns.sort((a, b) => a.turn - b.turn).map(({ name }) => name)
}

test.skipIf(python === undefined)(
  'files of all bounds, layouts, filters, types and fills have the elements that h5py reads',
  { timeout: timeLimit(180_000) },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hyperslab-matrix-'))
    try {
      const names = shuffled((await python!.ask({ list: true })) as string[])
      expect(names.length).toBeGreaterThan(900)
      const start = performance.now()
      const wrong: string[] = []
      let read = 0
      for (const [number, name] of names.entries()) {
        if (read >= LEAST_FILES && performance.now() - start > MOST_MS) break
        const file = join(folder, `${number}.h5`)
        const made = (await python!.ask({ make: name, file, seed: SEED })) as Made
        if (made.unmade !== undefined) wrong.push(`${name}: h5py does not make it: ${made.unmade}`)
        else
          wrong.push(
            ...(await compareFile(file, made, SEED + number).catch((error) => [String(error)])).map((each) => `${name}: ${each}`),
          )
        await rm(file, { force: true })
        await rm(`${file}.d`, { force: true, recursive: true })
        read++
      }
      if (isSoak || SEED !== 41) console.info(`hdf5 matrix: ${read} files`)
      expect(wrong.map((each) => each.slice(0, 300))).toEqual([])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
)
