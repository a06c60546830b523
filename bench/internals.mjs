// What the package keeps to itself, for suites that time one part of it.
import { rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { rollup } from 'rollup'
import { typescript } from '../scripts/typescript.mjs'

const path = (relative) => fileURLToPath(new URL(`../${relative}`, import.meta.url))

/** @param modules paths below `src`, without extension; returns all they export */
export async function internals(...modules) {
  const file = path(`build/internals-${process.pid}.mjs`)
  try {
    await bundle(file, modules)
    return await import(file)
  } finally {
    rmSync(file, { force: true })
  }
}

/** Writes all that modules export, and what they need, to one file, which processes of their own can load. */
export async function bundle(file, modules) {
  const entry = path('src/bench-entry.ts')
  const code = modules.map((name) => `export * from './${name}.js'`).join('\n')
  const inMemory = {
    name: 'entry',
    resolveId: (id) => (id === entry ? id : null),
    load: (id) => (id === entry ? code : null),
    // What lies beside a module, as scripts of the tests' support do, is found from the bundle too.
    resolveImportMeta: (property, { moduleId }) => (property === 'url' ? JSON.stringify(pathToFileURL(moduleId).href) : null),
  }
  const bundle = await rollup({ input: entry, plugins: [inMemory, typescript, nodeResolve()], onwarn: () => {} })
  const { output } = await bundle.generate({ format: 'es', inlineDynamicImports: true })
  writeFileSync(file, output[0].code)
}
