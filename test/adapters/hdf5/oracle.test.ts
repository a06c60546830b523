import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { Hdf5Attributes } from '../../../src/adapters/hdf5/attributes.ts'
import type { Hdf5Array } from '../../../src/adapters/hdf5/group.ts'
import { type FixedDType, fromBytes } from '../../../src/core/dtype.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import {
  digest,
  FORMATS,
  listOf,
  type OracleAttribute,
  type OracleObject,
  type OracleValues,
  type PythonElements,
  readOracle,
  startPython,
  walkFile,
} from './support.ts'

/** Types that are read on request are requested. */
const OPTIONS = { references: 'paths', opaque: 'bytes', external: true } as const

/** Nodes that are not read: file, path, and the reason in their errors. */
const REFUSED: readonly (readonly [RegExp, RegExp, RegExp])[] = [
  [/made_filters/, /_(bzip2|blosc2|zfp)$/, /UnsupportedError.*the filter (307|32026|32013) \((bzip2|blosc2|zfp)\)/],
  [/t128bit_float/, /./, /UnsupportedError.*floats of 128 bits/],
]

/** Nodes that are not read because files are broken or lead in circles. */
const BROKEN: typeof REFUSED = [
  [/(test_file|external_link)\.hdf5/, /external_link(_to_missing_file)?$/, /UnsupportedError.*and there is no such file/],
  [/(test_file|external_link)\.hdf5/, /broken_soft_link$/, /UnsupportedError.*where there is nothing/],
  [/tloop/, /(g2\.1|g1\.1)$/, /UnsupportedError.*leads back to a group that contains it/],
]

/** Files that cannot be opened or listed. */
const UNOPENED: Readonly<Record<string, RegExp>> = {
  'hdf5/corrupt_stab_msg.h5': /FormatError.*damaged HDF5 metadata at byte/,
  'hdf5/tfamily00000.h5': /FormatError.*the file is truncated: it should have 2648 bytes, and has 256/,
}

/** Arrays whose elements h5py does not read, or that are too large to be read at once. */
const UNCOMPARED = [/cve_2020_10810\.h5 dset$/, /ref_tst_dims\.nc (lat|lon|time|level)$/]
/** Elements that were never allocated, and have no fill value. */
const UNDEFINED = /f03tst_open_mem\.nc var2$/

const oracle = readOracle()
const started = startPython('elements.py')
const python = 'python' in started ? started.python : undefined
afterAll(() => python?.close())

describe.each([...oracle.keys()])('%s', (name) => {
  const { h5py } = oracle.get(name)!
  const file = join(FORMATS, name)

  test('its arrays and attributes are those that h5py reads', { timeout: 60_000 }, async () => {
    if (UNOPENED[name] !== undefined) {
      const failure: unknown = await openHdf5(file, OPTIONS)
        .then(walkFile)
        .catch((error: unknown) => error)
      expect(isHyperslabError(failure) ? `${failure.tag} ${failure.message}` : failure).toMatch(UNOPENED[name]!)
      return
    }
    await using root = await openHdf5(file, OPTIONS)
    const { arrays, unreadable } = await walkFile(root)
    for (const [path, error] of unreadable) {
      const known = [...REFUSED, ...BROKEN].some(
        (each) => each[0].test(name) && each[1].test(path) && each[2].test(String(error)),
      )
      expect(known, `${path}: ${error}`).toBe(true)
    }
    expectAttributes(root.attrs, h5py?.attrs, '/')
    for (const [at, object] of Object.entries(h5py?.objects ?? {})) {
      const path = at.slice(1)
      if (object.kind === 'Dataset' && object.type !== undefined) await expectDataset(name, path, object, arrays, unreadable)
      if (object.kind === 'Group' && object.attrs !== undefined)
        expectAttributes((await root.group(path)).attrs, object.attrs, at)
    }
    const datasets = Object.values(h5py?.objects ?? {}).filter(({ kind }) => kind === 'Dataset')
    expect(arrays.size + unreadable.size > 0 || datasets.length === 0).toBe(true)
  })

  if (UNOPENED[name] !== undefined) return
  test.skipIf(python === undefined)('every element is the one that h5py reads', { timeout: 60_000 }, async () => {
    await using root = await openHdf5(file, OPTIONS)
    const { arrays } = await walkFile(root)
    let compared = 0
    for (const [path, array] of arrays) {
      compared++
      if ([...UNCOMPARED, UNDEFINED].some((each) => each.test(`${name} ${path}`))) continue
      const expected = (await python!.ask({ file, path, dtype: array.dtype })) as PythonElements
      const actual = { shape: [...array.shape], sha: digest(array.dtype, listOf(array.dtype, await array.get())) }
      expect(actual, `${path} ${expected.error}`).toEqual(expected)
    }
    expect(compared).toBe(arrays.size)
  })
})

test('every line of the list is needed', async () => {
  const needed = new Set<unknown>()
  for (const name of oracle.keys()) {
    if (UNOPENED[name] !== undefined) continue
    await using root = await openHdf5(join(FORMATS, name), OPTIONS)
    const { unreadable } = await walkFile(root)
    for (const [path, error] of unreadable)
      for (const each of [...REFUSED, ...BROKEN])
        if (each[0].test(name) && each[1].test(path) && each[2].test(String(error))) needed.add(each)
  }
  expect([...REFUSED, ...BROKEN].filter((each) => !needed.has(each)).map(String)).toEqual([])
  expect(REFUSED.length).toBeLessThanOrEqual(8)
})

async function expectDataset(
  name: string,
  path: string,
  object: OracleObject,
  arrays: ReadonlyMap<string, Hdf5Array>,
  unreadable: ReadonlyMap<string, Error>,
): Promise<void> {
  const array = arrays.get(path)
  if (array === undefined) {
    const fields = [...arrays.keys(), ...unreadable.keys()].filter((each) => each === path || each.startsWith(`${path}/`))
    expect(fields, path).not.toEqual([])
    for (const field of fields) {
      const values = object.values?.fields?.[field.slice(path.length + 1)]
      if (arrays.has(field) && values !== undefined) await expectValues(arrays.get(field)!, values, field)
    }
    return
  }
  const { innerShape } = array.index.plan
  expect([...array.shape], path).toEqual([...(object.shape ?? [0]), ...innerShape])
  if (object.chunks !== undefined) expect([...array.chunks.chunkShape], path).toEqual([...object.chunks, ...innerShape])
  expectAttributes(array.attrs, object.attrs, path)
  expectFill(array, object, path)
  const isRead = ![...UNCOMPARED, UNDEFINED].some((each) => each.test(`${name} ${path}`))
  if (object.values !== undefined && isRead) await expectValues(array, object.values, path)
}

function expectFill(array: Hdf5Array, { fill, shape }: OracleObject, path: string): void {
  const [value] = Array.isArray(fill) ? fill : []
  if (typeof value !== 'number' || shape === null) return
  const actual = array.source.fillValue
  // Zeros are stored as no fill value, too.
  expect(Number(actual ?? 0), path).toEqual(value)
}

async function expectValues(array: Hdf5Array, expected: OracleValues, path: string): Promise<void> {
  const elements = listOf(array.dtype, await array.get())
  const { target } = array.index.plan
  if (array.dtype === 'string' || (array.dtype === 'binary' && target === undefined)) return
  // The oracle has the numbers of all lists, one after another.
  const list = target?.kind === 'list' ? Array.from(elements as ArrayLike<Uint8Array>).flatMap((bytes) => Array.from<unknown>(fromBytes(target.items.dtype as FixedDType, bytes))) : elements // biome-ignore format: one line
  if (target === undefined && expected.sha256 !== undefined && expected.bytes !== undefined) {
    expect({ sha: digest(array.dtype, list), elements: list.length }, path).toEqual({
      sha: expected.sha256,
      elements: expected.elements,
    })
    return
  }
  if (typeof expected.sum !== 'number' || array.index.plan.isComplex) return
  expect(list.length, path).toBe(expected.elements)
  const numbers = Array.from(list, Number)
  const finite = numbers.filter(Number.isFinite)
  const magnitude = finite.reduce((sum, value) => sum + Math.abs(value), 0)
  expect(finite.length, path).toBe(expected.finite)
  expect(Math.abs(finite.reduce((sum, value) => sum + value, 0) - expected.sum), path).toBeLessThanOrEqual(1e-12 * magnitude)
  const [least, most] = finite.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity] as [number, number]) // biome-ignore format: one line
  // 0 is -0 here.
  expect([least + 0, most + 0], path).toEqual([Number(expected.min) + 0, Number(expected.max) + 0])
  for (const [at, value] of expected.at ?? []) expect(numbers[at], `${path} at ${at}`).toEqual(Number(value))
}

/** Classes whose values attributes have. */
const READ = ['integer', 'float', 'string', 'enum', 'array']

function expectAttributes(actual: Hdf5Attributes, expected: Readonly<Record<string, OracleAttribute>> = {}, path: string): void {
  for (const [name, attribute] of Object.entries(expected)) {
    if (name === '…' || attribute.error !== undefined) continue
    expect(actual.has(name), `${path}@${name}`).toBe(true)
    if (!READ.includes(attribute.type!) || attribute.shape === null) continue
    expect(shortened(actual.get(name)), `${path}@${name}`).toEqual(listed(attribute.value))
  }
}

/** Returns a value as the oracle shortens it. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.length <= 120 ? [value] : [{ length: value.length, start: value.slice(0, 120) }]
  const list = ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value as ArrayLike<unknown>, plain) : [plain(value)]
  const most = list.some((each) => typeof each === 'string') ? 4 : 8
  return list.length <= most ? list : { elements: list.length, start: list.slice(0, most) }
}

function plain(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  return typeof value === 'string' && value.length > 40 ? { length: value.length, start: value.slice(0, 40) } : value
}

function listed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => (typeof each === 'boolean' ? Number(each) : each))
  if (typeof value === 'object' && value !== null && 'elements' in value) return value
  return [typeof value === 'boolean' ? Number(value) : value]
}
