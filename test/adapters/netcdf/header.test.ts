import { describe, expect, test } from 'vitest'
import { scaled } from '../../../src/runtime/index.ts'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { utf8, type WriterAttribute, writeNetcdf } from '../../support/netcdf-writer.ts'
import { CountingFile, open, valuesOf, variable } from './support.ts'

const attribute = async (...attributes: WriterAttribute[]) => (await open({ attributes })).attrs

describe('the header', () => {
  test('an empty file has nothing', async () => {
    const file = await open({})
    expect([file.dimensions, [...file.attrs], file.variables]).toEqual([[], [], []])
  })

  test('dimensions, in order, with the record dimension at its length', async () => {
    const file = await open({
      dimensions: [
        ['x', 3],
        ['time', 0],
        ['größe', 2],
      ],
      records: 5,
    })
    expect(file.dimensions).toEqual([
      { name: 'x', length: 3, isRecord: false },
      { name: 'time', length: 5, isRecord: true },
      { name: 'größe', length: 2, isRecord: false },
    ])
  })

  test('opening reads 64 KiB and no data', async () => {
    const values = new Array(50_000).fill(7)
    const counting = new CountingFile(
      writeNetcdf({ dimensions: [['x', 50_000]], variables: [{ name: 'v', type: 'int', dimensions: ['x'], values }] }),
    )
    await openNetcdf(counting)
    expect(counting.slices).toEqual([[0, 65536]])
  })

  test('a small file is read no further than its end', async () => {
    const counting = new CountingFile(writeNetcdf({}))
    await openNetcdf(counting)
    expect(counting.slices).toEqual([[0, 32]])
  })

  test.each([
    ['char', 'é'.repeat(100_000)],
    ['byte', new Array(200_000).fill(255)],
    ['double', new Array(25_000).fill(0.5)],
  ] as const)('a header with a long %s attribute is read by doubling, each byte once', async (type, value) => {
    const counting = new CountingFile(
      writeNetcdf({
        attributes: [{ name: 'long', type, value }],
        dimensions: [['x', 100_000]],
        variables: [{ name: 'v', type: 'int', dimensions: ['x'], values: new Array(100_000).fill(-3) }],
      }),
    )
    const file = await openNetcdf(counting)
    expect(counting.slices).toEqual([
      [0, 65536],
      [65536, 131072],
      [131072, 262144],
    ])
    const long = file.attrs.get('long') as string | ArrayLike<number>
    expect(long.length).toBe(type === 'char' ? 100_000 : value.length)
    expect(long[long.length - 1]).toBe(type === 'byte' ? -1 : type === 'char' ? 'é' : 0.5)
    expect(await variable(file, 'v').get([99_999])).toBe(-3)
  })

  test('a long header is read to where data begin, if its start says so', async () => {
    const long: WriterAttribute = { name: 'long', type: 'byte', value: new Array(300_000).fill(1) }
    const v = { name: 'v', type: 'int', dimensions: ['x'], values: [1, -2, 3] } as const
    const bytes = writeNetcdf({ dimensions: [['x', 3]], variables: [v, { ...v, name: 'w', attributes: [long] }] })
    const counting = new CountingFile(bytes)
    const file = await openNetcdf(counting)
    // The data of both variables take 12 bytes each.
    expect(counting.slices).toEqual([
      [0, 65536],
      [65536, bytes.length - 24],
    ])
    expect(await valuesOf(variable(file, 'w'))).toEqual([1, -2, 3])
  })

  test('a header that ends anywhere around the first prefix is read', async () => {
    for (let length = 65_350; length <= 65_550; length += 4) {
      const file = await open({
        attributes: [{ name: 'a', type: 'byte', value: new Array(length).fill(1) }],
        dimensions: [['x', 2]],
        variables: [
          {
            name: 'v',
            type: 'short',
            dimensions: ['x'],
            attributes: [{ name: 'units', type: 'char', value: 'K' }],
            values: [5, -6],
          },
        ],
      })
      expect(file.attrs.get('a')).toHaveLength(length)
      expect(await valuesOf(variable(file, 'v'))).toEqual([5, -6])
    }
  })

  test('slices may be synchronous, ArrayBuffers, or views into something larger', async () => {
    const bytes = writeNetcdf({
      dimensions: [['x', 3]],
      variables: [{ name: 'v', type: 'double', dimensions: ['x'], values: [1, 2, 3] }],
    })
    const inside = new Uint8Array(bytes.length + 7)
    inside.set(bytes, 3)
    for (const slice of [
      (start: number, end: number) => bytes.slice(start, end).buffer,
      (start: number, end: number) => inside.subarray(start + 3, end + 3),
      async (start: number, end: number) => Buffer.from(bytes).subarray(start, end),
    ]) {
      const file = await openNetcdf({ byteLength: bytes.length, slice })
      expect(await valuesOf(variable(file, 'v'))).toEqual([1, 2, 3])
    }
  })
})

describe('attributes', () => {
  test.each([
    ['byte', [-5], { type: 'int8', value: -5 }],
    ['byte', [200], { type: 'int8', value: -56 }],
    ['byte', [1, 255, 128], { type: 'int8[]', value: Int8Array.of(1, -1, -128) }],
    ['short', [-300], { type: 'int16', value: -300 }],
    ['short', [-300, 7, 9], { type: 'int16[]', value: Int16Array.of(-300, 7, 9) }],
    ['int', [-(2 ** 31)], { type: 'int32', value: -(2 ** 31) }],
    ['int', [1, 2], { type: 'int32[]', value: Int32Array.of(1, 2) }],
    ['float', [1e20], { type: 'float32', value: Math.fround(1e20) }],
    ['float', [Number.NaN, -0], { type: 'float32[]', value: Float32Array.of(Number.NaN, -0) }],
    ['double', [Math.PI], { type: 'float64', value: Math.PI }],
    ['double', [Math.PI, 1e300], { type: 'float64[]', value: Float64Array.of(Math.PI, 1e300) }],
    ['short', [], { type: 'int16[]', value: new Int16Array(0) }],
    ['byte', [], { type: 'int8[]', value: new Int8Array(0) }],
    ['char', 'K', { type: 'string', value: 'K' }],
    ['char', '', { type: 'string', value: '' }],
    ['char', 'm s⁻¹ é漢😀', { type: 'string', value: 'm s⁻¹ é漢😀' }],
    ['char', 'padded\0\0\0', { type: 'string', value: 'padded' }],
    ['char', 'in\0side', { type: 'string', value: 'in\0side' }],
    ['char', '\ufeffmark', { type: 'string', value: '\ufeffmark' }],
    // Latin-1, and bytes that windows-1252 would read otherwise.
    ['char', [0xb0, 0x43], { type: 'string', value: '°C' }],
    ['char', [0x80, 0xff], { type: 'string', value: '\u0080ÿ' }],
  ] as const)('%s %j', async (type, value, expected) => {
    expect((await attribute({ name: 'a', type, value })).typed('a')).toEqual(expected)
  })

  test('names are UTF-8, the order is that of the file, the first of a name counts', async () => {
    const attributes = await attribute(
      { name: 'straße', type: 'int', value: [1] },
      { name: 'b', type: 'byte', value: [1, 2, 3] },
      { name: 'a', type: 'short', value: [3] },
      { name: 'b', type: 'char', value: 'again' },
    )
    expect([...attributes.keys()]).toEqual(['straße', 'b', 'a'])
    expect(attributes.typed('b')!.type).toBe('int8[]')
    expect(attributes.get('b')).toEqual(Int8Array.of(1, 2, 3))
  })

  test('variables have their own', async () => {
    const attributes: WriterAttribute[] = [{ name: 'units', type: 'char', value: '°C' }]
    const file = await open({ variables: [{ name: 'température', type: 'int', dimensions: [], attributes, values: [4] }] })
    expect(file.attrs.size).toBe(0)
    expect([...variable(file, 'température').attrs]).toEqual([['units', '°C']])
  })
})

describe('fill values', () => {
  const fill = async (type: 'byte' | 'char' | 'short' | 'int' | 'float' | 'double', value?: WriterAttribute) => {
    const attributes = value === undefined ? [] : [value]
    const values = type === 'char' ? utf8('abcd') : [1, 2, 3, 4]
    const file = await open({ dimensions: [['x', 4]], variables: [{ name: 'v', type, dimensions: ['x'], attributes, values }] })
    return file.variables[0]!.fillValue
  }
  const named = (type: WriterAttribute['type'], value: WriterAttribute['value']): WriterAttribute => ({
    name: '_FillValue',
    type,
    value,
  })

  test.each([
    ['float', named('float', [1e20]), Math.fround(1e20)],
    ['float', named('double', [1e20]), Math.fround(1e20)],
    ['double', named('double', [Number.NaN]), Number.NaN],
    ['byte', named('byte', [129]), -127],
    ['byte', named('short', [-127]), -127],
    ['short', named('short', [-32767]), -32767],
    ['int', named('float', [-1]), -1],
    // The first of several, which are all missing.
    ['float', named('float', [1, 2]), 1],
    // The defaults of the library.
    ['byte', undefined, -127],
    ['short', undefined, -32767],
    ['int', undefined, -2147483647],
    ['float', undefined, 9.969209968386869e36],
    ['double', undefined, 9.969209968386869e36],
    // A row of fill characters.
    ['char', named('char', ' '), '    '],
    ['char', named('char', [0]), ''],
    ['char', named('char', [0xff]), 'ÿÿÿÿ'],
  ] as const)('%s from %j', async (type, attribute, expected) => {
    expect(await fill(type, attribute)).toBe(expected)
  })

  test.each([
    ['byte', named('short', [200])],
    ['short', named('float', [1e20])],
    ['int', named('double', [0.5])],
    ['float', named('char', 'x')],
    ['char', undefined],
    ['char', named('char', 'ab')],
    ['char', named('byte', [1])],
  ] as const)('%s has none from %j', async (type, attribute) => {
    expect(await fill(type, attribute)).toBeUndefined()
  })

  test('missing are they and all of missing_value that elements can be', async () => {
    const attributes: WriterAttribute[] = [named('short', [-9]), { name: 'missing_value', type: 'double', value: [2, 0.5, 1e9] }]
    const values = [1, 2, -9, 4]
    const file = await open({
      dimensions: [['x', 4]],
      variables: [{ name: 'v', type: 'short', dimensions: ['x'], attributes, values }],
    })
    const array = file.variables[0]!
    expect(array.missing).toEqual({ values: [-9, 2], nan: false })
    expect([await array.sum(), await array.sum({ skipMissing: false })]).toEqual([5, -2])
  })

  test.each([
    ['short', -32767],
    ['int', -2147483647],
    ['float', 9.969209968386869e36],
    ['double', 9.969209968386869e36],
    // All values of bytes are valid.
    ['byte', -127],
  ] as const)('without _FillValue, the default of %s is missing, whatever missing_value says', async (type, unwritten) => {
    const declared: [string, WriterAttribute[], number[]][] = [
      ['none', [], [unwritten]],
      ['missing_value', [{ name: 'missing_value', type, value: [2] }], [2, unwritten]],
      ['_FillValue', [named(type, [4])], [4]],
      ['no fill value of the type', [named('char', 'x')], []],
    ]
    const dimensions: [string, number][] = [['x', 4]]
    const values = [1, 2, unwritten, 4]
    const variables = declared.map(([name, attributes]) => ({ name, type, dimensions: ['x'], attributes, values }))
    const file = await open({ dimensions, variables })
    for (const [name, , missing] of declared) {
      const expected = missing.filter((value) => type !== 'byte' || value !== -127)
      const array = variable(file, name)
      expect(array.missing).toEqual({ values: expected, nan: false })
      const taken = values.filter((value) => !expected.includes(value))
      expect([await array.count(), await array.min()]).toEqual([taken.length, Math.min(...taken)])
      // Unpacked by its attributes, the same elements are missing.
      if (name !== 'no fill value of the type') expect(await scaled(array).count({ skipNaN: true })).toBe(taken.length)
    }
  })
})
