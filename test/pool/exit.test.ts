import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const entry = new URL('../../dist/index.js', import.meta.url).href

/** Runs a program that has `file`, with an array of 20 blocks, and `pool`; it must end by itself. */
function run(program: string): { status: number | null; stdout: string; stderr: string } {
  const prelude = `import { create, createPool, MemoryStore, open } from '${entry}'
const where = { store: new MemoryStore(), path: 'a.af' }
const writer = await create(where, { blockBytes: 8000 })
await writer.createArray('x', { dtype: 'float64', shape: [20_000], chunks: [1000] }).set(null, new Float64Array(20_000).fill(0.5))
await writer.flush()
const pool = createPool({ size: 2 })
const file = await open(where, { pool })
`
  return spawnSync(process.execPath, ['--input-type=module', '-e', prelude + program], { encoding: 'utf8', timeout: 30_000 })
}

test.each([
  ['with idle workers', 'console.log(await file.array("x").sum({ ignoreStats: true }), pool.size)', '10000 2\n'],
  [
    'without waiting for work under way, which ends first',
    'file.array("x").sum({ ignoreStats: true }).then(console.log)',
    '10000\n',
  ],
  ['with an unused pool', 'console.log(pool.size)', '2\n'],
  [
    'after close',
    'console.log(await file.array("x").sum({ ignoreStats: true })); await pool.close(); console.log(pool.size)',
    '10000\n0\n',
  ],
])('a process ends by itself %s', (_, program, stdout) => {
  expect(run(program)).toMatchObject({ status: 0, stdout, stderr: '' })
})
