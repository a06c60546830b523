import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { Hierarchy } from '../../../src/adapters/zarr/hierarchy.ts'
import { parseArray } from '../../../src/adapters/zarr/parse-array.ts'
import { missingElements } from '../../../src/array/missing.ts'
import { missingTest } from '../../../src/array/missing-test.ts'
import { type DType, toElement } from '../../../src/core/dtype.ts'
import { zarrPython } from '../../support/python.ts'
import { type MatrixFill, readerOf, scalarOf } from './matrix.ts'

const SCRIPT = fileURLToPath(new URL('missing.py', import.meta.url))
const env = zarrPython()
const folder = mkdtempSync(join(tmpdir(), 'hyperslab-missing-'))
afterAll(() => rmSync(folder, { recursive: true }))

test.skipIf(env === undefined)('missing are the elements that xarray masks', async () => {
  const answers: readonly { group: string; elements: MatrixFill[]; mask: boolean[] }[] = JSON.parse(
    execFileSync('python3', [SCRIPT, folder], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }),
  )
  expect(answers.length).toBeGreaterThan(200)
  const found = new Map<string, boolean[]>()
  const expected = new Map<string, boolean[]>()
  const ofNaN: string[] = []
  for (const { group, elements, mask } of answers) {
    const node = await new Hierarchy(readerOf(join(folder, group)), { file: group }).node('x')
    if (node?.kind !== 'array') throw new Error(`${group} has no array`)
    const { type, fillValue, missing } = node.metadata
    const isMissing = missingTest(missingElements({ dtype: type.dtype, fillValue, missing })) ?? (() => false)
    const list = elements.map((element) => scalarOf(element, type.dtype))
    found.set(
      group,
      list.map((element) => isMissing(toElement(type.dtype, element))),
    )
    if (missing!.nan) ofNaN.push(group)
    // xarray has no other way to say that a float is missing, so every NaN looks so there.
    expected.set(
      group,
      mask.map((masked, i) => masked && (missing!.nan || !Number.isNaN(list[i]))),
    )
  }
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
  expect(ofNaN).toEqual(['2-f4_nan', '2-f8_nan', '3-f4_nan_attribute', '3-f8_nan_attribute'])
})

const missingOf = (metadata: object, attributes: object): { values: readonly unknown[]; nan: boolean } | undefined =>
  parseArray({ version: 2, metadata: { ...V2, ...metadata }, attributes }, { file: 'a.zarr' }).missing

const V2 = {
  zarr_format: 2,
  shape: [4],
  chunks: [2],
  dtype: '<f4',
  compressor: null,
  fill_value: -1,
  order: 'C',
  filters: null,
}

test('in version 2 nothing is missing unless axes have names, by xarray or by NCZarr', () => {
  expect(missingOf({}, {})).toEqual({ values: [], nan: false })
  expect(missingOf({}, { missing_value: 1, _FillValue: 2 })).toEqual({ values: [], nan: false })
  expect(missingOf({}, { _ARRAY_DIMENSIONS: ['x'] })).toEqual({ values: [-1], nan: false })
  expect(missingOf({ _NCZARR_ARRAY: { dimrefs: ['/g/x'] } }, {})).toEqual({ values: [-1], nan: false })
  expect(missingOf({}, { _nczarr_array: { dimension_references: ['/g/x'] } })).toEqual({ values: [-1], nan: false })
})

test('what is no time is missing in every array of times', () => {
  expect(missingOf({ dtype: '<M8[s]', fill_value: 0 }, {})).toEqual({ values: [-(2n ** 63n)], nan: false })
})

test('values of attributes are rounded to the type, as a writer has rounded its elements', () => {
  const attributes = { _ARRAY_DIMENSIONS: ['x'], missing_value: 1e20 }
  const dtype: DType = 'float32'
  const packed = Buffer.from(Float64Array.of(0.1).buffer).toString('base64')
  expect(missingOf({ fill_value: null }, { ...attributes, _FillValue: packed })!.values[0]).toBe(Math.fround(0.1))
  expect(missingOf({ fill_value: 0.1 }, attributes)!.values).toEqual([toElement(dtype, 0.1), toElement(dtype, 1e20)])
  expect(missingOf({ fill_value: 0.1, dtype: '<f2' }, { ...attributes, missing_value: 2049 })!.values).toEqual([
    0.0999755859375, 2048,
  ])
})
