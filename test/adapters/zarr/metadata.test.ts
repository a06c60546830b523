import { expect, test } from 'vitest'
import { parseJson } from '../../../src/adapters/zarr/json.ts'
import type { ZarrArrayMetadata } from '../../../src/adapters/zarr/metadata.ts'
import { parseArray } from '../../../src/adapters/zarr/parse-array.ts'

const WHERE = { file: 'a.zarr', array: 'x' }

const V2 = {
  zarr_format: 2,
  shape: [10, 7],
  chunks: [4, 3],
  dtype: '<i4',
  compressor: null,
  fill_value: 0,
  order: 'C',
  filters: null,
}
const V3 = {
  zarr_format: 3,
  node_type: 'array',
  shape: [10, 7],
  data_type: 'int32',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [4, 3] } },
  chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
  fill_value: 0,
  codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
}

/** By way of JSON, so that what only JSON can say is said. */
const jsonOf = (value: unknown): unknown => parseJson(typeof value === 'string' ? value : JSON.stringify(value), 'test')
const v2 = (changes: object = {}, attributes?: object): ZarrArrayMetadata =>
  parseArray({ version: 2, metadata: jsonOf({ ...V2, ...changes }), attributes: attributes && jsonOf(attributes) }, WHERE)
const v3 = (changes: object = {}): ZarrArrayMetadata => parseArray({ version: 3, metadata: jsonOf({ ...V3, ...changes }) }, WHERE)
const tagOf = (work: () => unknown): unknown => {
  try {
    return work()
  } catch (error) {
    return `${(error as { tag: string }).tag}: ${(error as Error).message}`
  }
}

test('a regular array of version 3', () => {
  const { chunkKey, ...facts } = v3()
  expect(facts).toEqual({
    version: 3,
    shape: [10, 7],
    chunks: [4, 3],
    type: { dtype: 'int32', kind: 'int', bytes: 4 },
    codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
    fillValue: 0,
    missing: { values: [], nan: false },
    dimensionNames: undefined,
    attrs: {},
  })
  expect(chunkKey([2, 1])).toBe('c/2/1')
})

test('a regular array of version 2, its codecs in the order of version 3', () => {
  const shuffle = { id: 'shuffle', elementsize: 4 }
  const { chunkKey, ...facts } = v2(
    { dtype: '>i4', order: 'F', filters: [shuffle], compressor: { id: 'zlib', level: 1 }, fill_value: -7 },
    { _ARRAY_DIMENSIONS: ['y', 'x'], units: 'm' },
  )
  expect(facts).toEqual({
    version: 2,
    shape: [10, 7],
    chunks: [4, 3],
    type: { dtype: 'int32', kind: 'int', bytes: 4 },
    codecs: [
      { name: 'transpose', configuration: { order: [1, 0] } },
      { name: 'bytes', configuration: { endian: 'big' } },
      { name: 'shuffle', configuration: { elementsize: 4 } },
      { name: 'zlib', configuration: { level: 1 } },
    ],
    fillValue: -7,
    missing: { values: [-7], nan: false },
    dimensionNames: ['y', 'x'],
    attrs: { _ARRAY_DIMENSIONS: ['y', 'x'], units: 'm' },
  })
  expect(chunkKey([2, 1])).toBe('2.1')
})

test('what is refused names file, array and reason', () => {
  expect(tagOf(() => v3({ data_type: 'complex64' }))).toBe(
    "UnsupportedError: a.zarr: array 'x': complex numbers cannot be read: complex64",
  )
  expect(tagOf(() => v2({ chunks: [4] }))).toBe("FormatError: a.zarr: array 'x': chunks [4] has 1 axes, the array [10, 7] has 2")
})
