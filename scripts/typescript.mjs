import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** Plugin for rollup that strips types from the sources, without waiting for tsc. */
export const typescript = {
  name: 'typescript',
  resolveId: (id, importer) =>
    id.startsWith('.') && importer?.endsWith('.ts')
      ? fileURLToPath(new URL(id.replace(/\.js$/, '.ts'), `file://${importer}`))
      : null,
  load(id) {
    if (!id.endsWith('.ts')) return null
    const compilerOptions = { target: 'es2022', module: 'esnext', verbatimModuleSyntax: true }
    return ts.transpileModule(readFileSync(id, 'utf8'), { compilerOptions }).outputText
  },
}
