// Bundles the code of workers into one file without imports and writes it as text into the source tree. A
// pool can thus start workers without fetching a second file. The kernels are excluded, because workers
// receive the compiled modules.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import terser from '@rollup/plugin-terser'
import { rollup } from 'rollup'
import { keepParameters } from './keep-parameters.mjs'
import { typescript } from './typescript.mjs'

const source = (path) => fileURLToPath(new URL(`../src/${path}`, import.meta.url))

/** Excludes the kernels, because workers receive the compiled modules. */
const withoutKernels = {
  name: 'without-kernels',
  load: (id) => {
    const name = ['reading', 'compute', 'rare-filters', 'tiff']
      .find((each) => id === source(`kernels/${each}.generated.ts`))
      ?.toUpperCase()
      .replace('-', '_')
    return name ? `export const ${name}_BYTES = 0\nexport const ${name}_TEXT = ''\n` : null
  },
}

const bundle = await rollup({
  input: source('runtime/worker.ts'),
  plugins: [withoutKernels, typescript, keepParameters(), nodeResolve({ exportConditions: ['browser', 'import', 'default'] })],
  treeshake: { moduleSideEffects: (id) => id === source('runtime/worker.ts') },
  onwarn({ message }) {
    throw new Error(message)
  },
})
// Without imports and exports, the code is a script as well as a module; Node evaluates text as a script.
const { output } = await bundle.generate({ format: 'es', inlineDynamicImports: true, plugins: [terser({ module: true })] })
const [{ code, imports, exports, modules }] = output
if (output.length > 1 || imports.length > 0 || exports.length > 0)
  throw new Error('the worker must be one file without imports and exports')
writeFileSync('build/worker.js', code)
writeFileSync(source('pool/worker.generated.ts'), `export const WORKER_TEXT: string =\n  ${JSON.stringify(code)}\n`)
console.log(`worker: ${code.length} bytes of ${Object.keys(modules).length} modules`)
