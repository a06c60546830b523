import { describe, expect, test } from 'vitest'
import type { NewZarrArray } from '../../../../src/adapters/zarr/write/new-array.ts'
import type { DiskArray } from '../../../../src/array/disk-array.ts'
import type { DType } from '../../../../src/core/dtype.ts'
import { slice } from '../../../../src/grid/slice.ts'
import { concat } from '../../../../src/runtime/index.ts'
import { createZarr, openZarr } from '../../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../../src/store/memory.ts'
import { FaultStore } from '../../../../src/testing/index.ts'

/** An array in a store that logs what it is asked for. */
async function arrayOf<D extends DType>(options: NewZarrArray<D>) {
  const store = new FaultStore(new MemoryStore())
  const group = await createZarr({ store, path: 'a.zarr' })
  const array = await group.createArray('x', options as NewZarrArray)
  /** Returns the requests for chunks since the last call. */
  const asked = (): string[] =>
    store.log.splice(0).flatMap((line) => {
      const [, kind, key] = /^(\w+) a\.zarr\/x\/(c.*)$/.exec(line) ?? []
      return kind === undefined || kind === 'stage' || kind === 'conditions' ? [] : [`${kind} ${key}`]
    })
  asked()
  return { store, group, array, asked }
}

const INT8 = { dtype: 'int8', shape: [10], chunks: [4] } as const

describe('an object', () => {
  test('that is covered is not read', async () => {
    const { array, asked } = await arrayOf(INT8)
    await array.set([slice(0, 8)], [1, 2, 3, 4, 5, 6, 7, 8])
    expect(asked()).toEqual(['put c/0', 'put c/1'])
  })

  test('that is covered in part is read, and stored if it is still that one', async () => {
    const { array, asked } = await arrayOf(INT8)
    await array.set([slice(3, 5)], [1, 2])
    expect(asked().sort()).toEqual(['publish c/0', 'publish c/1', 'whole c/0', 'whole c/1'])
  })

  test.each([
    ['in an object of its own', undefined],
    ['in a shard', [40]],
  ])('that is stored as it is keeps its bytes until they are stored, %s', async (_, shards) => {
    class SlowStore extends MemoryStore {
      override async put(key: string, bytes: Uint8Array): Promise<void> {
        await new Promise<void>((resolve) => void setTimeout(resolve, 1))
        return super.put(key, bytes)
      }
    }
    const store = new SlowStore()
    const group = await createZarr({ store, path: 'a.zarr' })
    const array = await group.createArray('x', {
      dtype: 'int16',
      shape: [160],
      chunks: [4],
      shards,
      codec: 'none',
    } as NewZarrArray)
    const data = Int16Array.from({ length: 160 }, (_, i) => i + 1)
    await array.set(null, data)
    expect((await array.toTensor()).data).toEqual(data)
  })

  test('at the end is read, as whoever has made the array longer has data there', async () => {
    const { array, store, asked } = await arrayOf(INT8)
    const other = await openZarr({ store, path: 'a.zarr/x' }, { mode: 'r+', kind: 'array' })
    await other.append(0, [11, 12])
    asked()
    await array.set(null, 1)
    expect(asked().sort()).toEqual(['publish c/2', 'put c/0', 'put c/1', 'whole c/2'])
    expect((await other.toTensor()).data).toEqual(Int8Array.of(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 11, 12))
  })

  test('keeps what others write between picks of a list', async () => {
    const { array, store, asked } = await arrayOf({ dtype: 'float32', shape: [40], chunks: [10], shards: [20] })
    const other = await openZarr({ store, path: 'a.zarr/x' }, { mode: 'r+', kind: 'array' })
    const odd = Array.from({ length: 20 }, (_, i) => 2 * i + 1)
    const even = odd.map((i) => i - 1)
    await Promise.all([array.set([odd], Float32Array.from(odd)), other.set([even], Float32Array.from(even))])
    expect((await array.toTensor()).data).toEqual(Float32Array.from({ length: 40 }, (_, i) => i))
    asked()
    await array.set([[3, 25]], -0)
    expect(asked().sort()).toEqual(['publish c/0', 'publish c/1', 'whole c/0', 'whole c/1'])
    expect([await array.get([3]), await array.get([25]), await array.get([24])]).toEqual([-0, -0, 24])
  })

  test.each<[string, (array: DiskArray<'float32'>) => DiskArray<DType>]>([
    ['a view of steps backwards', (array) => array.view([slice(null, null, -1)])],
    ['a view of a list', (array) => array.view([Array.from({ length: 40 }, (_, i) => (i * 7) % 40)])],
    ['a new shape', (array) => array.reshape([4, 10])],
    ['another order of axes', (array) => array.reshape([4, 10]).transpose()],
    ['other chunks', (array) => array.rechunk([7])],
    ['a cache', (array) => array.cache()],
    ['another type', (array) => array.astype('float64')],
    ['its parts joined again', (array) => concat([array.view([slice(0, 13)]), array.view([slice(13, null)])], { axis: 0 })],
  ])('keeps what others write between picks of a list, by way of %s', async (_, lazy) => {
    const { array, store, asked } = await arrayOf({ dtype: 'float32', shape: [40], chunks: [10], shards: [20] })
    const other = await openZarr({ store, path: 'a.zarr/x' }, { mode: 'r+', kind: 'array' })
    const [one, two] = [lazy(array as never), lazy(other as never)]
    const [rows, columns = 1] = one.shape.length > 1 ? one.shape : [1, one.shape[0]!]
    // Neither half is evenly spaced, which would be a slice.
    const half = (bit: number): number[] =>
      Array.from({ length: columns }, (_, i) => i).filter((i) => [0, 1, 1, 0, 1, 0, 0, 1][i % 8] === bit)
    const at = (list: number[]) => (one.shape.length > 1 ? [null, list] : [list])
    const values = (list: number[]) =>
      Array.from({ length: rows! }, (_, row) => list.map((column) => 1 + row * columns + column)).flat()
    await Promise.all([one.set(at(half(0)), values(half(0))), two.set(at(half(1)), values(half(1)))])
    const all = Array.from({ length: 40 }, (_, i) => i + 1)
    expect([...(await lazy(array as never).toTensor()).data]).toEqual(all)
    asked()
    const few = [0, 1, columns - 1]
    await one.set(at(few), values(few))
    // Objects are read to be changed, none before that.
    const log = asked()
    expect(log.filter((line) => line.startsWith('whole')).length).toBe(log.filter((line) => line.startsWith('publish')).length)
    expect(log.filter((line) => !/^(whole|publish|put) /.test(line))).toEqual([])
    expect([...(await lazy(array as never).toTensor()).data]).toEqual(all)
  })

  test('of which nothing but fill is left is removed', async () => {
    const { array, asked } = await arrayOf(INT8)
    await array.set([slice(0, 6)], 1)
    asked()
    await array.set([slice(0, 4)], 0)
    await array.set([slice(4, 6)], 0)
    expect(asked()).toEqual(['delete c/0', 'whole c/1', 'delete c/1'])
    await array.set([slice(4, 5)], 0)
    expect(asked()).toEqual(['whole c/1'])
  })

  test('of fill is stored where that is asked for', async () => {
    const { array, store } = await arrayOf({ ...INT8, writeEmptyChunks: true })
    await array.fill(0)
    expect((await store.list('a.zarr/x/c/')).length).toBe(3)
  })

  test('with a 0 of the other sign, or another NaN, is no fill', async () => {
    const { array, store } = await arrayOf({ dtype: 'float32', shape: [8], chunks: [4] })
    await array.set([slice(0, 4)], -0)
    expect(await store.list('a.zarr/x/c/')).toEqual(['a.zarr/x/c/0'])
    const nan = await arrayOf({ dtype: 'float64', shape: [2], chunks: [1], fillValue: Number.NaN })
    await nan.array.set([0], Number.NaN)
    expect(await nan.store.list('a.zarr/x/c/')).toEqual([])
    const other = new Float64Array(new BigUint64Array([0x7ff8000000000001n, 0x7ff8000000000001n]).buffer)
    await nan.array.set(null, other)
    expect(await nan.store.list('a.zarr/x/c/')).toEqual(['a.zarr/x/c/0', 'a.zarr/x/c/1'])
  })
})

describe('a shard', () => {
  const SHARDED = { dtype: 'int16', shape: [64, 8], chunks: [4, 4], shards: [16, 8] } as const

  test('is stored once for all that one call writes to it', async () => {
    const { array, asked } = await arrayOf(SHARDED)
    await array.set([slice(0, 32)], 7)
    expect(asked().sort()).toEqual(['put c/0/0', 'put c/1/0'])
    await array.set([slice(2, 30), slice(1, 7)], 8)
    expect(asked().sort()).toEqual(['publish c/0/0', 'publish c/1/0', 'whole c/0/0', 'whole c/1/0'])
  })

  test.each(['fill', 'copyFrom', 'copyTo', 'rechunkTo'] as const)('is stored once by %s', async (kind) => {
    // More than is gone through at once by chunks.
    const large = { dtype: 'int8', shape: [4096, 4096], chunks: [1024, 1024], codec: 'none' } as const
    const { array, asked } = await arrayOf({ ...large, shards: [4096, 4096] })
    const from = await arrayOf(large)
    await from.array.fill(3)
    if (kind === 'fill') await array.fill(3)
    else if (kind === 'copyFrom') await array.copyFrom(from.array)
    else await from.array[kind](array)
    expect(asked()).toEqual(['put c/0/0'])
    expect(await array.sum()).toBe(4096 * 4096 * 3)
  })

  test('without chunks is removed', async () => {
    const { array, asked } = await arrayOf(SHARDED)
    await array.set([slice(0, 4), slice(0, 4)], 7)
    asked()
    await array.set([slice(0, 4)], 0)
    expect(asked()).toEqual(['whole c/0/0', 'delete c/0/0'])
  })

  test('keeps the bytes of chunks that are not written', async () => {
    const { array, store } = await arrayOf({ ...SHARDED, codecs: [{ name: 'bytes', configuration: { endian: 'little' } }, { name: 'gzip', configuration: { level: 9 } }] }) // biome-ignore format: one line
    await array.set([slice(0, 4), slice(0, 4)], 7)
    const before = (await store.get!('a.zarr/x/c/0/0'))!.bytes
    await array.set([slice(4, 8), slice(0, 4)], 9)
    const after = (await store.get!('a.zarr/x/c/0/0'))!.bytes
    const chunkBytes = before.length - 8 * 16 - 4
    expect(after.subarray(0, chunkBytes)).toEqual(before.subarray(0, chunkBytes))
  })
})

describe('what was written', () => {
  test.each([{ shards: undefined }, { shards: [8] }])(
    'is read at once, also where nothing was before: %o',
    async ({ shards }) => {
      const { array } = await arrayOf({ dtype: 'int8', shape: [16], chunks: [4], shards })
      for (let value = 1; value < 5; value++) {
        expect(await array.get([5])).toBe(value - 1)
        await array.set([slice(4, 7)], value)
        expect(await array.sum()).toBe(3 * value)
        expect(await array.get([5])).toBe(value)
      }
    },
  )

  test('while another read found nothing is not taken for absent', async () => {
    const { array, store } = await arrayOf(INT8)
    const inner = store.get!.bind(store)
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    store.get = async (...asked) => {
      const found = await inner(...asked)
      if (found === undefined) await held
      return found
    }
    const early = array.get([0])
    await array.set([slice(0, 4)], 6)
    release()
    expect(await early).toBe(0)
    expect(await array.get([0])).toBe(6)
  })
})

describe('what cannot be written is refused', () => {
  const place = async () => {
    const store = new MemoryStore()
    const group = await createZarr({ store, path: 'a.zarr' })
    return { store, group }
  }
  test.each<[string, object, RegExp]>([
    ['an unknown option', { chunkShape: [1] }, /no option 'chunkShape'; did you mean 'chunks'|no option 'chunkShape'/],
    ['an unknown codec', { codec: 'zst' }, /codec 'zst' is not/],
    ['an unknown option of a codec', { codec: { name: 'gzip', configuration: { lvl: 1 } } }, /no option 'lvl'/],
    ['two lists of codecs', { codec: 'gzip', codecs: [] }, /exclude each other/],
    ['shards that chunks do not divide', { chunks: [2], shards: [3] }, /do not divide/],
    ['shards of chunks nobody knows', { shards: [3] }, /shards need/],
    ['chunks of another rank', { chunks: [2, 2] }, /as many as the array has axes/],
    ['chunks without elements', { chunks: [0] }, /lengths from 1/],
    ['another number of names', { dimensionNames: ['x', 'y'] }, /2 dimension names/],
    ['a fill value of another type', { fillValue: 'x' }, /is not a int8 value/],
    ['sharding as a codec', { codecs: [{ name: 'sharding_indexed' }] }, /option `shards`/],
    ['an unknown type', { dtype: 'float128' }, /unknown dtype/],
    ['attributes without a form in JSON', { attributes: { f: () => 1 } }, /no form in JSON/],
  ])('%s', async (_, options, message) => {
    const { store, group } = await place()
    await expect(group.createArray('x', { dtype: 'int8', shape: [4], ...options } as never)).rejects.toThrow(message)
    expect(await store.list('')).toEqual(['a.zarr/zarr.json'])
  })

  test('an array that was opened for reading', async () => {
    const { store, group } = await place()
    await group.createArray('x', { dtype: 'int8', shape: [4] })
    const read = await openZarr({ store, path: 'a.zarr' }, { kind: 'group' })
    const x = await read.array('x')
    await expect(x.set(null, 1)).rejects.toThrow(/cannot be written/)
    for (const change of [
      () => x.resize([5]),
      () => x.append(0, [1]),
      () => x.updateAttributes({}),
      () => read.delete('x'),
      () => read.consolidate(),
    ])
      await expect(change()).rejects.toMatchObject({ tag: 'ReadOnlyError', message: expect.stringContaining("`mode: 'r+'`") })
  })

  test('a store that only reads', async () => {
    const { store } = await place()
    const { describe, stat, getRange } = store
    const readable = { describe: describe.bind(store), stat: stat.bind(store), getRange: getRange.bind(store) }
    await expect(openZarr({ store: readable, path: 'a.zarr' }, { mode: 'r+' })).rejects.toMatchObject({ tag: 'ReadOnlyError' })
    await expect(createZarr({ store: readable, path: 'b.zarr' })).rejects.toMatchObject({ tag: 'ReadOnlyError' })
  })

  test('an array with codecs that are only read', async () => {
    const { store, group } = await place()
    const metadata = {
      zarr_format: 3,
      node_type: 'array',
      shape: [4],
      data_type: 'int8',
      chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
      chunk_key_encoding: { name: 'default' },
      fill_value: 0,
      codecs: [{ name: 'bytes' }, { name: 'numcodecs.delta', configuration: { dtype: 'int8' } }],
    }
    await store.put('a.zarr/d/zarr.json', new TextEncoder().encode(JSON.stringify(metadata)))
    const d = await group.array('d')
    expect(await d.get([0])).toBe(0)
    await expect(d.set(null, 1)).rejects.toMatchObject({
      tag: 'ReadOnlyError',
      message: expect.stringContaining("codec 'delta' is not written here"),
    })
    expect(await store.list('a.zarr/d/')).toEqual(['a.zarr/d/zarr.json'])
  })
})
