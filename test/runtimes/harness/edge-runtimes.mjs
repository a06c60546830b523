// workerd, through miniflare: WebAssembly compiled in global scope, handed over as a module, and where neither is possible.
import { execute } from './processes.mjs'
import { versionOf } from './tools.mjs'

const WORKERS = [
  { name: 'import', program: 'edge', date: '2025-06-01' },
  { name: 'import, newer date', program: 'edge', date: '2026-04-01' },
  { name: 'initKernels(kernels.wasm), older date', program: 'edge-module', date: '2024-01-01' },
  { name: 'older date without it: a clear error', program: 'edge-no-wasm', date: '2024-01-01' },
]

export async function runEdge(app) {
  const cells = []
  for (const { name, program, date } of WORKERS) {
    const script = new URL('edge.mjs', import.meta.url).pathname
    const { code, stdout, stderr } = await execute(process.execPath, [script, app.folder, program, date], { seconds: 20 })
    cells.push({ name, results: parse(stdout) ?? [{ name: 'runs', error: `exit code ${code}\n${stderr || stdout}` }] })
  }
  return { label: 'workerd', version: versionOf('workerd', 'workerd'), cells, stores: 'memory' }
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
