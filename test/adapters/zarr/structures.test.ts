import { describe, expect, test } from 'vitest'
import type { ZarrArray, ZarrGroup } from '../../../src/adapters/zarr/group.ts'
import { encodeBase64 } from '../../../src/core/base64.ts'
import { slice } from '../../../src/grid/slice.ts'
import { createZarr, openZarr } from '../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { AskedStore } from './handmade.ts'

const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

/** Structures of 14 bytes: id, a list of two structures of a float and a byte, and a big-endian number. */
const DTYPE = [
  ['id', '<u2'],
  ['', '|V1'],
  [
    'parts',
    [
      ['x', '<f4'],
      ['flag', '|b1'],
    ],
    [2],
  ],
  ['n', '>i2'],
]
const BYTES = 15

/** Bytes of structure `i`: id is `i`, x is `i + 0.5` and `i + 0.25`, flags are true and false, n is `-i`. */
function structure(i: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(BYTES))
  view.setUint16(0, i, true)
  view.setFloat32(3, i + 0.5, true)
  view.setUint8(7, 1)
  view.setFloat32(8, i + 0.25, true)
  view.setInt16(13, -i)
  return new Uint8Array(view.buffer)
}

const ARRAY2 = { zarr_format: 2, order: 'C', filters: null, compressor: null }
const ARRAY3 = {
  zarr_format: 3,
  node_type: 'array',
  shape: [4],
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
  chunk_key_encoding: { name: 'default' },
  codecs: [{ name: 'bytes', configuration: { endian: 'little' } }],
}
const structV3 = (fields: unknown, name = 'struct'): unknown => ({ name, configuration: { fields } })

/** A group with a table of 5 structures, of which the chunk with the last one is not stored. */
async function table(changes: object = {}): Promise<AskedStore> {
  const asked = new AskedStore()
  const { inner } = asked
  const metadata = { ...ARRAY2, shape: [5], chunks: [2], dtype: DTYPE, fill_value: encodeBase64(structure(9)), ...changes }
  await inner.put('.zgroup', json({ zarr_format: 2 }))
  await inner.put('table/.zarray', json(metadata))
  await inner.put('table/.zattrs', json({ _ARRAY_DIMENSIONS: ['row'], units: 'm' }))
  for (const chunk of [0, 1])
    await inner.put(`table/${chunk}`, Uint8Array.from([0, 1].flatMap((k) => [...structure(2 * chunk + k)])))
  return asked
}

const openGroup = async ({ store }: AskedStore): Promise<ZarrGroup> => openZarr({ store, path: '' }, { kind: 'group' })

describe('structures', () => {
  test('are groups of their fields, with the attributes of the array', async () => {
    const group = await openGroup(await table())
    expect([await group.groups(), await group.arrays()]).toEqual([['table'], []])
    const node = await group.group('table')
    expect([node.isStructure, await node.groups(), await node.arrays()]).toEqual([true, ['parts'], ['id', 'n']])
    expect([await (await node.group('parts')).arrays(), [...(await node.unreadable())]]).toEqual([['x', 'flag'], []])
    node.refresh()
    expect([await node.arrays(), await (await node.group('parts')).arrays()]).toEqual([
      ['id', 'n'],
      ['x', 'flag'],
    ])
    for (const of of [node, await node.array('n'), await group.array('table/parts/x')]) expect(of.attrs.get('units')).toBe('m')
  })

  test('have fields that are read from each chunk in place', async () => {
    const asked = await table()
    const group = await openGroup(asked)
    const x = await group.array('table/parts/x', 'float32', 2)
    expect([x.shape, x.dimensionNames, x.chunks.chunkShape]).toEqual([
      [5, 2],
      ['row', ''],
      [2, 2],
    ])
    asked.take()
    expect((await x.get([slice(1, 3), 1])).data).toEqual(Float32Array.of(1.25, 2.25))
    expect(asked.take()).toEqual(['get table/0', 'get table/1'])
    expect((await x.toTensor()).data).toEqual(Float32Array.of(0.5, 0.25, 1.5, 1.25, 2.5, 2.25, 3.5, 3.25, 9.5, 9.25))
    const n = await group.array('table/n', 'int16')
    expect((await n.toTensor()).data).toEqual(Int16Array.of(0, -1, -2, -3, -9))
    expect((await (await group.array('table/parts/flag', 'bool')).toTensor()).data).toEqual(
      Uint8Array.of(1, 0, 1, 0, 1, 0, 1, 0, 1, 0),
    )
    expect([n.fillValue, x.fillValue, (await group.array('table/id')).fillValue]).toEqual([-9, undefined, 9])
    // The fill value of version 2 is missing where axes have names.
    expect(await n.count()).toBe(4)
    expect(String(n)).toContain("'n', int16 [5] (row), chunks [2]")
  })

  test('decode each field apart where several share a cache', async () => {
    const group = await openGroup(await table())
    const [id, n] = [await group.array('table/id'), await group.array('table/n')]
    for (let round = 0; round < 3; round++) {
      expect(await id.get([1])).toBe(1)
      expect(await n.get([1])).toBe(-1)
    }
  })

  test('open as the place itself', async () => {
    const { store } = await table()
    const at = { store, path: 'table' }
    expect((await (await openZarr(at, { kind: 'group' })).array('n')).shape).toEqual([5])
    await expect(openZarr(at, { kind: 'array' })).rejects.toThrow(/the place holds a group/)
    await expect((await openZarr({ store, path: '' }, { kind: 'group' })).array('table')).rejects.toThrow(
      /it is a group, not an array/,
    )
  })

  test('have unknown fields, which cost no more requests than unknown arrays', async () => {
    const asked = await table()
    const group = await openGroup(asked)
    for (const name of ['table/y', 'table/parts/y', 'table/n/y', 'table/id/toString'])
      await expect(group.array(name)).rejects.toMatchObject({ tag: 'UnknownArrayError' })
    asked.take()
    await expect(group.array('nothing')).rejects.toMatchObject({ tag: 'UnknownArrayError' })
    expect(asked.take()).toEqual(['get nothing/.zarray', 'get nothing/.zattrs', 'get nothing/.zgroup'])
  })

  test('are read by their names in version 3, in the byte order of the codec', async () => {
    const store = new MemoryStore()
    const fields = [
      { name: 'a', data_type: 'int16' },
      {
        name: 'b',
        data_type: structV3(
          [
            ['c', 'complex64'],
            ['d', 'uint8'],
          ],
          'structured',
        ),
      },
    ]
    const metadata = { ...ARRAY3, data_type: structV3(fields), fill_value: { a: -1, b: { c: ['NaN', 2], d: 7 } } }
    for (const [name, endian] of [
      ['little', 'little'],
      ['big', 'big'],
    ] as const)
      await store.put(`${name}/zarr.json`, json({ ...metadata, codecs: [{ name: 'bytes', configuration: { endian } }] }))
    for (const isLittle of [true, false]) {
      const chunk = new DataView(new ArrayBuffer(22))
      chunk.setInt16(11, 300, isLittle)
      chunk.setFloat32(13, 1.5, isLittle)
      chunk.setFloat32(17, -2.5, isLittle)
      chunk.setUint8(21, 5)
      const path = isLittle ? 'little' : 'big'
      await store.put(`${path}/c/1`, new Uint8Array(chunk.buffer))
      const group = await openZarr({ store, path }, { kind: 'group' })
      expect((await (await group.array('a')).toTensor()).data).toEqual(Int16Array.of(-1, -1, 0, 300))
      const c = await group.array('b/c', 'float32', 2)
      expect([c.shape, c.dimensionNames]).toEqual([
        [4, 2],
        ['', 'complex'],
      ])
      expect((await c.toTensor()).data).toEqual(Float32Array.of(Number.NaN, 2, Number.NaN, 2, 0, 0, 1.5, -2.5))
      expect((await (await group.array('b/d')).toTensor()).data).toEqual(Uint8Array.of(7, 7, 0, 5))
    }
  })

  test('name the fields that cannot be read, and read the others', async () => {
    const dtype = [
      ['o', '|O'],
      ['a/b', '<i2'],
      ['..', '<i2'],
      ['e', '|S0'],
      ['long', '<f16'],
      ['none', '<i4', [2, 0]],
      ['t', '<M8'],
      ['__proto__', '<i2'],
      ['constructor', '|u1'],
    ]
    const asked = await table({ dtype, fill_value: null })
    await asked.inner.put(
      'table/0',
      Uint8Array.from({ length: 2 * 39 }, (_, i) => i),
    )
    const group = await openGroup(asked)
    const node = await group.group('table')
    expect(await node.arrays()).toEqual(['__proto__', 'constructor'])
    const reasons = Array.from(await node.unreadable(), ([name, { tag, message }]) => [name, tag, message])
    expect(reasons).toEqual([
      ['o', 'UnsupportedError', expect.stringContaining('the field has objects (|O), which have no fixed size')],
      ['a/b', 'UnsupportedError', expect.stringContaining('the field "a/b" has no path: it contains \'/\'')],
      ['..', 'UnsupportedError', expect.stringContaining('the field ".." has no path')],
      ['e', 'UnsupportedError', expect.stringContaining('the field has no bytes (|S0)')],
      ['long', 'UnsupportedError', expect.stringContaining("'float128'")],
      ['none', 'UnsupportedError', expect.stringContaining('lists have the lengths [2, 0]')],
      ['t', 'UnsupportedError', expect.stringContaining('generic')],
    ])
    for (const name of ['o', 'e', 'long', 'none', 't'])
      await expect(node.array(name)).rejects.toMatchObject({ tag: 'UnsupportedError', details: { array: `table/${name}` } })
    const u1 = await node.array('constructor', 'uint8')
    expect(await u1.get([1])).toBe(77)
    expect(await (await node.array('__proto__')).get([0])).toBe(36 + 256 * 37)
  })

  test('refuse a field with the path of a stored node', async () => {
    const asked = await table()
    const other = { ...ARRAY2, shape: [1], chunks: [1], dtype: '|u1', fill_value: 3 }
    await asked.inner.put('table/n/.zarray', json(other))
    const node = await (await openGroup(asked)).group('table')
    await expect(node.array('n')).rejects.toMatchObject({
      tag: 'FormatError',
      message: expect.stringContaining("'table' is an array of structures with a field of this name"),
    })
    expect(await (await node.array('id')).get([0])).toBe(0)
    const metadata = Object.fromEntries(
      await Promise.all(
        ['.zgroup', 'table/.zarray', 'table/n/.zarray'].map(async (key) => {
          const { size } = (await asked.inner.stat(key))!
          return [key, JSON.parse(new TextDecoder().decode((await asked.inner.getRange(key, 0, size))!))]
        }),
      ),
    )
    await asked.inner.put('.zmetadata', json({ zarr_consolidated_format: 1, metadata }))
    const group = await openGroup(asked)
    expect(await group.groups()).toEqual(['table'])
    await expect(group.array('table/n')).rejects.toThrow(/a node is stored at the same path/)
    expect((await group.array('table/id')).shape).toEqual([5])
  })

  test('are not written', async () => {
    const place = { store: new MemoryStore(), path: 'a.zarr' }
    const group = await createZarr(place)
    const metadata = { ...ARRAY3, data_type: structV3([{ name: 'a', data_type: 'int16' }]), fill_value: { a: 1 } }
    await place.store.put('a.zarr/table/zarr.json', json(metadata))
    const readOnly = { tag: 'ReadOnlyError' }
    const [a, node] = [await group.array('table/a', 'int16', 1), await group.group('table')]
    await expect(a.set(null, 1)).rejects.toMatchObject(readOnly)
    await expect(a.resize([9])).rejects.toMatchObject(readOnly)
    await expect(a.append(0, [1])).rejects.toMatchObject(readOnly)
    await expect(a.updateAttributes({ x: 1 })).rejects.toMatchObject(readOnly)
    await expect(node.updateAttributes({ x: 1 })).rejects.toMatchObject(readOnly)
    await expect(node.createArray('b', { dtype: 'int8', shape: [1] })).rejects.toMatchObject(readOnly)
    await expect(node.createGroup('b')).rejects.toMatchObject(readOnly)
    await expect(node.consolidate()).rejects.toMatchObject(readOnly)
    await expect(group.delete('table/a')).rejects.toMatchObject(readOnly)
    await expect(group.createArray('table/b', { dtype: 'int8', shape: [1] })).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
    })
    await expect(group.createGroup('table/b/c')).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    expect(await place.store.list('a.zarr/')).toEqual(['a.zarr/table/zarr.json', 'a.zarr/zarr.json'])
    await group.consolidate()
    expect((await (await (await openZarr(place, { kind: 'group' })).array('table/a')).toTensor()).data).toEqual(
      Int16Array.of(1, 1, 1, 1),
    )
    await group.delete('table')
    expect(await group.groups()).toEqual([])
  })
})

/** Types that nest structures in each other. */
const nested = (depth: number): unknown => (depth === 0 ? [['x', '<i2']] : [['x', nested(depth - 1)]])

test.each([
  ['a nesting of 40 levels', { dtype: nested(40) }, /nest deeper than 32 levels/],
  ['no fields', { dtype: [] }, /a structure has no bytes/],
  ['fields without bytes', { dtype: [['a', '|V0']] }, /a structure has no bytes/],
  ['a list of 2^52 values', { dtype: [['a', '<i8', [2 ** 26, 2 ** 26]]] }, /more than 16777216 bytes, up to field 'a'/],
  ['lists of 2^60 values', { dtype: [['a', '<i8', [2 ** 30, 2 ** 30]]] }, /more than 2\^53 elements/],
  ['lists in lists that are too large', { dtype: [['a', [['b', '<i8', [4096]]], [4096]]] }, /more than 16777216 bytes/],
  ['too many fields', { dtype: Array.from({ length: 70_000 }, (_, i) => [`f${i}`, '|V1']) }, /more than 65536 fields/],
  ['a negative length', { dtype: [['a', '<i8', [-1]]] }, /integer from 0, got -1/],
  [
    'a name twice',
    {
      dtype: [
        ['a', '<i8'],
        ['a', '<i4'],
      ],
    },
    /two fields have the name 'a'/,
  ],
  ['no name', { dtype: [['', '<i8']] }, /field 0 of a structure has no name/],
  ['a name that is no text', { dtype: [[7, '<i8']] }, /name of a field must be a text/],
  ['a field that is no list', { dtype: ['<i8'] }, /a field must be a list/],
  ['a fourth part', { dtype: [['a', '<i8', [1], 4]] }, /a field has 4 parts/],
  ['a type that is none', { dtype: [['a', '<x8']] }, /is not a data type/],
])('structures with %s are refused', async (_, changes, message) => {
  const group = await openGroup(await table({ fill_value: null, ...changes }))
  expect([await group.groups(), await group.arrays()]).toEqual([[], []])
  const { message: reason } = (await group.unreadable()).get('table')!
  expect(reason).toMatch(message)
  for (const path of ['table', 'table/a']) await expect(group.group(path)).rejects.toThrow(path === 'table' ? message : /./)
})

test.each([
  [{ fill_value: 'AAAA' }, /neither a structure of 15 bytes in base64/],
  [{ fill_value: 5 }, /neither a structure of 15 bytes in base64/],
  [{ fill_value: { id: 1 } }, /has no member 'n'/],
])('a field with the fill value of %j is refused', async (changes, message) => {
  const node = await (await openGroup(await table(changes))).group('table')
  await expect(node.array('n')).rejects.toMatchObject({ tag: 'FormatError', message: expect.stringMatching(message) })
})

test.each([
  [structV3([{ name: 'a', data_type: 'string' }]), /field 'a' has the type 'string', which has no fixed size/],
  [structV3([{ name: 'a', data_type: 'int4' }]), /the data type 'int4' cannot be read/],
  [structV3([{ name: 'a' }]), /the type of field 'a' must be an object/],
  [structV3(undefined), /the fields must be a list/],
  [structV3([['a', 'int8', [2]]]), /a field has 3 parts/],
  ['struct', /the data type 'struct' cannot be read/],
])('the type %j of version 3 is refused', async (data_type, message) => {
  const store = new MemoryStore()
  await store.put('x/zarr.json', json({ ...ARRAY3, data_type, fill_value: '' }))
  await expect(openZarr({ store, path: 'x' })).rejects.toThrow(message)
})

test('fields with a list have the fill values of each place', async () => {
  const fill = Uint8Array.of(...structure(1).slice(0, 3), 1, 2, 3)
  const dtype = [
    ['id', '<u2'],
    ['', '|V1'],
    ['rgb', '|u1', [3]],
  ]
  const asked = await table({ dtype, fill_value: encodeBase64(fill) })
  const rgb = (await (await openGroup(asked)).array('table/rgb')) as ZarrArray<'uint8', 2>
  expect((await rgb.get([4])).data).toEqual(Uint8Array.of(1, 2, 3))
  expect(rgb.shape).toEqual([5, 3])
})
