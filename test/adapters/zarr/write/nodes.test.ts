import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { slice } from '../../../../src/grid/slice.ts'
import { createZarr, openZarr } from '../../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../../src/store/memory.ts'
import { zarrPython } from '../../../support/python.ts'

const env = zarrPython()
const folder = mkdtempSync(join(tmpdir(), 'hyperslab-nodes-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Found {
  readonly attributes: Record<string, unknown>
  readonly members: Record<string, { readonly attributes: object; readonly shape?: number[]; readonly sum?: number }>
}

const python = (script: string, ...args: string[]): string =>
  execFileSync('python3', [fileURLToPath(new URL(script, import.meta.url)), ...args], { env, encoding: 'utf8' })
const found = (...places: readonly (readonly [path: string, consolidated: boolean])[]): Found[] =>
  JSON.parse(python('nodes.py', ...places.flat().map(String))) as Found[]
const foundIn = (path: string): Found => found([path, false])[0]!

const inMemory = () => ({ store: new MemoryStore(), path: 'a.zarr' })
const SMALL = { dtype: 'int32', shape: [4, 3], chunks: [2, 2] } as const

describe('nodes', () => {
  test.skipIf(env === undefined)('are what zarr-python finds, and go with what is in them', async () => {
    const path = join(folder, 'nodes.zarr')
    const group = await createZarr(path, { attributes: { title: 'Ä', many: [1, 2n ** 60n], nested: { a: null } } })
    const deep = await group.createArray('a/b/x', { ...SMALL, attributes: new Map([['units', 'K']]) })
    await deep.fill(2)
    const y = await (await group.createGroup('c', { attributes: { n: 1 } })).createArray('y', SMALL)
    await y.set([0, 0], 5)
    const attributes = { title: 'Ä', many: [1, 2 ** 60], nested: { a: null } }
    const x = { attributes: { units: 'K' }, shape: [4, 3], sum: 24 }
    const all = {
      a: { attributes: {} },
      'a/b': { attributes: {} },
      'a/b/x': x,
      c: { attributes: { n: 1 } },
      'c/y': { attributes: {}, shape: [4, 3], sum: 5 },
    }
    expect(foundIn(path)).toEqual({ attributes, members: all })
    expect([await group.groups(), await group.arrays()]).toEqual([['a', 'c'], []])
    await group.delete('c')
    await (await group.group('a')).delete('b')
    expect(foundIn(path)).toEqual({ attributes, members: { a: { attributes: {} } } })
    expect(readdirSync(path)).toEqual(['a', 'zarr.json'])
    expect(await group.groups()).toEqual(['a'])
    await expect(y.get([0, 0])).rejects.toMatchObject({ tag: 'UnknownArrayError' })
    await expect(group.delete('c')).rejects.toMatchObject({ tag: 'UnknownArrayError' })
  })

  test.skipIf(env === undefined)('that are consolidated are kept in step', async () => {
    const path = join(folder, 'consolidated.zarr')
    const group = await createZarr(path)
    const x = await group.createArray('g/x', SMALL)
    await (await group.group('g')).consolidate()
    await group.consolidate()
    expect((await openZarr(path, { kind: 'group' })).consolidated).toBe(true)
    const check = async (): Promise<Found> => {
      const inner = join(path, 'g')
      const [ofPath, own, ofInner, ownInner] = found([path, true], [path, false], [inner, true], [inner, false])
      expect([ofPath, ofInner]).toEqual([own, ownInner])
      const names = await (await openZarr(join(path, 'g'), { kind: 'group' })).arrays()
      expect(names).toEqual(await (await openZarr(join(path, 'g'), { kind: 'group', consolidated: false })).arrays())
      return own!
    }
    await group.createArray('g/y', { ...SMALL, attributes: { n: 1 } })
    await x.resize([6, 1])
    await x.append(1, [1, 2, 3, 4, 5, 6])
    await x.updateAttributes({ units: 'm' })
    await group.updateAttributes({ title: 't' })
    await (await group.group('g')).updateAttributes({ title: 'u' })
    expect(await check()).toMatchObject({ members: { 'g/x': { shape: [6, 2], sum: 21, attributes: { units: 'm' } } } })
    await group.delete('g/y')
    await check()
    await group.delete('g')
    expect(found([path, true])[0]!.members).toEqual({})
  })

  test('are there once', async () => {
    const place = inMemory()
    const group = await createZarr(place)
    await group.createArray('x', SMALL)
    const exists = { tag: 'AlreadyExistsError' }
    await expect(createZarr(place)).rejects.toMatchObject(exists)
    await expect(group.createArray('x', SMALL)).rejects.toMatchObject(exists)
    await expect(group.createGroup('x')).rejects.toMatchObject(exists)
    await expect(group.createArray('x/y', SMALL)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    for (const name of ['', '../x', 'a//b', 'zarr.json', 'a/.zattrs'])
      await expect(group.createArray(name, SMALL), name).rejects.toMatchObject({ tag: /InvalidArgument|AlreadyExists/ })
  })

  test('refuse an array over nodes that its chunks would cover, and leave these as they are', async () => {
    const place = inMemory()
    const group = await createZarr(place)
    await group.createArray('a/c', { dtype: 'int8', shape: [2], chunks: [1] })
    // Chunks beside the metadata, as tensorstore writes them, have names of chunks of 'a'.
    const document = JSON.parse(new TextDecoder().decode((await place.store.get('a.zarr/a/c/zarr.json'))!.bytes)) as object
    const v2 = { name: 'v2', configuration: { separator: '/' } }
    const codecs = [{ name: 'bytes', configuration: { endian: 'little' } }]
    const changed = JSON.stringify({ ...document, codecs, chunk_key_encoding: v2 })
    await place.store.put('a.zarr/a/c/zarr.json', new TextEncoder().encode(changed))
    for (const [name, value] of [
      ['0', 1],
      ['1', 2],
    ] as const)
      await place.store.put(`a.zarr/a/c/${name}`, Uint8Array.of(value))
    await group.createArray('old', SMALL)
    const old = new TextEncoder().encode(JSON.stringify({ zarr_format: 2 }))
    for (const [name, document] of [
      ['v2', '.zarray'],
      ['w2', '.zgroup'],
    ])
      await place.store.put(`a.zarr/${name}/${document}`, old)
    // Other writers leave groups without metadata.
    await place.store.delete('a.zarr/a/zarr.json')
    const keys = await place.store.list('a.zarr/')
    const writer = await openZarr(place, { kind: 'group', mode: 'r+' })
    const below = expect.objectContaining({ tag: 'AlreadyExistsError', message: expect.stringContaining("'a/c' lies there") })
    await expect(writer.createArray('a', { ...SMALL, shape: [2], chunks: [1] })).rejects.toEqual(below)
    for (const name of ['v2', 'w2']) {
      await expect(writer.createArray(name, SMALL)).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
      await expect(writer.createGroup(name)).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    }
    expect(await place.store.list('a.zarr/')).toEqual(keys)
    expect(await (await writer.array('a/c')).get()).toMatchObject({ data: Int8Array.of(1, 2) })
    expect((await writer.createGroup('a')).path).toBe('a')
  })

  test('go with overwrite, and no others', async () => {
    const place = inMemory()
    const group = await createZarr(place)
    await (await group.createArray('x', SMALL)).fill(1)
    await place.store.put('a.zarr2', Uint8Array.of(1))
    const anew = await createZarr(place, { overwrite: true, attributes: { n: 1 } })
    expect((await place.store.list('')).sort()).toEqual(['a.zarr/zarr.json', 'a.zarr2'])
    expect(anew.attrs.get('n')).toBe(1)
  })

  test('that are made anew have nothing of what was there', async () => {
    const place = inMemory()
    const group = await createZarr(place)
    await (await group.createArray('x', SMALL)).fill(1)
    await place.store.put('a.zarr/x/notes.txt', Uint8Array.of(1))
    // As a process leaves it that was killed while it removed the array.
    await place.store.delete('a.zarr/x/zarr.json')
    const x = await group.createArray('x', SMALL)
    expect(await x.sum()).toBe(0)
    expect(await place.store.list('a.zarr/x')).toEqual(['a.zarr/x/notes.txt', 'a.zarr/x/zarr.json'])
  })

  test('have attributes that change one by one', async () => {
    const place = inMemory()
    const group = await createZarr(place, { attributes: { a: 1, b: 2 } })
    const x = await group.createArray('x', { dtype: 'float32', shape: [2], attributes: { a: 1 } })
    const other = await (await openZarr(place, { kind: 'group', mode: 'r+' })).array('x')
    await other.updateAttributes({ theirs: true })
    const before = x.missing?.values
    await x.updateAttributes({ a: undefined, _FillValue: 7, c: Float32Array.of(1, 2) })
    expect([...x.attrs]).toEqual([['theirs', true], ['_FillValue', 'AAAAAAAAHEA='], ['c', [1, 2]]]) // biome-ignore format: one line
    expect([before, x.missing?.values]).toEqual([[], [7]])
    await group.updateAttributes({ b: undefined, c: 3 })
    expect([...group.attrs]).toEqual([['a', 1], ['c', 3]]) // biome-ignore format: one line
    const read = await openZarr(place, { kind: 'group' })
    expect([...read.attrs]).toEqual([...group.attrs])
    expect([...(await read.array('x')).attrs]).toEqual([...x.attrs])
  })

  test('tell at once which elements are missing', async () => {
    const group = await createZarr(inMemory())
    const x = await group.createArray('x', { dtype: 'int16', shape: [3], dimensionNames: ['i'] })
    await x.set(null, [1, 7, 2])
    expect(await x.sum()).toBe(10)
    await x.updateAttributes({ missing_value: 7 })
    expect(await x.sum({ skipMissing: true })).toBe(3)
  })
})

describe('a shape', () => {
  test.each([{ shards: undefined }, { shards: [8, 4] }])(
    'that grows shows nothing of what was cut off: %o',
    async ({ shards }) => {
      const place = inMemory()
      const group = await createZarr(place)
      const x = await group.createArray('x', { dtype: 'int16', shape: [10, 6], chunks: [4, 2], shards, fillValue: -1, dimensionNames: ['t', 'y'] }) // biome-ignore format: one line
      await x.fill(5)
      const other = await group.array('x')
      await x.resize({ t: 5, y: 3 })
      expect([x.shape, other.shape, await other.sum()]).toEqual([[5, 3], [5, 3], 75]) // biome-ignore format: one line
      await x.resize([9, 7])
      const wanted = new Int16Array(63).fill(-1)
      for (let i = 0; i < 5; i++) for (let j = 0; j < 3; j++) wanted[7 * i + j] = 5
      expect((await other.toTensor()).data).toEqual(wanted)
      await x.resize([0, 7])
      expect(await place.store.list('a.zarr/x/')).toEqual(['a.zarr/x/zarr.json'])
      expect((await openZarr(place, { kind: 'group' }).then((read) => read.array('x'))).shape).toEqual([0, 7])
    },
  )

  test.skipIf(env === undefined)('that grows shows nothing of what zarr-python has left beyond it', async () => {
    const path = join(folder, 'shrunk.zarr')
    const group = await createZarr(path)
    const x = await group.createArray('x', { ...SMALL, shape: [6, 3] })
    await x.fill(1)
    const script = `import zarr; zarr.open_array(${JSON.stringify(join(path, 'x'))}, mode='r+').resize((3, 3))`
    execFileSync('python3', ['-c', script], { env })
    await x.resize([6, 3])
    expect(await x.sum()).toBe(9)
  })

  test('grows with what is appended, once that is stored', async () => {
    const place = inMemory()
    const group = await createZarr(place)
    const x = await group.createArray('x', { dtype: 'uint8', shape: [3, 0], chunks: [2, 4], dimensionNames: ['y', 't'] })
    await Promise.all([x.append('t', [1, 2, 3]), x.append(-1, Uint8Array.of(4, 5, 6, 7, 8, 9)), x.append('t', [])])
    expect([...(await x.toTensor()).data]).toEqual([1, 4, 5, 2, 6, 7, 3, 8, 9])
    // Another process goes on where this one has ended.
    const other = await openZarr(place, { kind: 'group', mode: 'r+' }).then((group) => group.array('x', 'uint8'))
    await x.append('t', [10, 11, 12])
    await other.append('t', [13, 14, 15])
    expect([...(await other.toTensor()).data]).toEqual([1, 4, 5, 10, 13, 2, 6, 7, 11, 14, 3, 8, 9, 12, 15])
    await expect(x.append('z', [1])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(x.append('t', [1])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(x.resize([1])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(x.resize([-1, 2])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })

  test('of which chunks lie behind a link stays, as nothing beyond it could be found', async () => {
    const path = join(folder, 'linked.zarr')
    const group = await createZarr(path)
    const a = await group.createArray('a', { dtype: 'int8', shape: [4], chunks: [1] })
    await a.set(null, [1, 2, 3, 4])
    renameSync(join(path, 'a/c'), join(folder, 'elsewhere'))
    symlinkSync(join(folder, 'elsewhere'), join(path, 'a/c'))
    const refused = { tag: 'UnsupportedError', message: expect.stringContaining("'c' is a link") }
    await expect(a.resize([1])).rejects.toMatchObject(refused)
    await expect(a.resize([6])).rejects.toMatchObject(refused)
    expect(await (await openZarr(join(path, 'a'), { kind: 'array' })).get()).toMatchObject({ data: Int8Array.of(1, 2, 3, 4) })
    symlinkSync(join(folder, 'elsewhere'), join(path, 'c'))
    mkdirSync(join(path, 'b'))
    symlinkSync(join(folder, 'elsewhere'), join(path, 'b/c'))
    await expect(group.createArray('b', { dtype: 'int8', shape: [2], chunks: [1] })).rejects.toMatchObject(refused)
    expect(readdirSync(join(folder, 'elsewhere')).length).toBe(4)
  })

  test('of which metadata would be damaged stays', async () => {
    const { store, path } = inMemory()
    const group = await createZarr({ store, path })
    await group.createArray('x', { dtype: 'int8', shape: [0] })
    const key = `${path}/x/zarr.json`
    const text = new TextDecoder().decode((await store.get(key))!.bytes).replace('"chunk_shape":[1]', '"chunk_shape":[0]')
    await store.put(key, new TextEncoder().encode(text))
    const x = await (await openZarr({ store, path }, { kind: 'group', mode: 'r+' })).array('x')
    await expect(x.resize([3])).rejects.toMatchObject({ tag: 'FormatError' })
    expect(new TextDecoder().decode((await store.get(key))!.bytes)).toBe(text)
  })
})

describe.skipIf(env === undefined)('a store of version 2', () => {
  const path = join(folder, 'v2.zarr')

  test('can be written to, and zarr-python reads it', async () => {
    python('v2.py', path)
    const group = await openZarr(path, { kind: 'group', mode: 'r+' })
    const [before] = found([path, true])
    const sums: Record<string, number> = {}
    for (const name of ['plain', 'zstd', 'gzip', 'zlib', 'lz4', 'blosc', 'half', 'none']) {
      const array = await group.array(name)
      await array.set([slice(1, 6), 2], 100)
      await array.set([slice(4, 8)], 50)
      if (name !== 'lz4') {
        await array.resize([10, 5])
        await array.append(0, new Array(5).fill(1))
      }
      await array.updateAttributes({ by: name })
      sums[name] = Number(await array.sum({ skipMissing: false }))
    }
    await group.updateAttributes({ title: 'changed' })
    const [together, own] = found([path, true], [path, false])
    expect(together).toEqual(own)
    expect(own!.attributes).toEqual({ title: 'changed' })
    for (const [name, sum] of Object.entries(sums)) {
      expect(own!.members[name], name).toMatchObject({ attributes: { units: 'K', by: name }, sum })
      expect(sum).not.toBe(before!.members[name]!.sum)
    }
  })

  test('has arrays that are only read, and no new ones', async () => {
    const group = await openZarr(path, { kind: 'group', mode: 'r+' })
    const delta = await group.array('delta')
    await expect(delta.set(null, 1)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
    await expect(group.createArray('x', SMALL)).rejects.toMatchObject({ tag: 'UnsupportedError' })
    await group.delete('delta')
    expect([existsSync(join(path, 'delta')), await group.arrays()]).toEqual([false, ['blosc', 'gzip', 'half', 'lz4', 'none', 'plain', 'zlib', 'zstd']]) // biome-ignore format: one line
    expect(readFileSync(join(path, '.zmetadata'), 'utf8')).not.toContain('delta')
  })

  test('is consolidated as zarr-python does it', async () => {
    const text = readFileSync(join(path, '.zmetadata'), 'utf8')
    const group = await openZarr(path, { kind: 'group', mode: 'r+' })
    await group.consolidate()
    expect(JSON.parse(readFileSync(join(path, '.zmetadata'), 'utf8'))).toEqual(JSON.parse(text))
  })
})

test('attributes of text that readers would apply once more are refused', async () => {
  const made = await createZarr({ store: new MemoryStore(), path: 'text.zarr' })
  for (const name of ['_FillValue', '_Encoding']) {
    const creating = made.createArray('t', { dtype: 'string', shape: [2], attributes: { [name]: 'x' } })
    await expect(creating).rejects.toMatchObject({ tag: 'InvalidArgumentError', details: { array: 't', actual: name } })
  }
  expect(await made.arrays()).toEqual([])
})
