// `npm run build`, or some steps of it by name. A step is skipped if its inputs and outputs are, byte for
// byte, those of its last run. Tests, the demo and benchmarks build first, and usually nothing has changed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

const STAMPS = 'build/steps.json'

const MODULES = [
  'src/kernels/reading',
  'src/kernels/compute',
  'src/kernels/filters',
  'src/kernels/rare-filters',
  'src/kernels/tiff',
  'src/codec/zstd-wasm',
  'src/codec/zstd-encode',
].map((name) => `${name}.generated.ts`)
const TARGETS = [
  ['assembly/index.ts', 'release'],
  ['assembly/reading.ts', 'reading'],
  ['assembly/compute.ts', 'compute'],
  ['assembly/filters.ts', 'filters'],
  ['assembly/rare-filters.ts', 'rare-filters'],
  ['assembly/tiff.ts', 'tiff'],
  ['assembly/zstd/index.ts', 'zstd'],
  ['assembly/zstd-encode/index.ts', 'zstd-encode'],
]

const STEPS = {
  kernels: {
    makes: 'kernels of AssemblyScript, and the modules that embed them',
    reads: ['assembly', 'asconfig.json', 'scripts'],
    writes: [
      ...['kernels', 'reading', 'compute', 'filters', 'rare-filters', 'tiff', 'zstd', 'zstd-encode'].map(
        (name) => `build/${name}.wasm`,
      ),
      ...MODULES,
    ],
    async run() {
      const left = TARGETS.values()
      const compile = async () => {
        for (const [entry, target] of left) await node('node_modules/assemblyscript/bin/asc.js', entry, '--target', target)
      }
      await Promise.all(Array.from({ length: availableParallelism() }, compile))
      await node('scripts/embed-kernels.mjs')
    },
  },
  worker: {
    makes: 'the program of worker threads',
    reads: ['src', 'scripts'],
    writes: ['build/worker.js', 'src/pool/worker.generated.ts'],
    run: () => node('scripts/embed-worker.mjs'),
  },
  js: {
    makes: 'TypeScript, bundles, types and the manual page',
    reads: [
      'src',
      'tsconfig.json',
      'tsconfig.build.json',
      'rollup.config.mjs',
      'scripts/man.mjs',
      'build/kernels.wasm',
      'build/worker.js',
    ],
    writes: ['build/js', 'build/types', 'dist'],
    async run() {
      await node('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json')
      await node('node_modules/rollup/dist/bin/rollup', '-c', '--silent')
      await node('scripts/man.mjs')
    },
  },
  viewer: {
    makes: 'the viewer',
    reads: [
      'apps/viewer',
      'src/dataset/cf/axis-kind.ts',
      'src/dataset/attributes.ts',
      'demo/data',
      'dist/index.js',
      'dist/dataset.js',
    ],
    writes: ['dist/viewer'],
    run: () => node('node_modules/rollup/dist/bin/rollup', '-c', 'apps/viewer/rollup.config.mjs', '--silent'),
  },
}

/** Runs a program of Node. */
async function node(...args) {
  const child = spawn(process.execPath, args, { stdio: 'inherit' })
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve))
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
}

/** Returns the files at a path, and all files below it. */
function filesOf(path) {
  if (!existsSync(path)) return []
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { recursive: true })
    .map((name) => `${path}/${name}`)
    .filter((name) => statSync(name).isFile())
}

function hashOf(paths) {
  const hash = createHash('sha256')
  for (const file of paths.flatMap(filesOf).sort()) hash.update(`${file}\0${statSync(file).size}\0`).update(readFileSync(file))
  return hash.digest('hex')
}

/** Whether another step writes the file into a folder of this one. */
const isOfOthers = (file, writes) => file.startsWith('dist/viewer/') && !writes.includes('dist/viewer')

const stateOf = ({ reads, writes }) => ({
  // Outputs within a folder that is also read must not trigger the step again.
  reads: hashOf([
    ...reads.flatMap(filesOf).filter((file) => !writes.some((own) => file === own || file.startsWith(`${own}/`))),
    'package.json',
    'package-lock.json',
  ]),
  writes: hashOf(writes.flatMap(filesOf).filter((file) => !isOfOthers(file, writes))),
  node: process.version,
})

mkdirSync('build', { recursive: true })
const stamps = existsSync(STAMPS) ? JSON.parse(readFileSync(STAMPS, 'utf8')) : {}
const names = process.argv.slice(2)
for (const name of names.length > 0 ? names : Object.keys(STEPS)) {
  const step = STEPS[name]
  const before = stateOf(step)
  if (JSON.stringify(stamps[name]) === JSON.stringify(before)) {
    console.log(`${name}: nothing has changed`)
    continue
  }
  console.log(`${name}: building ${step.makes}`)
  const start = performance.now()
  await step.run()
  console.log(`${name}: built in ${((performance.now() - start) / 1000).toFixed(1)} s`)
  // Inputs that changed during the step were not read, so their earlier state is stored.
  stamps[name] = { ...stateOf(step), reads: before.reads }
  writeFileSync(STAMPS, `${JSON.stringify(stamps, null, 2)}\n`)
}
