import { expect, test } from 'vitest'
import { Hierarchy } from '../../../src/adapters/zarr/hierarchy.ts'
import { type ReferencePlace, ReferenceStore } from '../../../src/adapters/zarr/references.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { parseJson } from '../../../src/core/json.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import { HttpStore } from '../../../src/store/http/http.ts'
import { MemoryStore } from '../../../src/store/memory.ts'

const text = (bytes: Uint8Array | undefined): string | undefined => bytes && new TextDecoder().decode(bytes)
const bytesOf = (value: string): Uint8Array => new TextEncoder().encode(value)

async function storeOf(objects: Record<string, string>): Promise<MemoryStore> {
  const store = new MemoryStore()
  for (const [key, value] of Object.entries(objects)) await store.put(key, bytesOf(value))
  return store
}

const NEVER: ReferencePlace['openHttp'] = async () => {
  throw new Error('no other place is opened')
}

function open(references: unknown, place: Partial<ReferencePlace> & Pick<ReferencePlace, 'home'>): Promise<ReferenceStore> {
  const json = typeof references === 'string' ? references : JSON.stringify(references)
  return ReferenceStore.open(bytesOf(json), { file: 'refs.json', isLocal: true, openHttp: NEVER, ...place })
}

const failure = async (work: () => Promise<unknown>): Promise<string> => {
  try {
    return `no error: ${await work()}`
  } catch (error) {
    return isHyperslabError(error) ? `${error.tag}: ${error.message}` : String(error)
  }
}

test('text, base64, objects, whole files and parts of them', async () => {
  const home = { store: await storeOf({ 'data/x.bin': '0123456789', 'y.bin': 'abcdef' }), path: 'data/refs.json' }
  const store = await open(
    {
      '.zgroup': '{"zarr_format": 2}',
      text: 'plain',
      coded: 'base64:AAEC/w==',
      object: { big: 1, list: [null, 'ä'] },
      whole: ['x.bin'],
      nulls: ['./x.bin', null, null],
      part: ['x.bin', 3, 4],
      above: ['../y.bin', 1, 2],
    },
    { home },
  )
  expect(text((await store.get('text'))?.bytes)).toBe('plain')
  expect((await store.get('coded'))?.bytes).toEqual(Uint8Array.of(0, 1, 2, 255))
  expect(text((await store.get('object'))?.bytes)).toBe('{"big":1,"list":[null,"ä"]}')
  expect(text((await store.get('whole'))?.bytes)).toBe('0123456789')
  expect(text((await store.get('nulls'))?.bytes)).toBe('0123456789')
  expect(text((await store.get('part'))?.bytes)).toBe('3456')
  expect(text((await store.get('above'))?.bytes)).toBe('bc')
  expect(text(await store.getRange('text', 1, 2))).toBe('la')
  expect(text(await store.getRange('part', 1, 2))).toBe('45')
  expect(text(await store.getRange('whole', 8, 2))).toBe('89')
  expect(await store.stat('part')).toMatchObject({ size: 4 })
  expect(await store.stat('whole')).toMatchObject({ size: 10 })
  expect(await store.stat('text')).toMatchObject({ size: 5 })
  for (const key of ['gone', 'toString', '__proto__']) {
    expect(await store.get(key)).toBeUndefined()
    expect(await store.stat(key)).toBeUndefined()
    expect(await store.getRange(key, 0, 1)).toBeUndefined()
  }
  expect((await store.list('')).length).toBe(8)
  expect(await store.list('p')).toEqual(['part'])
})

test('a part ends where its reference says, not where the file does', async () => {
  const home = { store: await storeOf({ 'x.bin': '0123456789' }), path: 'refs.json' }
  const store = await open({ part: ['x.bin', 3, 4], beyond: ['x.bin', 8, 4], text: 'abc' }, { home })
  expect(await failure(() => store.getRange('part', 2, 3))).toMatch(/^FormatError: refs.json: part: the file ends at byte 4/)
  expect(await failure(() => store.getRange('text', 2, 3))).toMatch(/^FormatError: refs.json: text: the file ends at byte 3/)
  expect(await failure(() => store.get('beyond'))).toMatch(/^FormatError: memory:x.bin: the file ends at byte 10/)
  expect(await failure(() => store.get('part', { maxBytes: 3 }))).toMatch(/^TooLargeError: refs.json: part/)
  expect(await failure(() => store.get('text', { maxBytes: 2 }))).toMatch(/^TooLargeError: refs.json: text/)
  expect(await failure(() => store.getRange('part', 0, 1, { ifMatch: 'other' }))).toMatch(/^ConflictError/)
  const { etag } = (await store.stat('part'))!
  expect(text(await store.getRange('part', 0, 1, { ifMatch: etag }))).toBe('3')
})

test('a reference to nothing is an error, not a missing chunk', async () => {
  const home = { store: await storeOf({}), path: 'refs.json' }
  const store = await open({ part: ['gone.bin', 3, 4], whole: ['gone.bin'] }, { home })
  for (const work of [
    () => store.get('part'),
    () => store.get('whole'),
    () => store.stat('whole'),
    () => store.getRange('part', 0, 1),
  ])
    expect(await failure(work)).toMatch(
      /^NotFoundError: refs.json: \w+: the reference points to memory:gone.bin, which does not exist/,
    )
})

test('templates of version 1 are filled in', async () => {
  const home = { store: await storeOf({ 'a/b.bin': '0123456789' }), path: 'refs.json' }
  const refs = { x: ['{{u}}/b.bin', 0, 2], y: ['{{ u }}/{{name}}', 2, 2], z: '{{u}}' }
  const store = await open({ version: 1, templates: { u: 'a', name: 'b.bin' }, refs }, { home })
  expect(text((await store.get('x'))?.bytes)).toBe('01')
  expect(text((await store.get('y'))?.bytes)).toBe('23')
  expect(text((await store.get('z'))?.bytes)).toBe('{{u}}')
})

test('without templates, braces in a URL are part of the name', async () => {
  const files = { 'a{{name}}.bin': '0123', '{% if %}{{': '4567', 'a{{u}}': '89' }
  const home = { store: await storeOf(files), path: 'refs.json' }
  const refs = { x: ['a{{name}}.bin', 1, 2], y: ['{% if %}{{'], z: ['a{{u}}'] }
  for (const json of [{ version: 1, refs }, { version: 1, templates: {}, refs }, refs]) {
    const store = await open(json, { home })
    expect(text((await store.get('x'))?.bytes)).toBe('12')
    expect(text((await store.get('y'))?.bytes)).toBe('4567')
    expect(text((await store.get('z'))?.bytes)).toBe('89')
  }
})

test('a target that the server refuses is an error that says what helps', async () => {
  const refused = async () => new Response('no', { status: 403 })
  const target = new HttpStore({ fetch: refused as never, retries: 0 } as never)
  const home = { store: await storeOf({}), path: 'https://a.org/refs.json' }
  const place = { home, url: home.path, isLocal: false, openHttp: async () => target }
  const store = await open({ part: ['https://b.org/x.bin', 0, 2], whole: ['https://b.org/x.bin'] }, place)
  for (const key of ['part', 'whole']) {
    const message = await failure(() => store.get(key))
    expect(message).toMatch(/^StoreError: refs.json: \w+: the server answered 403 for the target .*b.org\/x.bin.*pass `resolve`/s)
    expect(message).not.toContain('notFound')
  }
  const near = await open({ x: ['x.bin'] }, { ...place, home: { store: target, path: home.path } })
  expect(await failure(() => near.get('x'))).toContain('pass `resolve`')
})

test('a URL that templates make too long is refused before it is built', async () => {
  const home = { store: await storeOf({}), path: 'refs.json' }
  const refs = { x: ['{{u}}'.repeat(1000), 0, 2] }
  const store = await open({ version: 1, templates: { u: 'a'.repeat(2 ** 20) }, refs }, { home })
  const error = await failure(() => store.get('x'))
  expect(error).toMatch(/^FormatError: refs.json: x: a reference has a URL of more than 65536 characters/)
  expect(error.length).toBeLessThan(1000)
})

test('what kerchunk can write and nobody here reads is refused by name', async () => {
  const home = { store: await storeOf({ 'a.bin': 'ab' }), path: 'refs.json' }
  const refs = {
    call: ["{{f(c='a')}}", 0, 1],
    block: ['{% if x %}', 0, 1],
    unknown: ['{{gone}}', 0, 1],
    nested: ['{{n}}', 0, 1],
    ok: ['a.bin'],
  }
  const store = await open({ version: 1, templates: { f: '{{c}}.bin', n: '{{f}}' }, gen: [], refs }, { home })
  for (const key of ['call', 'block', 'unknown', 'nested'])
    expect(await failure(() => store.get(key))).toMatch(
      /^UnsupportedError: refs.json: \w+: expressions of Jinja in references cannot be read/,
    )
  expect(text((await store.get('ok'))?.bytes)).toBe('ab')
  const opened = (json: unknown) => failure(async () => open(json, { home }))
  expect(await opened({ version: 1, gen: [{ key: 'x' }], refs: {} })).toMatch(/^UnsupportedError: .*'gen'/)
  expect(await opened({ version: 2, refs: {} })).toMatch(/^UnsupportedError: references of version 2/)
  expect(await opened('[]')).toMatch(/^FormatError: the list of references must be an object/)
  expect(await opened('PAR1')).toMatch(/^FormatError: the list of references is not JSON/)
  const parquet = new Hierarchy(
    { get: async (key) => (key === '.zmetadata' ? bytesOf('{"metadata": {}, "record_size": 100}') : undefined) },
    { file: 'refs.parq' },
  )
  expect(await failure(() => parquet.node(''))).toBe(
    'UnsupportedError: refs.parq: references in Parquet files cannot be read; write them as JSON',
  )
})

test.each([
  [1],
  [true],
  [null],
  [[]],
  [['a.bin', 1]],
  [['a.bin', -1, 1]],
  [['a.bin', 0, 1.5]],
  [['a.bin', '0', 1]],
  [[1, 0, 1]],
  [['a.bin', 0, 1, 2]],
  ['base64:***'],
])('%j is no reference', async (reference) => {
  const store = await open({ x: reference }, { home: { store: await storeOf({ 'a.bin': 'ab' }), path: 'refs.json' } })
  expect(await failure(() => store.get('x'))).toMatch(/^FormatError: refs.json: x: /)
})

test('integers of inline metadata stay exact', async () => {
  const home = { store: await storeOf({}), path: 'refs.json' }
  const store = await open('{"x/.zarray": {"fill_value": -9223372036854775807, "other": NaN, "zero": -0.0}}', { home })
  const { bytes } = (await store.get('x/.zarray'))!
  expect(parseJson(bytes, 'test')).toEqual({ fill_value: -9223372036854775807n, other: Number.NaN, zero: -0 })
})

/** References of a server, and what is opened for them. */
async function remote(refs: object, more: Partial<ReferencePlace> = {}) {
  const home = {
    store: await storeOf({ 'https://a.org/d/x.bin': 'same', 'https://a.org/y.bin': 'root' }),
    path: 'https://a.org/d/refs.json',
  }
  const other = await storeOf({ 'https://b.org/x.bin': 'other', 'http://a.org/x.bin': 'plain' })
  const opened: string[] = []
  const openHttp = async (query: string) => {
    opened.push(query)
    return other
  }
  return {
    opened,
    store: await open(refs, { home, url: 'https://a.org/d/refs.json?token=1', isLocal: false, openHttp, ...more }),
  }
}

test('references on the web are relative to their URL, and what lies elsewhere is asked without credentials', async () => {
  const { store, opened } = await remote({
    near: ['x.bin'],
    root: ['/y.bin'],
    full: ['https://a.org/d/x.bin', 1, 2],
    secret: ['../../../../etc/passwd', 0, 1],
    other: ['https://b.org/x.bin'],
    again: ['https://b.org/x.bin', 0, 2],
    plain: ['http://a.org/x.bin'],
    signed: ['https://b.org/x.bin?sig=2#part'],
    relative: ['//b.org/x.bin'],
  })
  expect(text((await store.get('near'))?.bytes)).toBe('same')
  expect(text((await store.get('root'))?.bytes)).toBe('root')
  expect(text((await store.get('full'))?.bytes)).toBe('am')
  expect(await failure(() => store.get('secret'))).toMatch(/^NotFoundError: .* memory:https:\/\/a.org\/etc\/passwd/)
  expect(opened).toEqual([])
  expect(text((await store.get('other'))?.bytes)).toBe('other')
  expect(text((await store.get('again'))?.bytes)).toBe('ot')
  expect(text((await store.get('relative'))?.bytes)).toBe('other')
  expect(opened).toEqual([''])
  expect(text((await store.get('plain'))?.bytes)).toBe('plain')
  expect(text((await store.get('signed'))?.bytes)).toBe('other')
  expect(opened).toEqual(['', '', 'sig=2'])
})

test('references on the web never name files of this machine', async () => {
  const urls = [
    'file:///etc/passwd',
    'FILE:///etc/passwd',
    ' file:///etc/passwd',
    'fi\nle:///etc/passwd',
    'file:/etc/passwd',
    'file:etc/passwd',
    'data:,x',
    'blob:https://a.org/1',
    'c:\\x',
  ]
  const { store, opened } = await remote(Object.fromEntries(urls.map((url) => [url, [url]])))
  for (const url of urls) expect(await failure(() => store.get(url))).toMatch(/^UnsupportedError: refs.json: /)
  expect(opened).toEqual([])
  const bare = await open(
    { x: ['/etc/passwd'], y: ['file:///etc/passwd'] },
    { home: { store: await storeOf({ '/etc/passwd': 'root' }), path: 'refs.json' }, isLocal: false },
  )
  for (const key of ['x', 'y'])
    expect(await failure(() => bare.get(key))).toMatch(
      /^UnsupportedError: .*references from elsewhere must not name a file of this machine/,
    )
})

test('references in a local file may name other files', async () => {
  const home = { store: await storeOf({ '/data/x.bin': 'abs' }), path: 'refs.json' }
  const store = await open({ x: ['/data/x.bin'], y: ['file:///data/x.bin', 1, 1] }, { home })
  expect(text((await store.get('x'))?.bytes)).toBe('abs')
  expect(text((await store.get('y'))?.bytes)).toBe('b')
})

test('places of other kinds are those that an option maps', async () => {
  const asked: string[] = []
  const resolve = async (url: string) => {
    asked.push(url)
    return url.startsWith('s3://')
      ? { store: await storeOf({ 'k.bin': 'mapped' }), path: url.slice('s3://b/'.length) }
      : undefined
  }
  const { store } = await remote({ x: ['s3://b/k.bin'], y: ['s3://b/k.bin', 0, 3], near: ['x.bin'] }, { resolve })
  expect(text((await store.get('x'))?.bytes)).toBe('mapped')
  expect(text((await store.get('y'))?.bytes)).toBe('map')
  expect(text((await store.get('near'))?.bytes)).toBe('same')
  expect(asked).toEqual(['s3://b/k.bin', 'x.bin'])
  const { store: bare } = await remote({ x: ['s3://b/k.bin'] })
  expect(await failure(() => bare.get('x'))).toMatch(
    /^UnsupportedError: refs.json: x: s3: references are read where the option `resolve` maps them/,
  )
  const bucket = { store: await storeOf({ 'd/k.bin': 'own' }), path: 'd/refs.json' }
  const own = await open(
    { x: ['s3://b/d/k.bin'], y: ['k.bin'], z: ['s3://c/d/k.bin'] },
    { home: bucket, url: 's3://b/d/refs.json', isLocal: false },
  )
  expect(text((await own.get('x'))?.bytes)).toBe('own')
  expect(text((await own.get('y'))?.bytes)).toBe('own')
  expect(await failure(() => own.get('z'))).toMatch(/^UnsupportedError/)
})

test('a place that could not be opened is opened again', async () => {
  let fails = true
  const openHttp = async () => {
    if (fails) throw new Error('offline')
    return storeOf({ 'https://b.org/x.bin': 'other' })
  }
  const { store } = await remote({ x: ['https://b.org/x.bin'] }, { openHttp })
  expect(await failure(() => store.get('x'))).toBe('Error: offline')
  fails = false
  expect(text((await store.get('x'))?.bytes)).toBe('other')
})

test('arrays are read from where references say', async () => {
  const store = new MemoryStore()
  const array = {
    zarr_format: 2,
    shape: [5],
    chunks: [2],
    dtype: '<i4',
    compressor: null,
    filters: null,
    fill_value: -1,
    order: 'C',
  }
  const refs = {
    '.zgroup': '{"zarr_format": 2}',
    'x/.zarray': JSON.stringify(array),
    'x/.zattrs': { _ARRAY_DIMENSIONS: ['t'] },
    'x/0': ['{{u}}', 4, 8],
    'x/1': `base64:${Buffer.from(Int32Array.of(7, 8).buffer).toString('base64')}`,
    'big/.zarray': { ...array, dtype: '<i8', fill_value: null },
  }
  await store.put('d/all.bin', new Uint8Array(Int32Array.of(99, 1, 2, 99).buffer))
  await store.put('d/refs.json', bytesOf(JSON.stringify({ version: 1, templates: { u: 'all.bin' }, refs })))
  await using group = await openZarr({ store, path: 'd/refs.json' }, { kind: 'group' })
  expect(await group.arrays()).toEqual(['big', 'x'])
  const x = await group.array('x')
  expect(x.dimensionNames).toEqual(['t'])
  expect(Array.from((await x.toTensor()).data as Int32Array)).toEqual([1, 2, 7, 8, -1])
})
