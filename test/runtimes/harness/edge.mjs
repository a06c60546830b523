// One Worker in workerd, as a program of its own: node edge.mjs <application> <program> <compatibility date>. Prints what it answers.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from './tools.mjs'

const [app, program, compatibilityDate] = process.argv.slice(2)
const { build } = await load('workerd', 'esbuild')
const { Miniflare } = await load('workerd', 'miniflare')

/** workerd compiles WebAssembly that is imported as a module; so it stays an import. */
const kernelsFile = {
  name: 'kernels-file',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^hyperslab\/kernels\.wasm$/ }, () => ({ path: './kernels.wasm', external: true })),
}
const { outputFiles } = await build({
  entryPoints: [join(app, 'programs', `${program}.mjs`)],
  bundle: true,
  format: 'esm',
  conditions: ['workerd', 'worker', 'browser'],
  write: false,
  plugins: [kernelsFile],
})
const miniflare = new Miniflare({
  compatibilityDate,
  cf: false,
  modules: [
    { type: 'ESModule', path: 'worker.mjs', contents: outputFiles[0].text },
    { type: 'CompiledWasm', path: 'kernels.wasm', contents: readFileSync(join(app, 'node_modules/hyperslab/dist/kernels.wasm')) },
  ],
})
try {
  const response = await miniflare.dispatchFetch('http://worker/')
  console.log(await response.text())
} finally {
  await miniflare.dispose()
}
