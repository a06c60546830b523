// Bundles the page with uPlot into dist/viewer. The package is beside it, in dist, which any server of files can offer.
import { readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import terser from '@rollup/plugin-terser'
import ts from 'typescript'
import { packCoastlines } from './scripts/coastlines.mjs'
import { makeExamples } from './scripts/examples.mjs'

const path = (name) => new URL(name, import.meta.url).pathname
const { resolve } = createRequire(import.meta.url)

/** TypeScript without its types. */
const sources = {
  name: 'sources',
  transform(code, id) {
    if (!id.endsWith('.ts')) return null
    const compilerOptions = { target: 'es2022', module: 'esnext', verbatimModuleSyntax: true, sourceMap: true }
    const { outputText, sourceMapText } = ts.transpileModule(code, { compilerOptions, fileName: id })
    return { code: outputText, map: sourceMapText }
  },
}

/** What the page asks for besides code. */
const assets = {
  name: 'assets',
  // What an earlier build has left would be published.
  buildStart: () => rmSync(path('../../dist/viewer'), { recursive: true, force: true }),
  async generateBundle() {
    const emit = (fileName, source) => this.emitFile({ type: 'asset', fileName, source })
    emit('index.html', readFileSync(path('index.html')))
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
    paths: (id) => `../${id.split('/')[1] ?? 'index'}.js`,
  },
}
