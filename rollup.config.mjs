import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import commonjs from '@rollup/plugin-commonjs'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import terser from '@rollup/plugin-terser'

/** The loader leaves its text to the compiler it belongs to. */
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

const executable = { name: 'executable', writeBundle: () => chmodSync('dist/cli.js', 0o755) }

export default {
  input: {
    index: 'build/js/runtime/index.js',
    netcdf: 'build/js/adapters/netcdf/index.js',
    cli: 'build/js/cli/main.js',
  },
  external: [/^node:/, 'netcdfjs'],
  plugins: [
    nodeResolve({ exportConditions: ['import', 'default'] }),
    commonjs(),
    terser({ module: true }),
    licences(),
    sizes(),
    executable,
  ],
  // Nothing reaches for the kernels at import time, so bundlers may drop them where they are not used.
  treeshake: { moduleSideEffects: false },
  output: {
    dir: 'dist',
    format: 'es',
    sourcemap: true,
    chunkFileNames: 'chunks/[name].js',
    manualChunks: (id) => (id.includes('kernels/wasm.generated') ? 'kernels' : undefined),
    banner: ({ name }) => (name === 'cli' ? '#!/usr/bin/env node' : ''),
  },
}
