// One bundler, as a program of its own: node bundle.mjs <bundler> <application> <folder of the result>. What
// it writes is meant for browsers.
import { join } from 'node:path'
import { fileOf, load } from './tools.mjs'

const [bundler, app, out] = process.argv.slice(2)
const names = ['page', 'worker', 'slice']
const input = Object.fromEntries(names.map((name) => [name, join(app, 'programs', `${name}.mjs`)]))

// No options but the places and names of files, and minifying: the package has to work without any.
const BUILDS = {
  async esbuild() {
    const { build } = await load('bundlers', 'esbuild')
    await build({ entryPoints: input, outdir: out, bundle: true, minify: true, format: 'esm', logLevel: 'warning' })
  },
  async rollup() {
    const { rollup } = await load('bundlers', 'rollup')
    const { nodeResolve } = await load('bundlers', '@rollup/plugin-node-resolve')
    for (const name of names) {
      const bundle = await rollup({ input: { [name]: input[name] }, plugins: [nodeResolve()], onwarn: refuse })
      await bundle.write({ dir: out, entryFileNames: '[name].js', format: 'es', compact: true })
    }
  },
  async webpack() {
    const { default: webpack } = await load('bundlers', 'webpack')
    const options = {
      mode: 'production',
      context: app,
      entry: input,
      // The programs run as modules: a module worker can load another chunk only as one.
      experiments: { outputModule: true },
      output: { path: out, filename: '[name].js', module: true },
      performance: false,
    }
    await new Promise((resolve, reject) => {
      webpack({ ...options, resolveLoader: { modules: [fileOf('bundlers', '')] } }, (error, stats) => {
        if (error || stats.hasErrors() || stats.hasWarnings()) reject(error ?? new Error(stats.toString()))
        else resolve()
      })
    })
  },
  async vite() {
    const { build } = await load('bundlers', 'vite')
    const output = { entryFileNames: '[name].js' }
    await build({
      root: app,
      configFile: false,
      logLevel: 'warn',
      build: { outDir: out, emptyOutDir: true, modulePreload: false, rollupOptions: { input, output } },
    })
  },
}

function refuse({ message }) {
  throw new Error(message)
}

await BUILDS[bundler]()
