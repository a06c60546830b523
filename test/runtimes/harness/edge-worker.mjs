// A Worker in workerd, bundled as wrangler does, with an R2 bucket of its own.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from './tools.mjs'

/** workerd compiles WebAssembly that is imported as a module; so it stays an import. */
const kernelsFile = {
  name: 'kernels-file',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^hyperslab\/kernels\.wasm$/ }, () => ({ path: './kernels.wasm', external: true })),
}

/** Starts one of the programs. `BUCKET` is a bucket; `bindings` are further variables of the Worker. */
export async function startWorker(app, program, { compatibilityDate, compatibilityFlags = [], bindings = {} }) {
  const { build } = await load('workerd', 'esbuild')
  const { Miniflare } = await load('workerd', 'miniflare')
  const { outputFiles } = await build({
    entryPoints: [join(app, 'programs', `${program}.mjs`)],
    bundle: true,
    format: 'esm',
    conditions: ['workerd', 'worker', 'browser'],
    write: false,
    plugins: [kernelsFile],
  })
  const kernels = readFileSync(join(app, 'node_modules/hyperslab/dist/kernels.wasm'))
  return new Miniflare({
    compatibilityDate,
    compatibilityFlags,
    bindings,
    r2Buckets: ['BUCKET'],
    cf: false,
    modules: [
      { type: 'ESModule', path: 'worker.mjs', contents: outputFiles[0].text },
      { type: 'CompiledWasm', path: 'kernels.wasm', contents: kernels },
    ],
  })
}
