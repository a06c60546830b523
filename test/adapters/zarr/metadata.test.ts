import { expect, test } from 'vitest'
import type { ZarrArrayMetadata } from '../../../src/adapters/zarr/metadata.ts'
import { parseArray } from '../../../src/adapters/zarr/parse-array.ts'
import { parseJson } from '../../../src/core/json.ts'

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
    attrs: { units: 'm' },
  })
  expect(chunkKey([2, 1])).toBe('2.1')
})

const bytesOf = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes)
const facts = ({ dtype, kind, bytes, unit }: ZarrArrayMetadata['type']): unknown[] => [
  dtype,
  kind,
  bytes,
  ...(unit ? [unit] : []),
]

test.each([
  ['|b1', ['bool', 'bool', 1], undefined],
  ['|i1', ['int8', 'int', 1], undefined],
  ['<i2', ['int16', 'int', 2], 'little'],
  ['>i4', ['int32', 'int', 4], 'big'],
  ['<i8', ['int64', 'int', 8], 'little'],
  ['|u1', ['uint8', 'uint', 1], undefined],
  ['>u2', ['uint16', 'uint', 2], 'big'],
  ['<u4', ['uint32', 'uint', 4], 'little'],
  ['>u8', ['uint64', 'uint', 8], 'big'],
  ['<f2', ['float32', 'float', 2], 'little'],
  ['>f4', ['float32', 'float', 4], 'big'],
  ['<f8', ['float64', 'float', 8], 'little'],
  ['bfloat16', ['float32', 'bfloat16', 2], 'little'],
  ['<M8[ns]', ['timestamp_ns', 'datetime', 8, 'ns'], 'little'],
  ['>M8[10ms]', ['timestamp_ns', 'datetime', 8, '10ms'], 'big'],
  ['<m8[s]', ['int64', 'timedelta', 8, 's'], 'little'],
  ['<m8', ['int64', 'timedelta', 8, 'generic'], 'little'],
  ['|S5', ['binary', 'fixed-bytes', 5], undefined],
  ['<U3', ['string', 'fixed-text', 12], 'little'],
  ['>U3', ['string', 'fixed-text', 12], 'big'],
  ['|V7', ['binary', 'raw', 7], undefined],
])('the type %s of version 2', (dtype, expected, endian) => {
  const { type, codecs } = v2({ dtype, fill_value: null })
  expect(facts(type)).toEqual(expected)
  expect(codecs).toEqual([{ name: 'bytes', configuration: endian === undefined ? {} : { endian } }])
})

test('objects of version 2 are what stores them', () => {
  const stored = (id: string): ZarrArrayMetadata =>
    v2({ dtype: '|O', fill_value: null, filters: [{ id }], compressor: { id: 'zstd' } })
  expect(facts(stored('vlen-utf8').type)).toEqual(['string', 'string', undefined])
  expect(facts(stored('vlen-bytes').type)).toEqual(['binary', 'binary', undefined])
  expect(stored('vlen-utf8').codecs.map(({ name }) => name)).toEqual(['vlen-utf8', 'zstd'])
  for (const id of ['json2', 'pickle', 'categorize', 'vlen-array'])
    expect(tagOf(() => stored(id))).toMatch(new RegExp(`^UnsupportedError: .*array 'x'.*${id}`))
})

test.each([
  ['bool', ['bool', 'bool', 1]],
  ['uint64', ['uint64', 'uint', 8]],
  ['float16', ['float32', 'float', 2]],
  ['bfloat16', ['float32', 'bfloat16', 2]],
  [{ name: 'int16' }, ['int16', 'int', 2]],
  ['string', ['string', 'string', undefined]],
  ['bytes', ['binary', 'binary', undefined]],
  ['variable_length_bytes', ['binary', 'binary', undefined]],
  ['r24', ['binary', 'raw', 3]],
  [{ name: 'raw_bytes', configuration: { length_bytes: 3 } }, ['binary', 'raw', 3]],
  [{ name: 'null_terminated_bytes', configuration: { length_bytes: 3 } }, ['binary', 'fixed-bytes', 3]],
  [{ name: 'fixed_length_utf32', configuration: { length_bytes: 12 } }, ['string', 'fixed-text', 12]],
  [{ name: 'numpy.datetime64', configuration: { unit: 's', scale_factor: 1 } }, ['timestamp_ns', 'datetime', 8, 's']],
  [{ name: 'numpy.datetime64', configuration: { unit: 'ms', scale_factor: 10 } }, ['timestamp_ns', 'datetime', 8, '10ms']],
  [{ name: 'numpy.timedelta64', configuration: { unit: 'D', scale_factor: 1 } }, ['int64', 'timedelta', 8, 'D']],
])('the type %j of version 3', (data_type, expected) => {
  expect(facts(v3({ data_type, fill_value: null }).type)).toEqual(expected)
})

test.each([
  'complex32',
  'complex256',
  'complex_float16',
  'structured',
  'struct',
  'int4',
  'float8_e4m3',
  'my.type',
  'toString',
  '__proto__',
])('the type %s is refused by name', (data_type) => {
  expect(tagOf(() => v3({ data_type }))).toMatch(new RegExp(`^UnsupportedError: a.zarr: array 'x': .*${data_type}`))
  const name = data_type
  expect(tagOf(() => v3({ data_type: { name, configuration: {} } }))).toMatch(/^UnsupportedError: a.zarr: array 'x': /)
})

test.each([
  ['<c32', 'UnsupportedError'],
  [
    [
      ['a', '<i4'],
      ['b', '<f8'],
    ],
    'UnsupportedError',
  ],
  ['<M8[generic]', 'UnsupportedError'],
  ['<M8', 'UnsupportedError'],
  ['|O', 'UnsupportedError'],
  ['<f16', 'UnsupportedError'],
  ['<i4[s]', 'FormatError'],
  ['<M4[s]', 'FormatError'],
  ['<M8[years]', 'FormatError'],
  ['<M8[0s]', 'FormatError'],
  ['<x4', 'FormatError'],
  ['|b2', 'FormatError'],
  ['<i', 'UnsupportedError'],
  ['|S0', 'FormatError'],
  ['<U99999999999', 'FormatError'],
  ['', 'FormatError'],
  [4, 'FormatError'],
  [null, 'FormatError'],
])('the type %j of version 2 is refused', (dtype, tag) => {
  expect(tagOf(() => v2({ dtype, fill_value: null }))).toMatch(new RegExp(`^${tag}: a.zarr: array 'x': `))
})

test.each([
  ['int64', '-9223372036854775808', -(2n ** 63n)],
  ['int64', '9007199254740993', 9007199254740993n],
  ['int64', '1', 1n],
  ['int64', '"9007199254740993"', 9007199254740993n],
  ['uint64', '18446744073709551615', 2n ** 64n - 1n],
  ['int32', '-7', -7],
  ['int32', '7.0', 7],
  ['int32', '"7"', 7],
  ['bool', 'true', true],
  ['bool', '0', false],
  ['float32', '0.1', Math.fround(0.1)],
  ['float32', '"NaN"', Number.NaN],
  ['float32', 'NaN', Number.NaN],
  ['float32', '"Infinity"', Number.POSITIVE_INFINITY],
  ['float32', '"-Infinity"', Number.NEGATIVE_INFINITY],
  ['float32', '-Infinity', Number.NEGATIVE_INFINITY],
  ['float32', '"0x7fc00000"', Number.NaN],
  ['float32', '"0x7fc00001"', Number.NaN],
  ['float32', '"0x3F800000"', 1],
  ['float32', '-0.0', -0],
  ['float64', '"0x3ff0000000000000"', 1],
  ['float64', '100000000000000000000', 1e20],
  ['float64', '"1e-3"', 0.001],
  ['float16', '0.1', 0.0999755859375],
  ['float16', '65519.99', 65504],
  ['float16', '65520', Number.POSITIVE_INFINITY],
  ['float16', '-1e-7', -(2 ** -23)],
  ['float16', '2.9e-8', 0],
  ['float16', '"0x3c00"', 1],
  ['float16', '"0x0001"', 2 ** -24],
  ['float16', '"0xfc00"', Number.NEGATIVE_INFINITY],
  ['float16', '"0x7e00"', Number.NaN],
  ['bfloat16', '0.1', 0.10009765625],
  ['bfloat16', '"0x3f80"', 1],
  ['bfloat16', '3.4e38', Number.POSITIVE_INFINITY],
  ['string', '"ä"', 'ä'],
  ['string', '0', '0'],
  ['bytes', '"AAEC"', bytesOf(0, 1, 2)],
  ['bytes', '[0, 1, 255]', bytesOf(0, 1, 255)],
  ['bytes', '""', bytesOf()],
  ['r16', '"AAE="', bytesOf(0, 1)],
  ['r16', '[1, 2]', bytesOf(1, 2)],
  ['r16', '[1]', bytesOf(1, 0)],
  [{ name: 'null_terminated_bytes', configuration: { length_bytes: 4 } }, '"YWIAAA=="', bytesOf(97, 98)],
  [{ name: 'fixed_length_utf32', configuration: { length_bytes: 8 } }, '"😀b\\u0000"', '😀b'],
  [{ name: 'fixed_length_utf32', configuration: { length_bytes: 8 } }, '"abc"', 'ab'],
  [{ name: 'numpy.datetime64', configuration: { unit: 's', scale_factor: 1 } }, '10', 10_000_000_000n],
  [{ name: 'numpy.datetime64', configuration: { unit: 'ms', scale_factor: 10 } }, '-3', -30_000_000n],
  [{ name: 'numpy.datetime64', configuration: { unit: 'M', scale_factor: 1 } }, '-1', -2_678_400_000_000_000n],
  [{ name: 'numpy.datetime64', configuration: { unit: 'Y', scale_factor: 1 } }, '30', 946_684_800_000_000_000n],
  [{ name: 'numpy.datetime64', configuration: { unit: 'ps', scale_factor: 1 } }, '-5000', -5n],
  [{ name: 'numpy.datetime64', configuration: { unit: 'ns', scale_factor: 1 } }, '"NaT"', -(2n ** 63n)],
  [{ name: 'numpy.timedelta64', configuration: { unit: 's', scale_factor: 1 } }, '10', 10n],
  ['int8', 'null', undefined],
])('the fill value of %j spelt %s', (data_type, spelt, expected) => {
  const text = JSON.stringify({ ...V3, data_type, fill_value: 'HERE' }).replace('"HERE"', spelt)
  const { fillValue } = parseArray({ version: 3, metadata: jsonOf(text) }, WHERE)
  expect(fillValue).toStrictEqual(expected)
})

test.each([
  ['int8', '128'],
  ['int8', '0.5'],
  ['int8', '"NaN"'],
  ['int8', 'true'],
  ['int8', '[1]'],
  ['uint64', '-1'],
  ['uint64', '18446744073709551616'],
  ['int64', '9223372036854775808'],
  ['bool', '2'],
  ['bool', '"true"'],
  ['float32', '"nan"'],
  ['float32', '"0x7fc0x"'],
  ['float32', '"0x7fc000"'],
  ['float32', '"0x3f80"'],
  ['float32', '"0x3ff0000000000000"'],
  ['float64', '"0x3f800000"'],
  ['float16', '"0x3f800000"'],
  ['bfloat16', '"0x3f800000"'],
  ['float32', 'true'],
  ['string', '1.5'],
  ['string', '["a"]'],
  ['bytes', '"*"'],
  ['bytes', '[256]'],
  ['bytes', '1'],
])('what is no value of %s: %s', (data_type, spelt) => {
  const text = JSON.stringify({ ...V3, data_type, fill_value: 'HERE' }).replace('"HERE"', spelt)
  expect(tagOf(() => parseArray({ version: 3, metadata: jsonOf(text) }, WHERE))).toMatch(/^FormatError: /)
})

test('datetimes that are no nanoseconds of 64 bits are refused as that', () => {
  const of = (unit: string, fill_value: number) => tagOf(() => v2({ dtype: `<M8[${unit}]`, fill_value }))
  const text = /^UnsupportedError: .* is not a whole number of nanoseconds within 64 bits/
  for (const [unit, value] of [
    ['D', 200_000],
    ['Y', 400],
    ['Y', -400],
    ['M', 1e15],
    ['ps', 1],
    ['as', 5],
  ] as const)
    expect(of(unit, value)).toMatch(text)
})

test('without a fill value raw elements are zeros, times none, and others what their type begins with', () => {
  const fill = (dtype: string): unknown => v2({ dtype, fill_value: null }).fillValue
  expect(['|V3', '<M8[s]', '<m8[s]', '<i4', '|S3'].map(fill)).toEqual([
    bytesOf(0, 0, 0),
    -(2n ** 63n),
    -(2n ** 63n),
    undefined,
    undefined,
  ])
})

test('keys of chunks', () => {
  const key = (name: string, configuration: object | undefined, coords = [10, 0, 3]): string =>
    v3({
      chunk_key_encoding: configuration ? { name, configuration } : name,
      shape: coords,
      chunk_grid: { name: 'regular', configuration: { chunk_shape: coords.map(() => 1) } },
    }).chunkKey(coords)
  expect(key('default', {})).toBe('c/10/0/3')
  expect(key('default', undefined)).toBe('c/10/0/3')
  expect(key('default', { separator: '.' })).toBe('c.10.0.3')
  expect(key('default', {}, [])).toBe('c')
  expect(key('v2', {})).toBe('10.0.3')
  expect(key('v2', { separator: '/' })).toBe('10/0/3')
  expect(key('v2', {}, [])).toBe('0')
  expect(key('suffix', { suffix: '.tiff', base_encoding: { name: 'default' } })).toBe('c/10/0/3.tiff')
  expect(key('suffix', { suffix: '.shard.zip', 'base-encoding': 'v2' })).toBe('10.0.3.shard.zip')
  expect(v2({ dimension_separator: '/' }).chunkKey([1, 2])).toBe('1/2')
  expect(v2({ shape: [], chunks: [] }).chunkKey([])).toBe('0')
  for (const suffix of ['/../../x', '/..', '/', '//a', '/./a'])
    expect(tagOf(() => key('suffix', { suffix, base_encoding: 'default' }))).toMatch(/^FormatError: .*suffix/)
  expect(tagOf(() => key('suffix', { suffix: '.a' }))).toMatch(/^FormatError/)
  expect(tagOf(() => key('default', { separator: '-' }))).toMatch(/^FormatError/)
  expect(tagOf(() => key('fanout', {}))).toMatch(/^UnsupportedError: .*'fanout'/)
})

test('rectilinear grids, with lengths that come several times', () => {
  const chunksOf = (shape: number[], chunk_shapes: unknown, kind = 'inline'): unknown =>
    v3({ shape, chunk_grid: { name: 'rectilinear', configuration: { kind, chunk_shapes } } }).chunks
  // The example of its specification.
  const shapes = [[[2, 3]], [[1, 6]], [1, [2, 1], 3], [[1, 3], 3], [6]]
  expect(chunksOf([6, 6, 6, 6, 6], shapes)).toEqual([[2, 2, 2], [1, 1, 1, 1, 1, 1], [1, 2, 3], [1, 1, 1, 3], [6]])
  expect(chunksOf([6, 5], [4, [2, 3]])).toEqual([4, [2, 3]])
  // Chunks behind the end of the axis do not exist.
  expect(chunksOf([5, 0], [[2, 2, 2, [7, 1e9]], [[3, 2]]])).toEqual([[2, 2, 2], []])
  expect(tagOf(() => chunksOf([6, 5], [4, [2, 2]]))).toMatch(/^FormatError: .*axis 1 end at 4, the axis at 5/)
  for (const wrong of [
    [[0, 6], [5]],
    [[-1, 7], [5]],
    [[6]],
    [[6], [5], [1]],
    'x',
    [[6], [[1, 5, 2]]],
    [0, 5],
    [6, '5'],
    [[[2, 1.5]], 5],
  ])
    expect(tagOf(() => chunksOf([6, 5], wrong))).toMatch(/^FormatError/)
  expect(tagOf(() => chunksOf([2 ** 40], [[[1, 2 ** 40]]]))).toMatch(/^UnsupportedError: .*more than 4194304/)
  expect(tagOf(() => chunksOf([6], [[6]], 'remote'))).toMatch(/^UnsupportedError: .*"remote"/)
  expect(tagOf(() => v3({ chunk_grid: { name: 'hexagonal' } }))).toMatch(/^UnsupportedError: .*'hexagonal'/)
})

test('codecs as objects and as names, with and without the prefix of numcodecs', () => {
  const codecs = [
    { name: 'numcodecs.delta', configuration: { dtype: '<i4' } },
    'bytes',
    { name: 'gzip', configuration: { level: 1 } },
    { name: 'crc32c' },
  ]
  expect(v3({ codecs }).codecs).toEqual([
    { name: 'delta', configuration: { dtype: '<i4' } },
    { name: 'bytes', configuration: {} },
    { name: 'gzip', configuration: { level: 1 } },
    { name: 'crc32c', configuration: {} },
  ])
  for (const wrong of [[], 'bytes', [1], [{}], [{ name: 1 }], [{ name: 'bytes', configuration: [] }]])
    expect(tagOf(() => v3({ codecs: wrong }))).toMatch(/^FormatError/)
  expect(tagOf(() => v3({ codecs: [{ name: 'bytes', level: 1 }] }))).toMatch(/^UnsupportedError: .*'level'/)
})

test('unknown members are refused unless they need not be understood', () => {
  expect(tagOf(() => v3({ crypto: { key: 1 } }))).toMatch(/^UnsupportedError: .*'crypto'/)
  expect(tagOf(() => v3({ crypto: false }))).toMatch(/^UnsupportedError: .*'crypto'/)
  expect(v3({ crypto: { must_understand: false } }).shape).toEqual([10, 7])
  expect(tagOf(() => v3({ storage_transformers: [{ name: 'x' }] }))).toMatch(/^UnsupportedError: .*storage transformers/)
  expect(v3({ storage_transformers: [] }).shape).toEqual([10, 7])
  // Version 2 lets writers add what they want.
  expect(v2({ crypto: 1 }).shape).toEqual([10, 7])
})

test('names of axes', () => {
  const names = (dimension_names: unknown, attributes = {}): unknown => v3({ dimension_names, attributes }).dimensionNames
  expect(names(['y', 'x'])).toEqual(['y', 'x'])
  expect(names(['y', null])).toEqual(['y', ''])
  expect(names([null, null])).toBeUndefined()
  expect(names(null)).toBeUndefined()
  expect(names(undefined, { _ARRAY_DIMENSIONS: ['y', 'x'] })).toEqual(['y', 'x'])
  for (const wrong of [['y'], ['y', 1], 'yx', ['y', 'x', 'z']]) expect(tagOf(() => names(wrong))).toMatch(/^FormatError/)
  expect(v2({}, { _ARRAY_DIMENSIONS: ['y', 'x'] }).dimensionNames).toEqual(['y', 'x'])
  expect(v2({ _NCZARR_ARRAY: { dimrefs: ['/g/y', '/x'], storage: 'chunked' } }, {}).dimensionNames).toEqual(['y', 'x'])
  expect(v2({}, { _nczarr_array: { dimension_references: ['/g/y', '/x'] } }).dimensionNames).toEqual(['y', 'x'])
  expect(v2({ _NCZARR_ARRAY: { dimrefs: [] } }, {}).dimensionNames).toBeUndefined()
  expect(tagOf(() => v2({}, { _ARRAY_DIMENSIONS: ['y'] }))).toMatch(/^FormatError/)
})

test('order F is a transposition, but of one axis', () => {
  expect(v2({ order: 'F', shape: [1, 2, 3], chunks: [1, 1, 1] }).codecs[0]).toEqual({
    name: 'transpose',
    configuration: { order: [2, 1, 0] },
  })
  expect(v2({ order: 'F', shape: [5], chunks: [2] }).codecs.map(({ name }) => name)).toEqual(['bytes'])
  for (const order of ['A', undefined, 1]) expect(tagOf(() => v2({ order }))).toMatch(/^FormatError/)
})

test('integers of attributes stay exact, and what Python writes of floats is read', () => {
  const attributes = jsonOf('{"id": 12345678901234567890, "range": [NaN, -Infinity, 1e400], "text": "NaN, 12345678901234567890"}')
  expect(parseArray({ version: 2, metadata: V2, attributes }, WHERE).attrs).toEqual({
    id: 12345678901234567890n,
    range: [Number.NaN, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY],
    text: 'NaN, 12345678901234567890',
  })
})

test.each([
  [{ shape: [-1, 7] }],
  [{ shape: [1.5, 7] }],
  [{ shape: [2 ** 53, 7] }],
  [{ shape: [2 ** 30, 2 ** 30] }],
  [{ shape: ['10', 7] }],
  [{ shape: undefined }],
  [{ shape: Array(65).fill(1), chunks: Array(65).fill(1) }],
  [{ chunks: [0, 3] }],
  [{ chunks: [4, 3, 1] }],
  [{ zarr_format: 3 }],
  [{ filters: [null] }],
  [{ filters: [{ level: 1 }] }],
  [{ compressor: 'zlib' }],
  [{ dimension_separator: '-' }],
])('version 2 with %j is no array', (changes) => {
  expect(tagOf(() => v2(changes))).toMatch(/^FormatError: a.zarr: array 'x': /)
})

test('an empty array may have empty chunks', () => {
  expect(v2({ shape: [0, 7], chunks: [0, 3] }).chunks).toEqual([1, 3])
})

test('what is refused names file, array and reason', () => {
  expect(tagOf(() => v3({ data_type: 'int4' }))).toBe("UnsupportedError: a.zarr: array 'x': the data type 'int4' cannot be read")
  expect(tagOf(() => v2({ chunks: [4] }))).toBe("FormatError: a.zarr: array 'x': chunks [4] has 1 axes, the array [10, 7] has 2")
})
