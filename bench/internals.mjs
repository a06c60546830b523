// What the package keeps to itself, for suites that time one part of it.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { rollup } from 'rollup'
import { typescript } from '../scripts/typescript.mjs'

const path = (relative) => fileURLToPath(new URL(`../${relative}`, import.meta.url))

/** @param modules paths below `src`, without extension; returns all they export */
export async function internals(...modules) {
  const entry = path('src/bench-entry.ts')
  const code = modules.map((name) => `export * from './${name}.js'`).join('\n')
  const inMemory = {
    name: 'entry',
    resolveId: (id) => (id === entry ? id : null),
    load: (id) => (id === entry ? code : null),
  }
  const bundle = await rollup({ input: entry, plugins: [inMemory, typescript, nodeResolve()], onwarn: () => {} })
  const { output } = await bundle.generate({ format: 'es', inlineDynamicImports: true })
  const file = path(`build/internals-${process.pid}.mjs`)
  writeFileSync(file, output[0].code)
  return import(file)
}
