// workerd, through miniflare: WebAssembly compiled in global scope, handed over as a module, and where
// neither is possible.
import { execute } from './processes.mjs'
import { versionOf } from './tools.mjs'

/** Few unless asked for: a round is a thousand operations on the bucket, and takes a second or more. */
const ROUNDS = { full: 60, soak: 1000 }[process.env.HYPERSLAB_BUDGET] ?? 10
/** Rounds in one request to the Worker. */
const BATCH = 5
const races = Array.from({ length: Math.ceil(ROUNDS / BATCH) }, (_, i) => {
  return `/race?from=${i * BATCH}&to=${Math.min(ROUNDS, (i + 1) * BATCH)}`
})
const BUCKET_SECONDS = 110 + 6 * ROUNDS
/** Limit for all Workers, larger than for other environments. */
export const EDGE_SECONDS = 120 + BUCKET_SECONDS

const WORKERS = [
  { name: 'import', program: 'edge', date: '2025-06-01' },
  { name: 'import, newer date', program: 'edge', date: '2026-04-01' },
  {
    name: 'with a bucket',
    program: 'edge-r2',
    date: '2026-04-01',
    paths: ['/conformance', '/suite', ...races, '/schedules'],
    seconds: BUCKET_SECONDS,
  },
  { name: 'initKernels(kernels.wasm), older date', program: 'edge-module', date: '2024-01-01' },
  { name: 'older date without it: a clear error', program: 'edge-no-wasm', date: '2024-01-01' },
]

export async function runEdge(app) {
  const cells = []
  const run = async (name, script, args, seconds) => {
    const path = new URL(script, import.meta.url).pathname
    const { code, stdout, stderr } = await execute(process.execPath, [path, app.folder, ...args], { seconds })
    cells.push({ name, results: parse(stdout) ?? [{ name: 'runs', error: `exit code ${code}\n${stderr || stdout}` }] })
  }
  for (const { name, program, date, paths = [], seconds = 20 } of WORKERS)
    await run(name, 'edge.mjs', [program, date, ...paths], seconds)
  await run('examples/edge', 'edge-example.mjs', [], 60)
  return { label: 'workerd', version: versionOf('workerd', 'workerd'), cells, stores: 'memory, R2' }
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
