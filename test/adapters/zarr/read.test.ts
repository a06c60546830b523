import { describe, expect, test } from 'vitest'
import type { ZarrArray, ZarrGroup } from '../../../src/adapters/zarr/group.ts'
import { findWhere } from '../../../src/array/find-where.ts'
import { slice } from '../../../src/grid/slice.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Plain } from '../../support/oracle.ts'
import { AskedStore, writeInt32 } from './handmade.ts'

const SHAPE = [10, 9]

/** An array and what it reads as, with all that is asked of its store from now on. */
async function opened(
  options: Partial<Parameters<typeof writeInt32>[2]> = {},
  remote = false,
): Promise<{ array: ZarrArray<'int32', 2>; plain: Plain<'int32'>; asked: AskedStore }> {
  const asked = new AskedStore({ remote })
  const plain = await writeInt32(asked.inner, 'x', { shape: SHAPE, chunks: [4, 3], ...options })
  const array = (await openZarr({ store: asked.store, path: 'x' }, { kind: 'array' })) as ZarrArray<'int32', 2>
  asked.take()
  return { array, plain, asked }
}

const SHARDS = { chunks: [2, 3], shards: [4, 9] }

describe('chunks', () => {
  test('are objects, of which a selection fetches those it needs, once', async () => {
    const { array, plain, asked } = await opened()
    expect((await array.get([slice(3, 5), slice(2, 4)])).data).toEqual(Int32Array.of(29, 30, 38, 39))
    expect(plain.data[29]).toBe(29)
    expect(asked.take()).toEqual(['get x/c/0/0', 'get x/c/0/1', 'get x/c/1/0', 'get x/c/1/1'])
    expect((await array.get([[9, 0, 9], [8]])).data).toEqual(Int32Array.of(89, 8, 89))
    expect(asked.take()).toEqual(['get x/c/0/2', 'get x/c/2/2'])
  })

  test('at the edges are stored whole: what lies beyond the array counts nowhere', async () => {
    const { array, plain, asked } = await opened()
    expect(await array.sum()).toBe(plain.data.reduce((a, b) => a + b, 0))
    expect(asked.take()).toHaveLength(9)
    expect(await array.count({ axis: 0 })).toMatchObject({ shape: [9] })
    expect((await array.min({ axis: 1 })).data).toEqual(Int32Array.from({ length: 10 }, (_, i) => 9 * i))
    expect(await array.max()).toBe(89)
    expect(await findWhere(array, { min: 88 }).count()).toBe(2)
  })

  test('that nobody wrote are full of the fill value; that they are not there is remembered until it is forgotten', async () => {
    const { array, plain, asked } = await opened({ gone: ['0,1', '2,2'] })
    expect(array.fillValue).toBe(-7)
    expect((await array.toTensor()).data).toEqual(plain.data)
    expect(asked.take()).toHaveLength(9)
    expect((await array.toTensor()).data).toEqual(plain.data)
    expect(asked.take()).toHaveLength(7)
    expect(await array.get([0, 3])).toBe(-7)
    expect(asked.take()).toEqual([])
    await writeInt32(asked.inner, 'x', { shape: SHAPE, chunks: [4, 3] })
    array.refresh()
    expect(await array.get([0, 3])).toBe(3)
    expect(asked.take()).toEqual(['get x/c/0/1'])
  })

  test('that turn out not to be there while all is forgotten are asked for again', async () => {
    const asked = new AskedStore()
    await writeInt32(asked.inner, 'x', { shape: SHAPE, chunks: [4, 3], gone: ['0,1'] })
    let answer = (): void => undefined
    const late = new Promise<void>((resolve) => {
      answer = resolve
    })
    const get: Store['get'] = async (key, options) => {
      const found = await asked.store.get!(key, options)
      if (key.endsWith('c/0/1') && found === undefined) await late
      return found
    }
    const array = await openZarr({ store: { ...asked.store, get }, path: 'x' }, { kind: 'array' })
    const before = array.get([0, 3])
    await new Promise((resolve) => setTimeout(resolve))
    await writeInt32(asked.inner, 'x', { shape: SHAPE, chunks: [4, 3] })
    array.refresh()
    answer()
    expect(await before).toBe(-7)
    expect(await array.get([0, 3])).toBe(3)
  })

  test('of any number can be asked for at the same time, and each is fetched once', async () => {
    const { array, asked } = await opened()
    expect(await Promise.all([array.get([0, 0]), array.get([1, 1]), array.get([2, 2])])).toEqual([0, 10, 20])
    expect(asked.take()).toEqual(['get x/c/0/0'])
  })

  test('of another size than their elements take are refused by name', async () => {
    const { array, asked } = await opened()
    await asked.inner.put('x/c/0/0', new Uint8Array(47))
    await expect(array.get([0, 0])).rejects.toMatchObject({ tag: 'CodecError', details: { file: 'asked:x/c/0/0', array: 'x' } })
    await asked.inner.put('x/c/0/0', new Uint8Array(0))
    await expect(array.get([0, 0])).rejects.toMatchObject({ tag: 'CodecError', details: { file: 'asked:x/c/0/0', array: 'x' } })
  })
})

describe.each([false, true])('shards with their index at the start: %s', (indexAtStart) => {
  const options = { ...SHARDS, indexAtStart, gone: ['0,1', '4,0', '4,1', '4,2'] }
  const table = indexAtStart ? (key: string) => [`range ${key} 0+100`, `stat ${key}`] : (key: string) => [`tail ${key} 100`]

  test('are read in parts, their index once', async () => {
    const { array, plain, asked } = await opened(options)
    expect(array.chunks.chunkShape).toEqual([2, 3])
    const base = indexAtStart ? 100 : 0
    expect(await array.get([3, 8])).toBe(35)
    // The chunk in the second row and third column: one of the five before it is gone.
    expect(asked.take()).toEqual([`range x/c/0/0 ${base + 96}+24`, ...table('x/c/0/0')].sort())
    expect(await array.get([3, 0])).toBe(27)
    expect(asked.take()).toEqual([`range x/c/0/0 ${base + 48}+24`])
    expect((await array.toTensor()).data).toEqual(plain.data)
    // A shard that is not there has no index.
    const absent = indexAtStart ? 'stat x/c/2/0' : 'tail x/c/2/0 100'
    expect(asked.take()).toEqual(
      [...table('x/c/1/0'), absent, ...[0, 24, 48, 72, 96].map((at) => `range x/c/0/0 ${base + at}+24`)]
        .concat([0, 24, 48, 72, 96, 120].map((at) => `range x/c/1/0 ${base + at}+24`))
        .sort(),
    )
    expect((await array.toTensor()).data).toEqual(plain.data)
    expect(asked.take()).toHaveLength(11)
    expect(await array.sum({ skipMissing: false })).toBe(plain.data.reduce((a, b) => a + b, 0))
    expect(asked.take()).toHaveLength(11)
  })

  test('give neighbours in one range where that costs a request, and nothing between', async () => {
    const { array, plain, asked } = await opened(options, true)
    const base = indexAtStart ? 100 : 0
    expect((await array.get([slice(4), null])).data).toEqual(plain.data.slice(0, 36))
    expect(asked.take()).toEqual([`range x/c/0/0 ${base}+120`, ...table('x/c/0/0')].sort())
    expect((await array.get([slice(4, 8), [0, 8]])).data).toEqual(Int32Array.of(36, 44, 45, 53, 54, 62, 63, 71))
    expect(asked.take()).toEqual(
      [`range x/c/1/0 ${base}+24`, `range x/c/1/0 ${base + 48}+48`, `range x/c/1/0 ${base + 120}+24`, ...table('x/c/1/0')].sort(),
    )
  })

  test('that were replaced since their index was read are not mixed with it', async () => {
    const { array, asked } = await opened(options)
    await array.get([3, 8])
    await writeInt32(asked.inner, 'x', { shape: SHAPE, ...SHARDS, indexAtStart })
    await expect(array.get([3, 0])).rejects.toMatchObject({ tag: 'ConflictError', details: { array: 'x' } })
    array.refresh()
    expect(await array.get([3, 0])).toBe(27)
  })

  test('whose index is damaged, or leads beyond them, are refused', async () => {
    const { asked } = await opened(options)
    const info = (await asked.inner.stat('x/c/0/0'))!
    const good = (await asked.inner.getRange('x/c/0/0', 0, info.size))!
    const at = indexAtStart ? 0 : info.size - 100
    const open = async (): Promise<ZarrArray> => openZarr({ store: asked.store, path: 'x' }, { kind: 'array' })
    const refusal = { details: { file: 'asked:x/c/0/0', array: 'x' } }
    const damaged = good.slice()
    damaged[at + 3]! ^= 1
    await asked.inner.put('x/c/0/0', damaged)
    await expect((await open()).get([0, 0])).rejects.toMatchObject({ tag: 'CodecError', ...refusal })
    await asked.inner.put('x/c/0/0', good.slice(0, 60))
    await expect((await open()).get([0, 0])).rejects.toMatchObject({ tag: 'FormatError', ...refusal })
    // Chunks that end beyond the shard, though the index is what was written.
    await asked.inner.put('x/c/0/0', indexAtStart ? good.slice(0, 130) : good.slice(120))
    await expect((await open()).get([0, 0])).rejects.toMatchObject({ tag: 'FormatError', ...refusal })
  })
})

describe('groups', () => {
  async function group(lists = true): Promise<{ root: ZarrGroup; asked: AskedStore }> {
    const asked = new AskedStore({ lists })
    const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))
    await asked.inner.put('g/zarr.json', json({ zarr_format: 3, node_type: 'group', attributes: { title: 'a store' } }))
    await writeInt32(asked.inner, 'g/x', { shape: SHAPE, chunks: [4, 3] })
    await asked.inner.put('g/sub/zarr.json', json({ zarr_format: 3, node_type: 'group' }))
    await writeInt32(asked.inner, 'g/sub/y', { shape: [2], chunks: [2] })
    await asked.inner.put('g/bad/zarr.json', json({ zarr_format: 3, node_type: 'array', shape: [-1] }))
    return {
      root: await openZarr({ store: asked.store, path: 'g/' }, { kind: 'group', ...(!lists && { names: ['x', 'sub/y'] }) }),
      asked,
    }
  }

  test('name their arrays and groups, and what cannot be read with the reason', async () => {
    const { root } = await group()
    expect([String(root), [...root.attrs]]).toEqual(["ZarrGroup { 'asked:g', 1 attribute }", [['title', 'a store']]])
    expect([await root.arrays(), await root.groups()]).toEqual([['x'], ['sub']])
    expect([...(await root.unreadable())].map(([name, { tag }]) => [name, tag])).toEqual([['bad', 'FormatError']])
    const x = await root.array('x', 'int32', 2)
    expect([x.name, x.path, await x.get([9, 8])]).toEqual(['x', 'x', 89])
    expect(await (await (await root.group('sub')).array('y')).get([1])).toBe(1)
    expect(await (await root.array('sub/y')).get([1])).toBe(1)
  })

  test('refuse names of nothing, of other kinds, and those that lead elsewhere', async () => {
    const { root } = await group()
    const refused = (tag: string, name: string): object => ({ tag, details: { file: 'asked:g', array: name } })
    await expect(root.array('z')).rejects.toMatchObject(refused('UnknownArrayError', 'z'))
    await expect(root.array('sub')).rejects.toMatchObject(refused('InvalidArgumentError', 'sub'))
    await expect(root.group('x')).rejects.toMatchObject(refused('InvalidArgumentError', 'x'))
    const types = { actual: 'int32 of 2 axes', expected: 'float32 of any number of axes' }
    await expect(root.array('x', 'float32')).rejects.toMatchObject(refused('InvalidArgumentError', 'x'))
    await expect(root.array('x', 'float32')).rejects.toMatchObject({ details: types })
    await expect(root.array('x', 'int32', 3)).rejects.toMatchObject(refused('InvalidArgumentError', 'x'))
    for (const [name, shown] of [
      [5, '5'],
      [undefined, 'undefined'],
      [null, 'null'],
      [['x'], '["x"]'],
    ] as [never, string][])
      for (const of of [root, await root.group('sub')]) {
        await expect(of.array(name)).rejects.toMatchObject(refused('UnknownArrayError', shown))
        await expect(of.group(name)).rejects.toMatchObject(refused('UnknownArrayError', shown))
      }
    await expect(root.array('bad')).rejects.toMatchObject(refused('FormatError', 'bad'))
    await expect(root.array('../g/x')).rejects.toMatchObject({ tag: 'FormatError' })
    await expect(openZarr({ store: new AskedStore().store, path: 'no' })).rejects.toMatchObject({ tag: 'NotFoundError' })
  })

  test('of stores that cannot list have the names that were given', async () => {
    const { root } = await group(false)
    expect([await root.arrays(), await root.groups()]).toEqual([['x'], ['sub']])
    const bare = await openZarr({ store: (await group(false)).asked.store, path: 'g' }, { kind: 'group' })
    await expect(bare.arrays()).rejects.toMatchObject({ tag: 'UnsupportedError', details: { file: 'asked:g' } })
    expect(await (await bare.array('x')).get([9, 8])).toBe(89)
  })

  test('that were closed read no more', async () => {
    const { root } = await group()
    const x = await root.array('x')
    await root.close()
    await expect(x.get([0, 0])).rejects.toMatchObject({ tag: 'ClosedError' })
    await expect(root.array('x')).rejects.toMatchObject({ tag: 'ClosedError' })
  })
})

test('stores in the shape of others are opened at their root', async () => {
  const { inner } = new AskedStore()
  await writeInt32(inner, 'x', { shape: SHAPE, ...SHARDS })
  const asked: unknown[] = []
  const bytes = async (key: string): Promise<Uint8Array | undefined> => {
    const info = await inner.stat(`x${key}`)
    return info && (await inner.getRange(`x${key}`, 0, info.size))
  }
  const get = async (key: string): Promise<Uint8Array | undefined> => {
    asked.push(key)
    return bytes(key)
  }
  const getRange = async (
    key: string,
    range: { offset: number; length: number } | { suffixLength: number },
  ): Promise<Uint8Array | undefined> => {
    asked.push([key, range])
    const all = await bytes(key)
    return 'offset' in range ? all?.slice(range.offset, range.offset + range.length) : all?.slice(-range.suffixLength)
  }
  const array = await openZarr({ get, getRange }, { kind: 'array' })
  asked.length = 0
  expect(await array.get([9, 8])).toBe(89)
  expect(asked).toEqual([
    ['/c/2/0', { suffixLength: 100 }],
    ['/c/2/0', { offset: 48, length: 24 }],
  ])
  expect(await (await openZarr({ get }, { kind: 'array' })).get([9, 8])).toBe(89)
})

test('levels of a pyramid are arrays with what places their elements', async () => {
  const asked = new AskedStore()
  const dataset = (path: string, scale: number): object => ({
    path,
    coordinateTransformations: [
      { type: 'scale', scale: [scale, scale] },
      { type: 'translation', translation: [scale / 2, 0] },
    ],
  })
  const axes = ['y', 'x'].map((name) => ({ name, type: 'space', unit: 'micrometer' }))
  const multiscales = [{ name: 'cells', axes, datasets: [dataset('s0', 1), dataset('s1', 2)] }]
  const metadata = { zarr_format: 3, node_type: 'group', attributes: { ome: { version: '0.5', multiscales } } }
  await asked.inner.put('g/zarr.json', new TextEncoder().encode(JSON.stringify(metadata)))
  await writeInt32(asked.inner, 'g/s0', { shape: [8, 8], chunks: [4, 4] })
  await writeInt32(asked.inner, 'g/s1', { shape: [4, 4], chunks: [4, 4] })
  const root = await openZarr({ store: asked.store, path: 'g' }, { kind: 'group' })
  const pyramids = await root.levels()
  expect(pyramids).toMatchObject([{ name: 'cells', axes, levels: [{ scale: [1, 1] }, { scale: [2, 2], translation: [1, 0] }] }])
  expect(pyramids[0]!.levels.map(({ node }) => String(node))).toEqual([
    "ZarrArray { 's0', int32 [8, 8], chunks [4, 4] }",
    "ZarrArray { 's1', int32 [4, 4], chunks [4, 4] }",
  ])
})

test('references are opened as the store they describe', async () => {
  const asked = new AskedStore()
  const plain = await writeInt32(asked.inner, 'data', { shape: SHAPE, chunks: [4, 3], gone: ['1,1'] })
  const info = (await asked.inner.stat('data/zarr.json'))!
  const document = new TextDecoder().decode(await asked.inner.getRange('data/zarr.json', 0, info.size))
  const keys = (await asked.inner.list('data/c/')).map((key) => key.slice('data/'.length))
  const refs = Object.fromEntries([
    ['.zgroup', '{"zarr_format":2}'],
    ['x/zarr.json', document],
    ...keys.map((key) => [`x/${key}`, [`data/${key}`]]),
  ])
  await asked.inner.put('refs.json', new TextEncoder().encode(JSON.stringify({ version: 1, refs: { ...refs, 'zarr.json': '{"zarr_format":3,"node_type":"group"}' } }))) // biome-ignore format: one line
  const root = await openZarr(
    { store: asked.store, path: 'refs.json' },
    { kind: 'group', resolve: (url) => ({ store: asked.store, path: url }) },
  )
  expect(await root.arrays()).toEqual(['x'])
  asked.take()
  const x = await root.array('x')
  expect((await x.toTensor()).data).toEqual(plain.data)
  expect(asked.take()).toHaveLength(8)
})
