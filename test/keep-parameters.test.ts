import { type Plugin, rollup } from 'rollup'
import { expect, test } from 'vitest'
import { keepParameters } from '../scripts/keep-parameters.mjs'

const MODULES: Readonly<Record<string, string>> = {
  main: `import { blosc } from 'blosc'
const load = (name) => async () => {
  const { inflate, other } = await import('inflate')
  return () => [inflate(name), other]
}
globalThis.loaders = [load('gzip'), load('zlib'), blosc]`,
  blosc: `import { inflate } from 'inflate'
export const blosc = () => inflate('zlib')`,
  inflate: `export const inflate = (name) => ({ decode: (bytes) => (name === 'gzip' ? 'read as gzip' : 'read as zlib') + bytes })
export const other = ''`,
}

const modules: Plugin = {
  name: 'modules',
  resolveId: (id) => (id in MODULES ? id : null),
  load: (id) => MODULES[id],
}

async function bundled(plugins: Plugin[], inlineDynamicImports: boolean): Promise<string> {
  const bundle = await rollup({
    input: 'main',
    plugins: [modules, ...plugins],
    treeshake: { moduleSideEffects: (id) => id === 'main' },
  })
  const { output } = await bundle.generate({ format: 'es', inlineDynamicImports })
  return output.map((file) => (file.type === 'chunk' ? file.code : '')).join('\n')
}

test('a function that is imported at run time keeps its parameters, in one file and in several', async () => {
  for (const isOneFile of [true, false]) {
    const code = await bundled([keepParameters()], isOneFile)
    expect(code).toContain("name === 'gzip' ? 'read as gzip' : 'read as zlib'")
    // Nothing of the plugin is left.
    expect(code).toMatch(/const \{ inflate, other \} = await (Promise|import)/)
    expect(code).not.toContain('({ inflate, other })')
  }
})

test('rollup alone replaces such a parameter; once it does not, the plugin can go', async () => {
  expect(await bundled([], true)).not.toContain('read as gzip')
})
