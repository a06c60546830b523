// Internals of the package, for suites that time one part of it.
import { rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { rollup } from 'rollup'
import { typescript } from '../scripts/typescript.mjs'

const path = (relative) => fileURLToPath(new URL(`../${relative}`, import.meta.url))

/**
 * Returns all exports of some modules.
 * @param modules paths below `src`, without extension
 */
export async function internals(...modules) {
  const file = path(`build/internals-${process.pid}.mjs`)
  try {
    await bundle(file, modules)
    return await import(file)
  } finally {
    rmSync(file, { force: true })
  }
}

/** Bundles all exports of modules, with their dependencies, into one file, which other processes can load. */
export async function bundle(file, modules) {
  const entry = path('src/bench-entry.ts')
  const code = modules.map((name) => `export * from './${name}.js'`).join('\n')
  const inMemory = {
    name: 'entry',
    resolveId: (id) => (id === entry ? id : null),
    load: (id) => (id === entry ? code : null),
    // Files beside a module, such as scripts of test/support, are found from the bundle, too.
    resolveImportMeta: (property, { moduleId }) => (property === 'url' ? JSON.stringify(pathToFileURL(moduleId).href) : null),
  }
  const bundle = await rollup({ input: entry, plugins: [inMemory, typescript, nodeResolve()], onwarn: () => {} })
  const { output } = await bundle.generate({ format: 'es', inlineDynamicImports: true })
  writeFileSync(file, output[0].code)
}
