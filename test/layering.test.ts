import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, test } from 'vitest'

/** All that entry points put together. */
const BELOW_RUNTIME = ['core', 'kernels', 'grid', 'aggregate', 'array', 'codec', 'pool', 'store', 'engine', 'af', 'adapters', 'tree', 'copy', 'dataset', 'cluster'] // biome-ignore format: one line

/** Imports that each folder of src may have besides its own. The innermost folder in the list counts. */
const LAYERS: Record<string, string[]> = {
  core: [],
  kernels: ['core'],
  grid: ['core', 'kernels'],
  aggregate: ['core', 'kernels', 'grid'],
  array: ['core', 'kernels', 'grid', 'aggregate'],
  codec: ['core', 'kernels'],
  store: ['core'],
  'store/http': ['core', 'store'],
  'store/s3': ['core', 'store'],
  'store/fs': ['core', 'store'],
  'store/zip': ['core', 'store', 'codec/checksums'],
  'store/opfs': ['core', 'store'],
  pool: ['core', 'kernels', 'aggregate', 'codec', 'store/fs/local-file'],
  engine: ['core', 'kernels', 'grid', 'aggregate', 'array', 'codec', 'store/store', 'store/ranges', 'pool/task'],
  'af/rkyv': ['core'],
  'af/format': ['core', 'kernels', 'grid', 'codec', 'store/store', 'engine', 'af/rkyv'],
  'af/layers': [
    'core',
    'kernels',
    'grid',
    'array',
    'codec',
    'store/store',
    'store/absences',
    'pool/task',
    'engine',
    'af/format',
    'af/rkyv',
  ],
  'af/write': [
    'core',
    'kernels',
    'grid',
    'array',
    'codec',
    'store/store',
    'store/writable',
    'store/writer',
    'pool/task',
    'engine',
    'af/layers',
    'af/format',
  ],
  'af/verify': [
    'core',
    'kernels',
    'grid',
    'array',
    'codec',
    'store/store',
    'store/absences',
    'engine',
    'af/write',
    'af/layers',
    'af/format',
  ],
  af: ['core', 'kernels', 'grid', 'array', 'codec', 'store/store', 'pool/task', 'engine'],
  'adapters/zarr': [
    'core',
    'kernels',
    'grid',
    'array',
    'codec',
    'store/store',
    'store/whole',
    'store/unproved',
    'store/absences',
    'store/conditions',
    'store/writable',
    'store/ranges',
    'store/unconfined',
    'store/links',
    'pool/task',
    'engine',
  ],
  'adapters/netcdf': ['core', 'kernels', 'grid', 'array', 'engine', 'pool/task', 'store/store'],
  'adapters/hdf5': ['core', 'kernels', 'grid', 'array', 'codec', 'store/store', 'pool/task', 'engine'],
  'adapters/geotiff': ['core', 'kernels', 'grid', 'array', 'codec', 'store/store', 'pool/task', 'engine'],
  // Resolves locations, and switches on formats.
  tree: ['core', 'grid', 'array', 'codec/codec', 'pool/task', 'store', 'engine', 'af', 'adapters'],
  // The only code that copies arrays from one place to another.
  copy: ['core', 'grid', 'array', 'codec', 'pool', 'store', 'af', 'adapters', 'tree'],
  'dataset/time': ['core'],
  'dataset/cf': ['core', 'array', 'dataset'],
  dataset: ['core', 'grid', 'array'],
  'dataset/open': ['core', 'array', 'pool/task', 'store/store', 'tree', 'dataset'],
  // Copies of other formats, with their attributes.
  'dataset/import': ['core', 'array', 'af/format/footer', 'adapters', 'tree', 'copy', 'dataset'],
  // Trees with labels: described, compared, and selected from in words.
  'dataset/tree': ['core', 'grid', 'array', 'af/file', 'af/format/footer', 'adapters', 'tree', 'copy/json-attributes', 'dataset'],
  // Loaded when something is written.
  'dataset/out': ['core', 'grid', 'array', 'tree', 'copy', 'dataset', 'dataset/tree'],
  'cluster/bullmq': ['core', 'pool/task', 'store/store', 'store/confined', 'store/fs/quick-reads', 'tree', 'cluster'],
  // Opens what a job names as users do.
  cluster: ['core', 'grid', 'aggregate', 'array', 'pool/task', 'store/store', 'af', 'tree', 'copy', 'dataset'],
  runtime: BELOW_RUNTIME,
  // Entry files alone, which a test below lists.
  cli: ['runtime'],
  testing: ['core', 'grid', 'aggregate', 'array', 'store/store', 'store/whole', 'af'],
}

/** The packages a folder may import. */
const PACKAGES: Record<string, string[]> = {
  codec: ['fflate', 'fzstd'],
  // Types only: at run time drivers look for their platform.
  store: ['node:'],
  cli: ['commander', 'node:'],
}

/** The packages that one file alone may import. */
const PACKAGES_OF_FILES: Record<string, string[]> = {
  // Their types; they are loaded when a queue is opened.
  'cluster/bullmq/engine.ts': ['bullmq', 'ioredis'],
  'store/zip/inflated.ts': ['fflate'],
  'dataset/out/arrow.ts': ['apache-arrow'],
  'kernels/module.ts': ['@assemblyscript/loader'],
  'store/s3/sign.ts': ['aws4fetch'],
}

/**
 * Names that only exist on some platforms. Kernels look at `navigator` once: workerd compiles only while
 * modules are loaded. platform-zlib asks for the platform's, pace for a way to wait for a task.
 */
const PLATFORM =
  /\b(process|Deno|Bun|Buffer|require|window|document|localStorage|navigator|XMLHttpRequest|indexedDB|__dirname|setImmediate)\b/
const MAY_NAME_PLATFORMS =
  /^(cli\/|tree\/(bucket|absolute-path)\.ts|store\/(?!store\.ts|memory\.ts)|core\/pace\.ts|kernels\/module\.ts|codec\/platform-zlib\.ts|pool\/(spawn|worker)\.ts)/

const root = new URL('../src/', import.meta.url).pathname
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'),
)

/** The code without comments; strings keep their quotes only. */
const codeOf = (file: string): string =>
  readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|\/\/ .*$/gm, '')

const importsOf = (file: string): string[] => {
  const code = codeOf(file)
  const statements = [...code.matchAll(/^(?:import|export)\s+(?:type\s)?(?:[\w*{][^'";]*?\sfrom\s+)?'([^']+)'/gm)]
  const calls = [...code.matchAll(/\bimport\('([^']+)'\)/g)].map(([, specifier]) => specifier!)
  return [...statements.map(([, specifier]) => specifier!), ...calls]
}

/** The innermost folder with a rule that a file is in. */
const folderOf = (file: string): string =>
  Object.keys(LAYERS)
    .filter((folder) => file.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length)[0] ?? file

test('there are files to look at', () => {
  expect(files.length).toBeGreaterThan(40)
  expect(new Set(files.map(folderOf))).toEqual(new Set(Object.keys(LAYERS)))
})

test.each(files)('%s imports only from the layers below', (file) => {
  const folder = folderOf(file)
  const packages = [...(PACKAGES[folder.split('/')[0]!] ?? []), ...(PACKAGES_OF_FILES[file] ?? [])]
  const layers = [folder, ...LAYERS[folder]!]
  const isAllowed = (specifier: string): boolean => {
    if (!specifier.startsWith('.'))
      return packages.some((name) => specifier === name || (name.endsWith(':') && specifier.startsWith(name)))
    const target = relative(root, join(root, dirname(file), specifier))
    return layers.some((layer) => target === `${layer}.ts` || target.startsWith(`${layer}/`))
  }
  expect(importsOf(file).filter((specifier) => !isAllowed(specifier))).toEqual([])
})

/** Entry files of the package, which users import. */
const ENTRIES = ['cluster', 'dataset', 'index', 'netcdf', 'plan', 'store', 'tree', 'zarr'].map((name) => `runtime/${name}.ts`)

test('the command imports entry files of the library alone', () => {
  const inner = files
    .filter((file) => file.startsWith('cli/'))
    .flatMap((file) =>
      importsOf(file)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => relative(root, join(root, dirname(file), specifier)))
        .filter((target) => !target.startsWith('cli/') && !ENTRIES.includes(target))
        .map((target) => `${file} imports ${target}`),
    )
  expect(files.filter((file) => file.startsWith('cli/')).length).toBeGreaterThan(25)
  expect(inner).toEqual([])
})

test.each(files.filter((file) => !MAY_NAME_PLATFORMS.test(file)))('%s names no platform', (file) => {
  const code = codeOf(file).replace(/'(?:[^'\\\n]|\\.)*'/g, "''")
  expect(PLATFORM.exec(code)?.[0]).toBeUndefined()
})

test.each(files.filter((file) => file.startsWith('runtime/') && file !== 'runtime/worker.ts' && !file.endsWith('.d.ts')))(
  '%s has exports without code',
  (file) => {
    const others = codeOf(file).replace(/^export (?:type )?\{[^}]*\} from '[^']+'$/gm, '')
    expect(others.trim()).toBe('')
  },
)

test('no folder imports itself in a circle', () => {
  const graph = new Map<string, Set<string>>()
  for (const file of files)
    for (const specifier of importsOf(file).filter((s) => s.startsWith('.'))) {
      const [from, to] = [file, relative(root, join(root, dirname(file), specifier))].map((path) => path.split('/')[0]!)
      if (from !== to) graph.set(from!, (graph.get(from!) ?? new Set()).add(to!))
    }
  const done = new Set<string>()
  const visit = (folder: string, path: string[]): void => {
    if (done.has(folder)) return
    expect(path.includes(folder) ? [...path.slice(path.indexOf(folder)), folder].join(' -> ') : '').toBe('')
    for (const next of graph.get(folder) ?? []) visit(next, [...path, folder])
    done.add(folder)
  }
  expect(graph.size).toBeGreaterThan(10)
  for (const folder of graph.keys()) visit(folder, [])
})

test('no file imports itself in a circle, neither code nor types', () => {
  const graph = new Map(
    files.map((file) => [
      file,
      importsOf(file)
        .filter((s) => s.startsWith('.'))
        .map((s) => relative(root, join(root, dirname(file), s))),
    ]),
  )
  const done = new Set<string>()
  const visit = (file: string, path: string[]): void => {
    if (done.has(file)) return
    expect(path.includes(file) ? [...path.slice(path.indexOf(file)), file].join(' -> ') : '').toBe('')
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
})

/** Rooms and files that name their own format, with the reason. */
const NAMES_FORMATS: readonly (readonly [RegExp, string])[] = [
  [/^tree\/(refused-)?formats\.ts$/, 'the table of formats'],
  [/^af\//, 'the room of containers'],
  [/^adapters\//, 'rooms of formats'],
  [
    /^store\/(blob|picked-files|fs\/names)\.ts$/,
    'group the files of a container that a user has picked, and clean after its writers',
  ],
  [/^copy\/copy\.ts$/, 'the table of what is written, by the names of the first table'],
  [/^copy\/(container-target|replace\/container)\.ts$/, 'the place that containers are written to'],
]

/** Names of formats in comparisons, ends of names, and signatures. */
const KNOWS_FORMAT = [
  /(?:[!=]==?|case)\s*'(?:container|netcdf|zarr|zip|references|hdf5|geotiff|af|nc)'/,
  /'(?:container|netcdf|zarr|zip|references|hdf5|geotiff|af)'\s*[!=]==?/,
  /(?:has|includes|endsWith|startsWith)\('\.?(?:container|netcdf|zarr|zip|references|af|nc|ozx)'\)/,
  /[{,]\s*(?:netcdf|zarr|zip|hdf5):/,
  /\/\^(?:Zarr|NetCDF|container)\b/,
  /\\\.\(?(?:\?:)?(?:\w+\|)*(?:af|zarr|nc|nc3|cdf|zip|ozx|h5|tiff?)\b/,
  /'\.(?:af|nc|zarr|zip|ozx|h5|tiff?)'/,
  /'CDF|\\x89HDF|'PK\\x|'II\*|REPLACING_MAGIC/,
]

test('formats are told apart in the table of formats alone', () => {
  const isExcepted = (file: string): boolean => NAMES_FORMATS.some(([files]) => files.test(file))
  const others = files.filter((file) => !isExcepted(file))
  const knowing = others.flatMap((file) => {
    const code = codeOf(file)
    return KNOWS_FORMAT.flatMap((pattern) => {
      const found = pattern.exec(code)
      return found === null ? [] : [`${file}: ${found[0]}`]
    })
  })
  expect(others.length).toBeGreaterThan(200)
  expect(knowing).toEqual([])
  // Each exception is needed.
  for (const [pattern] of NAMES_FORMATS)
    expect(
      files.filter((file) => pattern.test(file)).some((file) => KNOWS_FORMAT.some((each) => each.test(codeOf(file)))),
      String(pattern),
    ).toBe(true)
  const bad = [
    "if (format.name === 'netcdf') x()",
    "switch (kind) { case 'zarr': }",
    'const ENGINES = { netcdf: 1 }',
    '/\\.(nc|h5)$/',
  ]
  for (const code of bad)
    expect(
      KNOWS_FORMAT.some((pattern) => pattern.test(code)),
      code,
    ).toBe(true)
})
