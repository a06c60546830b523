// Bundles the page with uPlot into dist/viewer. The package itself is in dist, and any file server can serve
// both.
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import terser from '@rollup/plugin-terser'
import ts from 'typescript'
import { packCoastlines } from './scripts/coastlines.mjs'
import { makeExamples } from './scripts/examples.mjs'

const path = (name) => new URL(name, import.meta.url).pathname
const { resolve } = createRequire(import.meta.url)

/** Plugin that removes types from TypeScript. */
const sources = {
  name: 'sources',
  transform(code, id) {
    if (!id.endsWith('.ts')) return null
    const compilerOptions = { target: 'es2022', module: 'esnext', verbatimModuleSyntax: true, sourceMap: true }
    const { outputText, sourceMapText } = ts.transpileModule(code, { compilerOptions, fileName: id })
    return { code: outputText, map: sourceMapText }
  },
}

/** Modules of the package that load one after another when a file is opened and its first map is drawn. */
const FIRST_MAP = ['opening', 'stored', 'http-ranges', 'netcdf-nodes', 'flat-nodes', 'probed', 'values', 'reductions', 'af-stats']

/** Returns links that preload all modules in parallel instead of one after another. */
function preloads() {
  const dist = new URL('../../dist/', import.meta.url)
  const withImports = (names) => {
    const files = new Set(names)
    for (const file of files)
      for (const [, name] of readFileSync(new URL(file, dist), 'utf8').matchAll(/\b(?:from|import)"(\.[^"]+)"/g))
        files.add(new URL(name, `file:///${file}`).pathname.slice(1))
    return files
  }
  const atOnce = withImports(['index.js', 'dataset.js'])
  const later = withImports(FIRST_MAP.map((name) => `chunks/${name}.js`))
  return [...new Set([...atOnce, ...later])].map((file) => `<link rel="modulepreload" href="../${file}" />`).join('\n    ')
}

/** Plugin that emits the assets of the page. */
const assets = {
  name: 'assets',
  // Files of an earlier build would be published otherwise.
  buildStart: () => rmSync(path('../../dist/viewer'), { recursive: true, force: true }),
  async generateBundle() {
    const emit = (fileName, source) => this.emitFile({ type: 'asset', fileName, source })
    const page = readFileSync(path('index.html'), 'utf8')
    emit('index.html', page.replace('<!-- preloads -->', preloads))
    emit('viewer.css', readFileSync(path('viewer.css')))
    emit('uplot.css', readFileSync(resolve('uplot/dist/uPlot.min.css')))
    emit('coastlines.bin', packCoastlines())
    for (const [name, bytes] of await makeExamples()) emit(`examples/${name}`, bytes)
    emit('uplot.LICENSE', readFileSync(new URL('../LICENSE', `file://${resolve('uplot')}`)))
  },
}

export default {
  input: path('src/viewer.ts'),
  external: /^hyperslab(\/|$)/,
  plugins: [sources, nodeResolve({ browser: true }), terser({ module: true }), assets],
  treeshake: { moduleSideEffects: (id) => id.includes('/apps/viewer/') },
  output: {
    dir: path('../../dist/viewer'),
    format: 'es',
    generatedCode: 'es2015',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    paths: (id) => `../${id.split('/')[1] ?? 'index'}.js`,
  },
}
