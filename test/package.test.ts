import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { gzipSync } from 'node:zlib'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import * as terser from '@rollup/plugin-terser'
import { type Plugin, type RenderChunkHook, rollup } from 'rollup'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lazily } from '../src/core/lazily.ts'

const root = new URL('..', import.meta.url).pathname
const pkg = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

test('every exported file exists, types first', () => {
  for (const [name, entry] of Object.entries<string | Record<string, string>>(pkg.exports)) {
    if (typeof entry === 'object') expect(Object.keys(entry), name).toEqual(['types', 'default'])
    for (const file of typeof entry === 'string' ? [entry] : Object.values(entry))
      expect(existsSync(join(root, file)), file).toBe(true)
  }
  expect(existsSync(join(root, pkg.bin.hyperslab))).toBe(true)
})

test('the package takes at most 3.55 MB, without maps that nothing refers to', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { stdout } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
  const [{ unpackedSize, files }] = JSON.parse(stdout) as [{ unpackedSize: number; files: { path: string }[] }]
  expect(unpackedSize).toBeLessThanOrEqual(3.55e6)
  expect(files.filter(({ path }) => path.endsWith('.map'))).toEqual([])
  for (const { path } of files.filter(({ path }) => path.endsWith('.js')))
    expect(readFileSync(join(root, path), 'utf8'), path).not.toContain('sourceMappingURL')
})

test('no module waits or asks for Node when it is imported', () => {
  // Fails where a module awaits at its top level.
  expect(createRequire(import.meta.url)(join(root, 'dist/index.js')).open).toBeTypeOf('function')
  for (const name of [
    'index.js',
    'store.js',
    'plan.js',
    'netcdf.js',
    'zarr.js',
    'dataset.js',
    'cluster.js',
    'tree.js',
    'testing.js',
    ...readdirSync(join(root, 'dist/chunks')).map((chunk) => `chunks/${chunk}`),
  ]) {
    // Words in messages and names asked for at run time are no imports.
    if (name.endsWith('.js'))
      expect(readFileSync(join(root, 'dist', name), 'utf8'), name).not.toMatch(/(from|import\(?)\s*["']node:/)
  }
})

test('no chunk imports itself in a circle, of which bundlers warn', () => {
  const folder = join(root, 'dist/chunks')
  const names = readdirSync(folder).filter((name) => name.endsWith('.js'))
  const imports = new Map(
    names.map((name) => [
      name,
      [...readFileSync(join(folder, name), 'utf8').matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)].map(([, other]) => other!),
    ]),
  )
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) circles.push([...path.slice(path.indexOf(name)), name].join(' -> '))
    else if (!done.has(name)) for (const next of imports.get(name) ?? []) visit(next, [...path, name])
    done.add(name)
  }
  for (const name of names) visit(name, [])
  expect([names.length > 10, circles]).toEqual([true, []])
})

test.each(['index', 'store', 'plan', 'netcdf', 'zarr'])(
  '%s and all that it loads later import by names alone, as edge runtimes ask',
  (entry) => {
    const read = (name: string): string => readFileSync(join(root, 'dist', name), 'utf8')
    const importsOf = (name: string): string[] =>
      [...read(name).matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, other]) => join(name, '..', other!))
    const files = [...withImports(`${entry}.js`, importsOf)]
    expect(files.length).toBeGreaterThan(10)
    expect(files.filter((name) => /\bimport\((?!\s*")/.test(read(name)))).toEqual([])
  },
)

// Its types are those of a CommonJS module.
const minify = terser.default as unknown as (options: object) => Plugin

/**
 * Minifies the code that is loaded at once. The rest is most of the package, and this test does not look at
 * it.
 */
function minifyLoaded(): Plugin {
  const { renderChunk, ...rest } = minify({ module: true })
  return {
    ...rest,
    renderChunk(code, chunk, options, meta) {
      const first = Object.values(meta.chunks).find(({ isEntry }) => isEntry)!.fileName
      if (!withImports(first, (name) => meta.chunks[name]!.imports).has(chunk.fileName)) return null
      return (renderChunk as RenderChunkHook).call(this, code, chunk, options, meta)
    },
  }
}

/** A file and all that it imports, not dynamically. */
function withImports(first: string, importsOf: (name: string) => readonly string[]): Set<string> {
  const loaded = new Set([first])
  for (const name of loaded) for (const imported of importsOf(name)) loaded.add(imported)
  return loaded
}

/**
 * Bytes, minified and gzipped, that a browser loads for a program before it runs: what it imports dynamically
 * comes later.
 */
async function loadedBytes(program: string): Promise<number> {
  const entry = {
    name: 'entry',
    resolveId: (id: string) =>
      id === 'entry' ? id : /^hyperslab/.test(id) ? join(root, `dist/${id.split('/')[1] ?? 'index'}.js`) : null,
    load: (id: string) => (id === 'entry' ? program : null),
    // The flag comes from package.json. Rollup reads it only for packages that it resolves itself.
    transform: (_: string, id: string) => ({ moduleSideEffects: pkg.sideEffects.includes(id.replace(root, './')) }),
  }
  const bundle = await rollup({ input: 'entry', plugins: [entry, nodeResolve(), minifyLoaded()] })
  const { output } = await bundle.generate({ format: 'es' })
  const chunks = new Map(output.flatMap((file) => (file.type === 'chunk' ? [[file.fileName, file]] : [])))
  const loaded = withImports(output[0].fileName, (name) => chunks.get(name)!.imports)
  return gzipSync([...loaded].map((name) => chunks.get(name)!.code).join(''), { level: 9 }).length
}

test('stack traces of the package and what it prints name classes, and columns that an editor shows', async () => {
  const { create, MemoryStore } = await import(join(root, 'dist/index.js'))
  const file = await create({ store: new MemoryStore(), path: 'climate.af' })
  const array = file.createArray('tas', {
    dtype: 'float32',
    shape: [12, 180, 360],
    chunks: [1, 180, 360],
    dimensionNames: ['t', 'y', 'x'],
  })
  const shown = inspect([file, array, array.transpose([2, 0, 1])], { breakLength: 1000 })
  expect(shown).toContain("ArrayFile { 'memory:climate.af', 1 array, 1 layer }")
  expect(shown).toContain("FileArray { 'tas', float32 [12, 180, 360] (t, y, x), chunks [1, 180, 360] }")
  expect(shown).toContain('float32 [360, 12, 180] (x, t, y), chunks [360, 1, 180] }')
  // In a process of its own: the runner maps its own stacks back to the sources.
  const failing = `const { create, MemoryStore } = await import('${join(root, 'dist/index.js')}')
const file = await create({ store: new MemoryStore(), path: 'a.af' })
file.array('pr')`
  const { stderr: stack } = spawnSync(process.execPath, ['--input-type=module', '-e', failing], { encoding: 'utf8' })
  expect(stack).toContain('ArrayFile.array')
  const columns = [...stack.matchAll(/dist\/.*:\d+:(\d+)\)?$/gm)].map(([, column]) => Number(column))
  expect(columns.length).toBeGreaterThan(0)
  for (const column of columns) expect(column).toBeLessThan(500)
})

test('slices alone load next to nothing', async () => {
  expect(await loadedBytes("import { slice } from 'hyperslab'; console.log(slice(2))")).toBeLessThan(1000)
})

const OPENING = "import { open, slice } from 'hyperslab'; open(location.hash).then((file) => file.array('t').get([slice(2)]));"
const openingBytes = lazily(() => loadedBytes(OPENING))

test('opening and reading a file stays within its budget', async () => {
  const bytes = await openingBytes()
  expect(bytes).toBeLessThan(OPEN_BYTES)
  expectOnPages(`some ${Math.round(bytes / 1000)} kB for \`open\``, 'speed.md')
})

/** Minified and gzipped bytes of `@assemblyscript/loader`, which this project has to use. */
const LOADER_BYTES = 1_822

/**
 * The goal is 40 kB. What makes the package smaller lowers this, so that it is not lost again. Some 240 bytes
 * of it are what a page of Zarr loads in the same files, because each file of its own is a request.
 */
const OPEN_BYTES = 56_260 + LOADER_BYTES

test('opening and reading a Zarr store stays within its budget', async () => {
  const program =
    "import { openZarr } from 'hyperslab/zarr'; openZarr(location.hash).then((group) => group.array('t')).then((array) => array.get([0]))"
  const bytes = await loadedBytes(program)
  expect(bytes).toBeLessThan(73_120)
  expectOnPages(`some ${Math.round(bytes / 1000)} kB`, 'speed.md', 'questions.md')
})

/** Checks that pages of docs/ contain a figure, on one line or across lines. */
function expectOnPages(figure: string, ...pages: string[]): void {
  for (const page of pages) {
    const text = readFileSync(join(root, 'docs', page), 'utf8').replace(/\s+/g, ' ')
    expect(text.includes(figure), `docs/${page} says ${figure}`).toBe(true)
  }
}

/** A program that opens a Zarr store over HTTP, reads one frame, and prints the files that it has loaded. */
const PAGE = `
import { readFileSync } from 'node:fs'
import { register } from 'node:module'
const [dist, store] = process.argv.slice(2)
const loaded = []
const { port1, port2 } = new MessageChannel()
port1.on('message', (url) => void loaded.push(url))
port1.unref()
const hooks = \`let port
export const initialize = (given) => { port = given }
export const load = (url, context, next) => { port.postMessage(url); return next(url, context) }\`
register('data:text/javascript,' + encodeURIComponent(hooks), { data: port2, transferList: [port2] })
globalThis.fetch = async (url, { method, headers } = {}) => {
  let bytes
  try {
    bytes = readFileSync(store + new URL(url).pathname)
  } catch {
    return new Response(null, { status: 404 })
  }
  const range = /bytes=(\\d+)-(\\d+)/.exec(new Headers(headers).get('range') ?? '')
  const part = range === null ? bytes : bytes.subarray(Number(range[1]), Number(range[2]) + 1)
  const given = { 'content-length': String(part.length), etag: '"1"' }
  if (range !== null) given['content-range'] = 'bytes ' + range[1] + '-' + (Number(range[1]) + part.length - 1) + '/' + bytes.length
  return new Response(method === 'HEAD' ? null : part, { status: range === null ? 200 : 206, headers: given })
}
const { openDataset } = await import(dist + '/dataset.js')
const ds = await openDataset('https://data.example/demo.zarr')
const frame = await ds.get('tas').isel({ time: 0 }).values()
await new Promise((resolve) => setTimeout(resolve, 100))
const files = loaded.filter((url) => url.startsWith('file://' + dist)).map((url) => url.slice('file://'.length))
console.log(JSON.stringify({ length: frame.length, files: [...new Set(files)] }))
`

test('a page that opens Zarr as a dataset and reads one frame loads neither containers nor reductions nor writing', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-page-'))
  try {
    const source = join(root, 'demo/data/tas_rectilinear_grid_2D.nc')
    const made = spawnSync(process.execPath, [join(root, 'dist/cli.js'), 'export', source, join(folder, 'demo.zarr')])
    expect(made.status).toBe(0)
    writeFileSync(join(folder, 'page.mjs'), PAGE)
    const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'page.mjs'), join(root, 'dist'), folder], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    const { length, files } = JSON.parse(stdout) as { length: number; files: string[] }
    expect(length).toBe(96 * 192)
    const names = files.map((file) => file.replace(/^.*\//, ''))
    expect(names).toContain('zarr-open.js')
    expect(
      names.filter((name) =>
        /^(af|reductions|write|encode|.*-target|flat-nodes|split-list|lists|http-ranges|pages|more)/.test(name),
      ),
    ).toEqual([])
    const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0)
    // The goal is 90 kB in 12 files. What makes them fewer lowers this, so that it is not lost again.
    expect([files.length <= 12, bytes <= 130_500], `${files.length} files of ${bytes} bytes`).toEqual([true, true])
    expectOnPages(`${Math.ceil(bytes / 1000)} kB in ${files.length} files`, 'speed.md', 'questions.md')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test.each([
  // The call loads the code of datasets in parallel with the code that opens the file.
  ['opening a dataset', 'openDataset', 650],
  // The goal is 15 kB. What makes them smaller lowers this, so that it is not lost again. Checks of arguments
  // take 500 bytes of it. Operations that users of xarray look for take some 5.5 kB, because they return
  // arrays at once.
  ['a dataset', 'Dataset, openDataset', 31_900],
])('%s adds to what opening a file loads within its budget', async (_, names, most) => {
  const both = `${OPENING} import { ${names} } from 'hyperslab/dataset'; console.log(${names}); openDataset(location.hash).then((ds) => ds.get('t').sel({ time: '1998' }).get())`
  expect((await loadedBytes(both)) - (await openingBytes())).toBeLessThan(most)
})

/** Modules that log the names of the chunks that a program loads, on its standard error. */
const LOGGED = `import { writeSync } from 'node:fs'
export const load = (url, context, next) => {
  writeSync(2, url + '\\n')
  return next(url, context)
}`
const asData = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`
const LOGGING = asData(`import { register } from 'node:module'; register(${JSON.stringify(asData(LOGGED))})`)

/** Returns the chunks of the package that a program loads, at once or later. */
function loadedChunks(program: string): string[] {
  const path = (name: string): string => JSON.stringify(join(root, 'dist', `${name}.js`))
  const code = `const { DiskArray, open, points, slice } = await import(${path('index')})
const { openZarr } = await import(${path('zarr')})
${program}`
  const args = ['--import', LOGGING, '--input-type=module', '-e', code]
  const { stderr, status } = spawnSync(process.execPath, args, { cwd: readFolder, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  return [...stderr.matchAll(/\/dist\/chunks\/([^/]+)\.js$/gm)].map(([, name]) => name!)
}

const readFolder = mkdtempSync(join(tmpdir(), 'hyperslab-read-'))
afterAll(() => rmSync(readFolder, { recursive: true }))

test('the first read of a float array loads nothing of complex numbers, structures, points or scalar reads', async () => {
  const { create } = await import(join(root, 'dist/index.js'))
  const { createZarr } = await import(join(root, 'dist/zarr.js'))
  await using file = await create(join(readFolder, 'a.af'))
  await file.createArray('x', { dtype: 'float32', shape: [4, 2] }).set(null, 1)
  await file.flush()
  const group = await createZarr(join(readFolder, 'a.zarr'))
  for (const dtype of ['float32', 'complex64']) await (await group.createArray(dtype, { dtype, shape: [4, 2] })).set(null, 1)
  const lazy = ['elements', 'structures', 'complex-array', 'complex-labels', 'read-points', 'scalar-reads']
  const lazyOnes = (program: string): string[] => loadedChunks(program).filter((name) => lazy.includes(name))
  const read = `await (await open('a.af')).array('x').get([slice(2)])
const x = await (await openZarr('a.zarr')).array('float32')
await x.get([slice(2)])`
  expect(loadedChunks(read).length).toBeGreaterThan(10)
  expect(lazyOnes(read)).toEqual([])
  const viewed = lazyOnes(`${read}; await x.view([points([[0, 1], [3, 0]])]).get([[1, 0]])`)
  const complex = lazyOnes(`${read}; await (await (await openZarr('a.zarr')).array('complex64')).get([1])`)
  const refused = `await new DiskArray(x.source, { scalar: 'refuse' }).get([0, 0]).catch(() => {})`
  expect([viewed, lazyOnes(`${read}; ${refused}`)]).toEqual([['read-points'], ['scalar-reads']])
  expect(complex).toEqual(['structures', 'elements'])
})

test('writing NetCDF loads within its budget, and what reads all values first only for arrays that need it', () => {
  // The goal is 5 kB. Messages, checks of names and dimensions, and attributes take 3 kB of it. What makes it
  // smaller lowers this, so that it is not lost again.
  expect(gzipSync(readFileSync(join(root, 'dist/chunks/netcdf-target.js')), { level: 9 }).length).toBeLessThan(6_300)
  const write = (type: string): string[] =>
    loadedChunks(`const { Dataset } = await import(${JSON.stringify(join(root, 'dist/dataset.js'))})
await new Dataset({ v: { dims: ['x'], data: ${type}.of(${type.startsWith('Big') ? '1n' : '1'}) } }).write('${type}.nc')`)
  const written = ['Float32Array', 'BigInt64Array'].map((type) =>
    write(type)
      .filter((name) => /^netcdf-(target|values)$/.test(name))
      .sort(),
  )
  expect(written).toEqual([['netcdf-target'], ['netcdf-target', 'netcdf-values']])
})

test('installing it installs nothing else', () => {
  expect(pkg.dependencies).toBeUndefined()
  const bundled = readFileSync(join(root, 'dist/THIRD-PARTY.txt'), 'utf8')
  for (const name of ['@assemblyscript/loader', 'aws4fetch', 'commander', 'fflate', 'fzstd'])
    expect(bundled).toMatch(new RegExp(`^${name} \\d`, 'm'))
})

/**
 * The packages that this project has to use, each with the file in which it does its work, and how that file
 * names it.
 */
test.each([
  ['assemblyscript', 'scripts/build.mjs', "await node('node_modules/assemblyscript/bin/asc.js', entry"],
  ['@assemblyscript/loader', 'src/kernels/module.ts', "import { instantiateSync } from '@assemblyscript/loader'"],
  ['typescript', 'scripts/build.mjs', "await node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json')"],
  ['rollup', 'scripts/build.mjs', "await node('node_modules/rollup/dist/bin/rollup', '-c'"],
  ['rollup', 'scripts/embed-worker.mjs', "import { rollup } from 'rollup'"],
  ['vitest', 'vitest.config.ts', "from 'vitest/config'"],
  ['fzstd', 'src/codec/zstd.ts', "await import('fzstd')"],
])('%s is declared, and does its work in %s', (name, file, use) => {
  expect(Object.keys({ ...pkg.devDependencies, ...pkg.dependencies })).toContain(name)
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  expect(lines.filter((line) => line.includes(use) && !/^\s*(\/\/|\*)/.test(line))).not.toEqual([])
})

test('the loader is in what the package and its workers run, and nothing else instantiates WebAssembly', () => {
  // Words of the loader that minifying keeps.
  const words = 'Operation requires compiling with --exportRuntime'
  for (const file of ['dist/chunks/kernels.js', 'dist/worker.js']) expect(readFileSync(join(root, file), 'utf8')).toContain(words)
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.generated.ts'),
  )
  const others = sources.filter((name) =>
    /WebAssembly\s*\.\s*(Instance|instantiate)/.test(readFileSync(join(root, 'src', name), 'utf8')),
  )
  expect([sources.length > 100, others]).toEqual([true, []])
})

test('the public names', async () => {
  const entry = await import(join(root, 'dist/index.js'))
  expect(Object.keys(entry).sort()).toMatchInlineSnapshot(`
    [
      "BlobStore",
      "BlockCache",
      "DiskArray",
      "FileStore",
      "HttpStore",
      "HyperslabError",
      "MemoryBudget",
      "MemoryStore",
      "OpfsStore",
      "R2Store",
      "S3Store",
      "ZipStore",
      "broadcast",
      "chunk",
      "coarsen",
      "concat",
      "create",
      "createPool",
      "findWhere",
      "generate",
      "initKernels",
      "isHyperslabError",
      "linear",
      "mosaic",
      "newAxis",
      "open",
      "openTree",
      "points",
      "roll",
      "scaled",
      "slice",
      "slidingWindows",
      "stack",
      "toDate",
      "toISO",
      "toTimestamp",
      "verify",
      "writeImmutable",
      "zip",
    ]
  `)
})

const CONSUMER = `import { BlockCache, createPool, initKernels, MemoryBudget, open, slice, type Tensor, findWhere } from '${join(root, 'dist/index.js')}'
import { openNetcdf } from '${join(root, 'dist/netcdf.js')}'
import { openDataset } from '${join(root, 'dist/dataset.js')}'
import { openZarr } from '${join(root, 'dist/zarr.js')}'
import { storeConformance } from '${join(root, 'dist/testing.js')}'
// The declarations of the other entries compile, too.
${['cluster', 'geotiff', 'hdf5', 'plan', 'store', 'tree', 'worker'].map((entry) => `export type * as ${entry} from '${join(root, 'dist', entry)}.js'`).join('\n')}
const [pool, cache, budget] = [createPool(), new BlockCache(), new MemoryBudget(2 ** 30)]
const file = await open('a.af', { pool, cache, budget })
const box: Float32Array = (await file.array('x', 'float32').get([0, slice(2)])).data
const one: bigint = await file.array('y', 'int64', 2).get([0, 1])
const typed = await open('a.af', { arrays: { tas: ['float32', 3] } })
const cell: number = await typed.array('tas').get([0, 1, 2])
// @ts-expect-error: fewer integers than axes leave a tensor.
const row: number = await typed.array('tas').get([0])
// @ts-expect-error: there is no such option.
await file.array('x').sum({ axes: 0, skipNaN: true })
const sums: Float64Array = (await file.array('x', 'float32').sum({ axis: 0 })).data
initKernels(new Uint8Array(8))
const sum: bigint = await file.array('y', 'int64').sum()
export { box, cell, one, row, sums, sum, openDataset, openNetcdf, openZarr, storeConformance }

// Results as other libraries take them.
const tas = file.array('tas', 'float32', 3)
const view = tas.transpose([2, 0, 1])
const result = await tas.get()
const zarrita: { data: Float32Array; shape: number[]; stride: number[] } = result
declare function ndarray(data: Float32Array, shape?: number[], stride?: number[], offset?: number): void
ndarray(result.data, result.shape, result.stride, result.offset)
declare function tensor(values: Float32Array, shape?: [number, number, number] | number[]): void
tensor(result.data, result.shape)
// The caller's shapes and strides may be read-only.
const out = { data: new Float32Array(8), shape: [2, 4], stride: [4, 1] } as const
await file.array('x', 'float32').get(null, { out })
const kept: Tensor<'float32'> = result
await tas.set(null, zarrita)
export { kept, view, zarrita }

// Types that editors show.
const unknown = file.array('z')
const means = await tas.mean({ axis: 0 })
const element = await tas.get([0, 0, 0])
const found = findWhere(tas, { min: 0 })
export const shown = [unknown.name, means.data, element, await found.count(), cache.stats(), budget.stats(), pool.size]
`

const COMPILERS: [version: string, compiler: string][] = [
  ['5.9', 'typescript-5.9'],
  ['6', 'typescript'],
  ['7', 'typescript-7'],
]

/** Names that the short programs of the guide do not declare. */
const SHORT = `import { between, cos, Dataset, openDataset } from 'hyperslab/dataset'
declare const path: string
const ds = await openDataset(path, { variables: { tas: 'float32' } })
const tas = ds.get('tas')
`

describe('types', () => {
  const compilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: false,
    target: 'es2022',
    lib: ['ES2022'],
    module: 'nodenext',
    types: [],
  }
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hyperslab-types-'))
    writeFileSync(join(folder, 'use.mts'), CONSUMER)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.mts'] }))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(COMPILERS)('need neither the DOM nor Node nor libraries after ES2022 under TypeScript %s', (version, compiler) => {
    const tsc = join(root, 'node_modules', compiler, 'bin/tsc')
    const run = (...options: string[]) => spawnSync(process.execPath, [tsc, ...options], { encoding: 'utf8' }).stdout
    expect(run('--version')).toContain(`Version ${version}.`)
    expect(run('-p', folder)).toBe('')
  })

  test.each(COMPILERS)(
    'let the programs of README, the guide and the answers compile as they stand under TypeScript %s',
    (_, compiler) => {
      const programs = ['README.md', 'docs/guide.md', 'docs/questions.md'].flatMap((page) =>
        [...readFileSync(join(root, page), 'utf8').matchAll(/```[jt]s\n([\s\S]*?)```/g)].map(([, code]) => code!),
      )
      expect(programs.length).toBeGreaterThan(20)
      const place = mkdtempSync(join(tmpdir(), 'hyperslab-programs-'))
      try {
        mkdirSync(join(place, 'node_modules'))
        symlinkSync(root, join(place, 'node_modules', 'hyperslab'))
        const files = programs.map((code, i) => {
          // The short programs of the guide have these names without importing them.
          const isShort = !code.includes('import ')
          writeFileSync(join(place, `${i}.mts`), isShort ? `${SHORT}\n${code}\nexport {}\n` : code)
          return `${i}.mts`
        })
        const globals = `declare const env: { readonly BUCKET: import('hyperslab/store').R2BucketLike }\n`
        writeFileSync(join(place, 'globals.d.ts'), globals)
        const options = { ...compilerOptions, lib: ['ESNext', 'DOM'] }
        writeFileSync(
          join(place, 'tsconfig.json'),
          JSON.stringify({ compilerOptions: options, files: [...files, 'globals.d.ts'] }),
        )
        const tsc = join(root, 'node_modules', compiler, 'bin/tsc')
        expect(spawnSync(process.execPath, [tsc, '-p', place], { encoding: 'utf8' }).stdout).toBe('')
      } finally {
        rmSync(place, { recursive: true })
      }
    },
    120_000,
  )

  describe('in an editor', () => {
    const path = join(root, 'test/use.mts')
    const { options } = ts.convertCompilerOptionsFromJson(compilerOptions, root)
    const textOf = (file: string): string | undefined => (file === path ? CONSUMER : ts.sys.readFile(file))
    const { readFile, directoryExists, getDirectories } = ts.sys
    const service = ts.createLanguageService({
      getCompilationSettings: () => options,
      getScriptFileNames: () => [path],
      getScriptVersion: () => '1',
      getScriptSnapshot: (file) => ts.ScriptSnapshot.fromString(textOf(file) ?? ''),
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      getCurrentDirectory: () => root,
      fileExists: (file) => file === path || ts.sys.fileExists(file),
      readFile,
      directoryExists,
      getDirectories,
    })

    const endOf = (text: string): number => CONSUMER.indexOf(text) + text.length

    test.each([
      ['file', 'ArrayFile<Untyped>'],
      ['tas', 'FileArray<"float32", 3>'],
      ['unknown', 'FileArray<DType, number>'],
      ['view', 'DiskArray<"float32", 3>'],
      ['result', 'Tensor<"float32">'],
      ['means', 'Tensor<"float64">'],
      ['element', 'number'],
      ['found', 'WhereSearch<"float32">'],
    ])('%s is shown as %s', (name, type) => {
      const info = service.getQuickInfoAtPosition(path, endOf(`const ${name}`) - 1)
      expect(ts.displayPartsToString(info!.displayParts)).toBe(`const ${name}: ${type}`)
    })

    test.each([
      ['result.', ['data', 'offset', 'shape', 'stride']],
      ['cache.', ['clear', 'stats']],
      ['budget.', ['bytes', 'result', 'stats']],
      ['pool.', ['close', 'decodes', 'inlineReason', 'run', 'size']],
      ['found.', ['all', 'count']],
    ])('after %s come its public members', (text, members) => {
      expect(membersAfter(text)).toEqual(members)
    })

    const membersAfter = (text: string): string[] =>
      service.getCompletionsAtPosition(path, endOf(text), {})!.entries.map(({ name }) => name)

    test('nothing that is ours alone is offered of files and arrays', () => {
      const own = /^[_#]|^(state|index|changeShape|container|copy)$/
      const members = ['file.', 'tas.'].map(membersAfter)
      expect(members.map((names) => names.filter((name) => own.test(name)))).toEqual([[], []])
      expect(members.map((names) => names.length > 15)).toEqual([true, true])
    })
  })

  test('carry neither internals nor the bytes of what is embedded', () => {
    const folder = join(root, 'dist')
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.d.ts')) continue
      const text = readFileSync(join(folder, name), 'utf8')
      expect(text, name).not.toContain('@internal')
      expect(
        text.split('\n').filter((line) => line.length > 2000),
        name,
      ).toEqual([])
    }
  })
})
