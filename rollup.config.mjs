import { chmodSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import commonjs from '@rollup/plugin-commonjs'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import terser from '@rollup/plugin-terser'
import { rollup } from 'rollup'
import { dts } from 'rollup-plugin-dts'
import { keepParameters } from './scripts/keep-parameters.mjs'

/** The loader leaves its text to the compiler that it belongs to. */
const LICENCE_FILES = ['LICENSE', 'LICENSE.md', '../../assemblyscript/LICENSE']

/** Bundled packages keep their licences: each build lists them beside the code. */
function licences() {
  return {
    name: 'licences',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle)
        .flatMap((chunk) => Object.keys(chunk.modules ?? {}))
        .map((id) => id.replace(/^\0/, ''))
      const folders = new Set(modules.map((id) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1]).filter(Boolean))
      const texts = [...folders].sort().map((folder) => {
        const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'))
        const text = LICENCE_FILES.map((file) => tryRead(join(folder, file))).find(Boolean)
        if (text === undefined) throw new Error(`no licence text for ${name}`)
        return `${name} ${version} (${license})\n\n${text.trim()}\n`
      })
      this.emitFile({ type: 'asset', fileName: 'THIRD-PARTY.txt', source: texts.join(`\n${'-'.repeat(80)}\n\n`) })
    },
  }
}

function tryRead(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** The kernels as a file, for platforms that compile WebAssembly themselves. */
function kernelsFile() {
  return {
    name: 'kernels-file',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'kernels.wasm', source: readFileSync('build/kernels.wasm') })
      this.emitFile({ type: 'asset', fileName: 'kernels.wasm.d.ts', source: readFileSync('src/runtime/kernels.wasm.d.ts') })
    },
  }
}

/** What workers run as a file, for pages that forbid workers from blobs. */
function workerFile() {
  return {
    name: 'worker-file',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'worker.js', source: readFileSync('build/worker.js') })
      this.emitFile({ type: 'asset', fileName: 'worker.d.ts', source: 'export {}\n' })
    },
  }
}

/** Removes what an earlier build has left in dist: it would be published. Types are written after, and the viewer. */
function leftovers() {
  return {
    name: 'leftovers',
    writeBundle(_, bundle) {
      for (const name of readdirSync('dist', { recursive: true }))
        if (!(name in bundle) && !name.startsWith('viewer/') && statSync(`dist/${name}`).isFile()) rmSync(`dist/${name}`)
    },
  }
}

/** Prints what a browser has to load for the whole package. */
function sizes() {
  return {
    name: 'sizes',
    writeBundle(_, bundle) {
      const load = (name, seen = new Set()) => {
        if (seen.has(name) || bundle[name]?.type !== 'chunk') return seen
        seen.add(name)
        for (const imported of bundle[name].imports) load(imported, seen)
        return seen
      }
      const code = [...load('index.js')].map((name) => bundle[name].code).join('')
      const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`
      console.log(`dist/index.js with all it imports: ${kib(code.length)}, gzipped ${kib(gzipSync(code, { level: 9 }).length)}`)
    },
  }
}

/**
 * A file for each layer: bundlers drop whole files more readily than statements, and nobody who wants `slice` wants the kernels. Modules
 * that are imported only dynamically stay apart: they are loaded when they are needed. Few files besides: each costs Node half a
 * millisecond when it starts, and a browser a request.
 */
function layerOf(id, { getModuleInfo, getModuleIds }) {
  if (atOnce.size === 0) {
    const entries = [...getModuleIds()].filter(
      (each) =>
        getModuleInfo(each).isEntry &&
        !/\/(cli\/main|runtime\/(cluster|dataset|geotiff|hdf5|netcdf|plan|store|tree|zarr))\.js$/.test(each),
    )
    for (const entry of entries) atOnce.add(entry)
    labelled.add([...getModuleIds()].find((each) => each.endsWith('/build/js/dataset/dataset.js')))
    zarrAtOnce.add([...getModuleIds()].find((each) => each.endsWith('/build/js/adapters/zarr/open.js')))
    for (const modules of [atOnce, labelled, zarrAtOnce])
      for (const each of modules) for (const imported of getModuleInfo(each).importedIds) modules.add(imported)
  }
  // It instantiates the kernels, so it is loaded where they are.
  if (/\/node_modules\/@assemblyscript\/loader\//.test(id)) return 'kernels'
  const room = /\/build\/js\/(.*)\.js$/.exec(id)?.[1] ?? ''
  // Loaded only by those whose place it is: drivers of their own file can be.
  const driver = /^store\/(fs(?!\/local-file\b)|opfs(?!\/web-locks)|r2|s3|zip|picked-files)\b/.exec(room)?.[1]
  if (driver !== undefined) return `store-${driver}`
  // Loaded by programs that name it.
  if (/^(store\/persistent\/|tree\/persistent-cache$)/.test(room)) return 'persistent-cache'
  // Several drivers need it, and reading over HTTP does not.
  if (/^store\/(blob|opfs\/web-locks)$/.test(room)) return 'store-more'
  // What opening a dataset needs of labels. Imports of other formats need some of it, and must not bring along what datasets compute with:
  // that names a package by a variable, which runtimes at the edge refuse to load.
  if (
    /^(core\/typed-value|dataset\/(cf\/axis-kind|time\/(calendar|instant)|attributes|label-index|label-values|sorted-labels|variable|origin|with-index))$/.test(
      room,
    )
  )
    return 'labels'
  // One kB that datasets and Zarr need at once: checks of NetCDF may not bring the labelled layer along. Nor may iteration and conversions,
  // which need as much.
  if (
    /^(core\/(dense|member|tensor-index|text)|array\/(missing-test|part-stats)|dataset\/(dataset-file|open\/open-checks))$/.test(
      room,
    )
  )
    return 'array'
  // The calls that open datasets: the entry file itself.
  if (/^(runtime\/dataset|dataset\/open\/open-datasets?)$/.test(room)) return 'dataset'
  // Datasets compute with these, and reading does not: in a file with more, bundlers would keep the rest with it.
  if (labelled.has(id) && !reading.has(id)) return /^dataset\//.test(room) ? 'labelled' : 'labels'
  // Reading the first values of a dataset needs these: they come with the formats, not after them.
  if (/^array\/(read-whole|lazy\/(converted|picked|unpacking))$/.test(room)) return 'formats'
  // What opening takes where sidecars can be listed, or have to be looked at again: no reduction may bring it along.
  if (/^af\/layers\/(listed|settled)$/.test(room)) return 'af-more'
  // The entry for plans has these alone.
  if (/^grid\/(split-list|order)$/.test(room)) return 'split-list'
  // What lists and points take is loaded with the first of them, at once.
  if (/^(grid\/(list-pieces|list-projection)|kernels\/pick|engine\/lists|core\/copy-indices)$/.test(room)) return 'lists'
  // What opening Zarr loads at once.
  if (room === 'adapters/zarr/metadata-names') return 'formats'
  if (zarrAtOnce.has(id) && !atOnce.has(id)) {
    if (/^adapters\/zarr\/(?!write\/)/.test(room)) return 'zarr-open'
    // Containers share these codecs with Zarr, and must not load it.
    if (/^(codec|kernels)\/(bounds|platform-zlib|chain|steps|filters|checksums)/.test(room)) return 'formats'
  }
  // Datasets load these besides.
  if (/^adapters\/zarr\/(nodes|complex-array|duration-units|words|single-byte)$/.test(room)) return 'zarr-open'
  // Opening Zarr begins with reads of whole objects.
  if (/^store\/http\/(request-)?whole$/.test(room)) return 'formats'
  // Reads of ranges begin with either of them.
  if (/^store\/http\/(range-answers|start)$/.test(room)) return 'http-ranges'
  // Without a decoder of the platform, all of Zstandard is loaded with the first block.
  if (/^codec\/(zstd|zstd-frames|zstd-wasm|zstd-wasm\.generated|stream-decoder)$/.test(room)) return 'zstd'
  // Statistics of chunks, which only containers have: other formats must not load containers with their values.
  if (/^(engine\/chunk-stats|af\/(layers\/(load-stats|statistics|chunk-stats)|format\/chunk-stats-table))$/.test(room))
    return 'af-stats'
  // What combines arrays and threads is loaded by programs that call it.
  if (/^(array\/(combine|find-where|lazy\/(mosaic|concat|roll|zip))|pool\/(spawn|thread|pool))$/.test(room))
    return room.startsWith('pool/') ? 'pool' : 'combine'
  // What most methods of an array load first: in one file, since each file that is asked for takes its time.
  if (
    /^(grid\/overlap|aggregate\/(cells|reduction)|array\/(iteration|visit|missing-test|reductions\/runs|lazy\/(missing-as|view-bulk)))$/.test(
      room,
    )
  )
    return 'more'
  // What opening a dataset loads, and what reading its first values loads, in a file each: they are asked for one after the other. What they
  // share with entries stays apart, or these would bring them along.
  // The table of formats, with what opens by it; containers and flat files as nodes are loaded by the first of them.
  if (/^tree\/(open-tree|signature)$/.test(room)) return 'formats'
  // Options of requests are checked by all that open places, which must not bring the table of formats along.
  if (/^tree\/(location|url-options)$/.test(room)) return 'array'
  if (/^(af\/nodes|array\/flat-group)$/.test(room)) return 'flat-nodes'
  if (/^(tree\/formats|engine\/chunk-values)$/.test(room)) return 'formats'
  if (room === 'engine/write-box') return 'write-box'
  if (
    /^dataset\/(open\/(raw-variable|group-variables|dataset-file)|cf\/(decode|bounds)|time\/(units|dates)|coordinate-memory|read-parts|with-times)$/.test(
      room,
    )
  )
    return 'opening'
  if (/^(engine\/(segment-reads|segments|visit-box|visit-chunks)|codec\/lz4-(front|segments)|array\/(values|write))$/.test(room))
    return 'values'
  // Names and metadata of other formats, which their table needs, too.
  if (/^(core\/characters|array\/lazy\/(packing|signs|scaled|affine))$/.test(room)) return 'formats'
  if (!reading.has(id) && /^(core\/(base64|json|foreign-key|url-names|quoted|default-fill)|store\/whole)$/.test(room))
    return 'formats'
  if (!atOnce.has(id))
    return /^(aggregate|array\/reductions|kernels(?!\/((rare-)?filters|late-kernels|tiff)\b))\//.test(room)
      ? 'reductions'
      : /\/node_modules\/(fzstd)\//.exec(id)?.[1]
  if (/^codec\//.test(room)) return 'engine'
  // The calls that open containers come with them.
  if (room === 'tree/containers') return 'af'
  // What is of no layer would be called `index`.
  const layer = /^(core|kernels|grid|aggregate|array|pool|store|engine|af)\//.exec(room)?.[1]
  // A page that reads anything needs these. Modules of `grid` stay apart: `slice` alone must not bring along what arrays load later.
  if (reading.has(id) && /^(array|store)$/.test(layer)) return 'array'
  // What other parts of the package need at once, and reading only later: bundlers would keep it with the rest of its file.
  return layer === undefined || reading.has(id) ? layer : /^(store|af)$/.test(layer) ? `${layer}-more` : 'more'
}

/** The modules of which opening and reading a file needs something before it runs. */
async function modulesOfReading() {
  const program =
    "import { open, slice } from './build/js/runtime/index.js'; open(location.hash).then((file) => file.array(location.hash).get([slice(2)]))"
  const entry = {
    name: 'entry',
    resolveId: (id) => (id === 'entry' ? join(process.cwd(), id) : null),
    load: (id) => (id === join(process.cwd(), 'entry') ? program : null),
    resolveDynamicImport: () => ({ id: 'later', external: true }),
  }
  const bundle = await rollup({
    input: 'entry',
    external: (id) => /^[^./]/.test(id) && id !== 'entry',
    plugins: [entry],
    treeshake: { moduleSideEffects: false },
  })
  const { output } = await bundle.generate({ format: 'es' })
  return new Set(Object.entries(output[0].modules).flatMap(([id, { code }]) => (code ? [id] : [])))
}

const reading = await modulesOfReading()

/** Classes that keep their names. */
const NAMED_CLASSES =
  /^(ArrayFile|FileArray|DiskArray|Netcdf\w+|HyperslabError|BlockCache|PersistentCache|MemoryBudget|Pool|Attributes|\w+Store|\w+Source|ChunkGrid|\w+Chunks)$/

/** What importing the package loads. */
const atOnce = new Set()

/** What opening Zarr loads before it reads an array. */
const zarrAtOnce = new Set()

/** What datasets load, once there is one. */
const labelled = new Set()

const executable = { name: 'executable', writeBundle: () => chmodSync('dist/cli.js', 0o755) }

/** The modules that users import, by name. */
const ENTRIES = {
  index: 'runtime/index',
  store: 'runtime/store',
  plan: 'runtime/plan',
  geotiff: 'runtime/geotiff',
  hdf5: 'runtime/hdf5',
  netcdf: 'runtime/netcdf',
  zarr: 'runtime/zarr',
  dataset: 'runtime/dataset',
  cluster: 'runtime/cluster',
  tree: 'runtime/tree',
  testing: 'testing/index',
}

const entries = (folder, ending) =>
  Object.fromEntries(Object.entries(ENTRIES).map(([name, path]) => [name, `${folder}/${path}${ending}`]))

const code = {
  input: { ...entries('build/js', '.js'), cli: 'build/js/cli/main.js' },
  external: [/^node:/],
  plugins: [
    keepParameters(),
    // The one build runs everywhere, so dependencies have to be those for browsers: others import modules of Node, which webpack refuses.
    nodeResolve({ exportConditions: ['browser', 'import', 'default'] }),
    commonjs(),
    // Bundlers are told by comments what to leave alone.
    // Stack traces and `console.log` name the classes that users meet, at a line and column that can be found.
    terser({
      module: true,
      // Inlined further, what a dynamic import is given becomes a list of expressions, which terser prints as several arguments.
      compress: { passes: 2, inline: 1 },
      keep_classnames: NAMED_CLASSES,
      format: { comments: /webpackIgnore|@vite-ignore/, max_line_len: 400 },
    }),
    licences(),
    kernelsFile(),
    workerFile(),
    leftovers(),
    sizes(),
    executable,
  ],
  // No module does anything when imported (but the kernels compile themselves in workerd), so what is not used may be dropped.
  treeshake: { moduleSideEffects: false },
  output: {
    dir: 'dist',
    format: 'es',
    generatedCode: 'es2015',
    // Not in the package, which would be three times as large: so nothing refers to them.
    sourcemap: 'hidden',
    chunkFileNames: ({ name, facadeModuleId }) => `chunks/${nodesOf(name, facadeModuleId)}.js`,
    manualChunks: layerOf,
    banner: ({ name }) => (name === 'cli' ? '#!/usr/bin/env node' : ''),
  },
}

/** A file of types for each module that users import, and a few that these share. */
const types = {
  input: entries('build/types', '.d.ts'),
  external: [/^[^./]/],
  plugins: [dts()],
  output: {
    dir: 'dist',
    entryFileNames: '[name].d.ts',
    chunkFileNames: ({ name }) => `types/${name.replace(/\.d$/, '')}.d.ts`,
    // What the sources refer to; bundling drops it.
    banner: '/// <reference lib="esnext.disposable" />',
  },
}

/** Each format has a module of nodes, whose chunk is named after the format. */
const nodesOf = (name, module) => (name === 'nodes' && module ? `${module.split('/').at(-2)}-nodes` : name)

export default [code, types]
