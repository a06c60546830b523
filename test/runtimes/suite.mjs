// Checks that must pass in every environment. They are plain JavaScript over the built package, because no
// test framework runs in all of them.
import { checker, equal, near } from './check.mjs'
import { FILE } from './hdf5-file.mjs'
import { FILE as TIFF } from './tiff-file.mjs'
import { CHUNKS, METADATA } from './zarr-store.mjs'

const SHAPE = [5, 7, 6]
const SIZE = 5 * 7 * 6

/** Elements that all differ as far as their type allows. */
const ELEMENTS = {
  bool: (i) => (i % 3 === 0 ? 1 : 0),
  int8: (i) => (i % 251) - 125,
  uint16: (i) => i * 300,
  int32: (i) => 7 - i * 70_001,
  int64: (i) => BigInt(i) * -3_000_000_019n,
  uint64: (i) => 2n ** 64n - 1n - BigInt(i),
  float32: (i) => i + 0.25,
  float64: (i) => i / 3,
  timestamp_ns: (i) => 1_700_000_000_000_000_000n + BigInt(i),
  string: (i) => `n° ${i}`,
  binary: (i) => Uint8Array.from({ length: i % 4 }, (_, k) => i + k),
}

const numbered = (dtype) => Array.from({ length: SIZE }, (_, i) => ELEMENTS[dtype](i))
const at = (z, y, x) => (z * SHAPE[1] + y) * SHAPE[2] + x

/**
 * Runs everything on each of `places`.
 * @param hyperslab the names of the package that are used
 * @param places where containers can be written, as `{ name, at }`: `at(file)` is what `open` and `create`
 *   take
 * @returns what was checked, as `{ name, error? }`
 */
export async function runSuite(hyperslab, places) {
  const { check, rejects, results } = checker(hyperslab.isHyperslabError)
  await checkSources(hyperslab, check, rejects)
  await checkZstd(hyperslab, check)
  await checkZarr(hyperslab, check, rejects)
  await checkHdf5(hyperslab, check, rejects)
  await checkGeotiff(hyperslab, check, rejects)
  for (const place of places)
    await checkContainers(hyperslab, place, (name, run) => check(`${place.name}: ${name}`, run), rejects)
  return results
}

async function checkSources({ DiskArray, initKernels, slice, plan, resolveSelection, ChunkGrid }, check, rejects) {
  await check('a source of one function is sliced and reduced', async () => {
    const squares = new DiskArray({
      dtype: 'float64',
      shape: [1000],
      chunks: [100],
      readBlock([{ start, stop }], out) {
        for (let i = start; i < stop; i++) out.data[out.offset + (i - start) * out.stride[0]] = i * i
      },
    })
    equal(await squares.get([-1]), 998_001)
    equal(
      (await squares.get([slice(null, null, -333)])).data,
      [999, 666, 333, 0].map((i) => i * i),
    )
    equal(await squares.sum(), 332_833_500)
  })
  await check('a selection is planned without reading', () => {
    const grid = ChunkGrid.regular([100], [30])
    const { shape, chunks } = plan(resolveSelection([slice(10, 70, 2)], [100]), grid)
    equal([shape, chunks], [[30], 3])
  })
  await check('initKernels: ready already, and refuses what is no module', async () => {
    initKernels()
    await rejects('InvalidArgumentError', () => initKernels({}))
  })
}

/**
 * A container of one array `x`, 3000 int32 in three chunks, `(i % 100) ** 2`, as Node 24 writes it with the
 * codec zstd.
 */
const ZSTD_CONTAINER = [
  'KLUv/WDgLVUIAJaWOjOAp9oMe6pGWwNGFeo0dZTUU6NOSsdXagAX5keheV82mEEhCUs4HHP0PW/Ltm3bWimllCkjAC4ALwBX90XZWm092Pq2Fm',
  'yJtjwRrrqDf29w0xW8e4Jz13x749mtD6obJQbDDNGLiBffC9CK1QqFFd2axFpqjbS2nT2ceWchzGHMGxuNbV8QvlJfDA4Y0xeIL92Whi3clYUr',
  '2xTUlOztNDk9yZaglmxHFo5wQxqGdD8gfph2TOz4dnxuBAhGH/DmHAyELuDtedizTYD0gNQdiTvdAhTmrOaADvC9iXgjWsMAoHRGdeZzwjdm4g',
  'gAS21yGVAtQ8q2GCrMDqh0G1BxNqDyMWADWYACAAAAAAAAAAAAAAAAAAAAABQBAAAAAAAA4C4AAAAAAAABAAAAAAAAAHpzdGT/////////////',
  '//+4CwAAAAAAAGRpbV8w///////////////oAwAAAAAAAAEAAAACAAAA9P////////8BAAAAAAAAAAAAAAAAAAAAoA8AAAAAAADY/////////w',
  'EAAAAAAAAAAAAAAKAPAACgDwAAAAAAALz/////////AQAAAAAAAAAAAAAAQB8AAKAPAAAAAAAAeP///////////////////wMAAAAAAAAAAAAA',
  'AAAAAAAAAAAAAAAAAFD/////////AQAAAAAAAABI/////////wEAAAAAAAAASP////////8BAAAAAAAAAEj/////////AwAAAAAAAAAAAAAAAA',
  'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABo/////////wAAAAAAAAAABQAAAAAAAACQ/v///////wEAAAAAAAAA',
  'QP////////8BAAAAAAAAANj/////////AAAAAAAAAADI/////////wAAAAAAAAAAAAAAAAAAAAD/////////////////////yAEAAAAAAABBUl',
  'JG',
].join('')

async function checkZstd({ open }, check) {
  await check('a zstd container is read', async () => {
    const reader = await open(Uint8Array.from(atob(ZSTD_CONTAINER), (character) => character.charCodeAt(0)))
    const expected = Array.from({ length: 3000 }, (_, i) => (i % 100) ** 2)
    equal((await reader.array('x').get()).data, expected)
    equal(
      await reader.array('x').sum(),
      expected.reduce((a, b) => a + b),
    )
  })
}

/** Answers as a server does that has the store, of whole objects and of their ends. */
async function serveZarr(url, request) {
  const key = new URL(url).pathname.slice('/small.zarr/'.length)
  const chunk = CHUNKS[key] && Uint8Array.from(atob(CHUNKS[key]), (letter) => letter.charCodeAt(0))
  const bytes = key === 'zarr.json' ? new TextEncoder().encode(JSON.stringify(METADATA)) : chunk
  return bytes === undefined ? new Response(null, { status: 404 }) : answer(bytes, request)
}

/** Answers with an object, or with the part of it that is requested. */
async function answer(bytes, { method = 'GET', headers = {} }) {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(new Headers(headers).get('range') ?? '') ?? []
  const start = first === undefined ? 0 : first === '' ? Math.max(0, bytes.length - Number(last)) : Number(first)
  const end = first && last ? Number(last) + 1 : bytes.length
  const range = first === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }
  const fields = { etag: `"${bytes.length}"`, 'content-length': `${end - start}`, ...range }
  return new Response(method === 'HEAD' ? null : bytes.slice(start, end), {
    status: first === undefined ? 200 : 206,
    headers: fields,
  })
}

/** Whether this is workerd. A Worker of one file needs `initKernels` for kernels that load on demand. */
const isEdge = () => globalThis.navigator?.userAgent === 'Cloudflare-Workers'

async function checkHdf5({ openHdf5, HttpStore, slice }, check, rejects) {
  const bytes = Uint8Array.from(atob(FILE), (letter) => letter.charCodeAt(0))
  const place = {
    store: new HttpStore({ fetch: (_, request) => answer(bytes, request) }),
    path: 'https://data.example.org/small.nc',
  }
  for (const [from, location] of [
    ['bytes', bytes],
    ['HTTP', place],
  ])
    await check(`a NetCDF-4 file is opened from ${from}, and its arrays are read, sliced and reduced`, async () => {
      const file = await openHdf5(location)
      equal([file.attrs.get('title'), await file.groups()], ['a small file', ['inner']])
      equal((await file.arrays()).slice(-4), ['deflate', 'big', 'name', 'lzf'])
      const deflate = await file.array('deflate')
      equal([deflate.shape, deflate.dimensionNames, deflate.attrs.get('units')], [SHAPE, ['z', 'y', 'x'], 'K'])
      equal((await deflate.toTensor()).data, numbered('float32'))
      equal(
        (await deflate.get([4, slice(null, null, -3), 5])).data,
        [6, 3, 0].map((y) => at(4, y, 5) + 0.25),
      )
      equal(await deflate.sum(), (SIZE * (SIZE - 1)) / 2 + SIZE * 0.25)
      equal(
        (await (await file.array('big')).get([3, [5, 0]])).data,
        [23n, 18n].map((i) => i * -3_000_000_019n),
      )
      equal(
        (await (await file.array('name')).get()).data,
        Array.from({ length: 7 }, (_, i) => `n° ${i}`),
      )
      const lzf = (await file.array('lzf')).toTensor()
      const isRead = !isEdge() || (await lzf.then(Boolean, () => false))
      if (isRead) equal((await lzf).data, numbered('uint16'))
      else equal(/initKernels.*kernels\.wasm/.test((await rejects('UnsupportedError', () => lzf)).message), true)
      equal((await (await file.array('inner/none')).get([2])) > 9e36, true)
      await file.close()
    })
}

/** Columns and rows of the images in the TIFF file. */
const [COLUMNS, ROWS] = [41, 37]

async function checkGeotiff({ openGeotiff, HttpStore, slice }, check, rejects) {
  const bytes = Uint8Array.from(atob(TIFF), (letter) => letter.charCodeAt(0))
  const place = {
    store: new HttpStore({ fetch: (_, request) => answer(bytes, request) }),
    path: 'https://data.example.org/small.tif',
  }
  for (const [from, location] of [
    ['bytes', bytes],
    ['HTTP', place],
  ])
    await check(`a TIFF file is opened from ${from}, and its images are read, sliced and reduced`, async () => {
      const file = await openGeotiff(location)
      const [lzw, deflate, packBits] = file.images.map((image) => image.array)
      equal([lzw.dtype, lzw.shape, lzw.dimensionNames], ['int16', [2, ROWS, COLUMNS], ['band', 'y', 'x']])
      equal([file.image(0).transform, file.image(0).noData], [[0.5, 0, 10, 0, -0.25, 60], 7])
      const all = lzw.toTensor()
      const isRead = !isEdge() || (await all.then(Boolean, () => false))
      if (isRead) {
        equal(
          (await all).data,
          Array.from({ length: 2 * ROWS * COLUMNS }, (_, i) => (i % 5000) - 2500),
        )
        // The missing value is left out.
        equal(await lzw.sum(), -2_983_946)
        equal((await deflate.get([36, slice(null, null, -20)])).data, [40, 20, 0].map((x) => 36 * COLUMNS + x + 0.25)) // biome-ignore format: one line
        equal((await packBits.get([[35, 11], 40])).data, [35, 11].map((y) => (y * COLUMNS + 40) % 256)) // biome-ignore format: one line
      } else equal(/initKernels.*kernels\.wasm/.test((await rejects('UnsupportedError', () => all)).message), true)
      await file.close()
    })
}

async function checkZarr({ createZarr, openZarr, HttpStore, MemoryStore, slice }, check, rejects) {
  const place = { store: new HttpStore({ fetch: serveZarr }), path: 'https://data.example.org/small.zarr' }
  await check('a Zarr store is opened over HTTP, and its arrays are read, sliced and reduced', async () => {
    const group = await openZarr(place)
    equal([group.attrs.get('title'), await group.arrays()], ['a small store', ['blosc', 'gzip', 'names', 'shards']])
    const blosc = await group.array('blosc')
    equal((await blosc.toTensor()).data, numbered('float32'))
    equal(
      (await blosc.get([4, slice(null, null, -3), 5])).data,
      [6, 3, 0].map((y) => at(4, y, 5) + 0.25),
    )
    equal(await blosc.sum(), (SIZE * (SIZE - 1)) / 2 + SIZE * 0.25)
    const gzip = await group.array('gzip')
    equal(
      (await gzip.get([4, 6, [5, 0]])).data,
      [at(4, 6, 5), at(4, 6, 0)].map((i) => BigInt(i) * -3_000_000_019n),
    )
    equal((await (await group.array('names')).get(null)).data, ['n° 0', 'n° 1', 'n° 2', 'n° 3'])
    const shards = await group.array('shards')
    // The first plane is unwritten: it contains the fill value. The array declares no missing value, so that
    // these count as values.
    equal([await shards.get([0, 0, 0]), await shards.get([1, 2, 3]), await shards.max()], [-1, at(1, 2, 3), SIZE - 1])
    await rejects('UnknownArrayError', () => group.array('nothing'))
  })
  await check('a Zarr group is written, compressed and in shards, and read back', async () => {
    const target = { store: new MemoryStore(), path: 'new.zarr' }
    const group = await createZarr(target, { attributes: { title: 'new' } })
    const dimensionNames = ['z', 'y', 'x']
    for (const [name, codec] of Object.entries({ zstd: undefined, gzip: 'gzip', blosc: 'blosc' })) {
      const options = {
        dtype: 'float32',
        shape: SHAPE,
        chunks: [1, 7, 3],
        shards: [2, 7, 6],
        dimensionNames,
        ...(codec && { codec }),
      }
      const array = await group.createArray(name, options)
      await array.set(null, numbered('float32'))
      await array.append('z', new Float32Array(42).fill(0.5))
    }
    await group.consolidate()
    const read = await openZarr(target)
    equal([read.consolidated, read.attrs.get('title')], [true, 'new'])
    for (const name of await read.arrays()) {
      const array = await read.array(name)
      equal(array.shape, [SHAPE[0] + 1, SHAPE[1], SHAPE[2]])
      equal((await array.get([slice(0, SHAPE[0])])).data, numbered('float32'))
      equal(await array.get([-1, -1, -1]), 0.5)
    }
  })
}

async function checkContainers({ open, create, slice }, { at: locate }, check, rejects) {
  const file = locate('suite.af')
  let small

  await check('arrays of every type are written, flushed and read back', async () => {
    const written = await create(file)
    for (const dtype of Object.keys(ELEMENTS)) {
      const array = written.createArray(dtype, { dtype, shape: SHAPE, chunks: [2, 4, 6], dimensionNames: ['z', 'y', 'x'] })
      await array.set(null, numbered(dtype))
      array.attrs.set('type', dtype)
    }
    equal((await written.array('int32').get([4, 6, 5])) === ELEMENTS.int32(SIZE - 1), true)
    await written.flush()
    await written.close()
    small = await open(file)
    equal(small.arrays(), Object.keys(ELEMENTS))
    for (const dtype of Object.keys(ELEMENTS)) {
      const { data, shape } = await small.array(dtype).get()
      equal(shape, SHAPE)
      equal(data, numbered(dtype))
      equal(small.array(dtype).attrs.get('type'), dtype)
    }
  })
  await check('slices, negative steps and integers', async () => {
    for (const dtype of ['int8', 'int64', 'float32', 'string']) {
      const { data, shape } = await small.array(dtype).get([slice(null, null, -2), 3, slice(-1, 0, -2)])
      equal(shape, [3, 3])
      equal(
        data,
        [4, 2, 0].flatMap((z) => [5, 3, 1].map((x) => ELEMENTS[dtype](at(z, 3, x)))),
      )
    }
    equal(await small.array('timestamp_ns').get([0, -1, 2]), ELEMENTS.timestamp_ns(at(0, 6, 2)))
  })
  await check('reductions over everything and along axes', async () => {
    const all = numbered('float32')
    for (const ignoreStats of [false, true]) {
      near(await small.array('float32').sum({ ignoreStats }), SIZE * (0.25 + (SIZE - 1) / 2))
      equal(await small.array('int32').min({ ignoreStats }), ELEMENTS.int32(SIZE - 1))
      equal(await small.array('uint64').max({ ignoreStats }), 2n ** 64n - 1n)
    }
    const means = await small.array('float32').mean({ axis: ['y', 'x'], ignoreStats: true })
    equal(means.shape, [5])
    for (const [z, mean] of means.data.entries()) near(mean, all.slice(at(z, 0, 0), at(z + 1, 0, 0)).reduce((a, b) => a + b) / 42)
    const sums = await small.array('int64').sum({ axis: 0 })
    equal(
      sums.data[1],
      [0, 1, 2, 3, 4].reduce((sum, z) => sum + ELEMENTS.int64(at(z, 0, 1)), 0n),
    )
  })
  await check('an overlay is published, seen when opened again, and compacted', async () => {
    const editor = await open(file)
    await editor.array('float32').set([1, slice(2, 5)], -1)
    editor.delete('binary')
    await editor.flush()
    equal(editor.layers().length, 2)
    await small.close()
    small = await open(file)
    equal([await small.array('float32').get([1, 4, 5]), await small.array('float32').get([1, 5, 5])], [-1, at(1, 5, 5) + 0.25])
    await editor.compact()
    await editor.close()
    await small.close()
    small = await open(file)
    equal([small.layers().length, small.arrays().includes('binary')], [1, false])
    equal(await small.array('float32').get([1, 2, 0]), -1)
    equal((await small.array('string').get()).data, numbered('string'))
  })
  await check('LZ4 makes blocks smaller and gives every byte back', async () => {
    const values = Float64Array.from({ length: 200_000 }, (_, i) => Math.floor(i / 9))
    for (const codec of ['lz4', 'none']) {
      const location = locate(`${codec}.af`)
      const written = await create(location, { codec, blockBytes: 300_000 })
      await written.createArray('long', { dtype: 'float64', shape: [200_000], chunks: [7000] }).set(null, values)
      await written.flush()
      await written.close()
      const reader = await open(location)
      const { compressedBytes, uncompressedBytes } = reader.array('long').storage()
      equal([uncompressedBytes, compressedBytes < 800_000], [1_600_000, codec === 'lz4'])
      equal((await reader.array('long').get()).data, values)
      equal(
        (await reader.array('long').get([slice(null, null, -40_000)])).data,
        [199_999, 159_999, 119_999, 79_999, 39_999].map((i) => values[i]),
      )
      await reader.close()
    }
  })
  await check('zstd is written', async () => {
    const location = locate('zstd.af')
    const values = Float64Array.from({ length: 20_000 }, (_, i) => Math.floor(i / 9))
    const written = await create(location, { codec: 'zstd', level: 5, blockBytes: 30_000 })
    await written.createArray('x', { dtype: 'float64', shape: [20_000], chunks: [700] }).set(null, values)
    await written.flush()
    await written.close()
    const reader = await open(location)
    equal((await reader.array('x').get()).data, values)
    equal(reader.array('x').storage().compressedBytes < 40_000, true)
    await reader.close()
  })
  await check('errors say what is wrong by their tag', async () => {
    await rejects('NotFoundError', () => open(locate('nowhere.af')))
    await rejects('AlreadyExistsError', () => create(file))
    await rejects('UnknownArrayError', () => small.array('missing'))
    await rejects('InvalidSelectionError', () => small.array('int8').get([5]))
    await rejects('AlreadyExistsError', () => small.createArray('int8', { dtype: 'int8', shape: [1] }))
    await rejects('UnsupportedError', () => small.array('string').sum())
  })
  await check('of two writers one is told, and succeeds after refreshing', async () => {
    const [one, two] = [await open(file), await open(file)]
    await one.array('int8').set([0, 0, 0], 11)
    await two.array('int8').set([0, 0, 1], 22)
    await one.flush()
    await rejects('ConflictError', () => two.flush())
    await two.refresh()
    await two.flush()
    await Promise.all([one.close(), two.close(), small.close()])
    small = await open(file)
    equal((await small.array('int8').get([0, 0, slice(2)])).data, [11, 22])
  })
  await check('a closed file says so', async () => {
    await small.close()
    await rejects('ClosedError', async () => small.array('int8').get())
  })
}
