import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const examples = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code!)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hyperslab-readme-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'hyperslab'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs code as a user's module would run, beside an installed package. */
function run(code: string): unknown {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return JSON.parse(stdout)
}

test('the first example does what its comments say', () => {
  const shown = 'console.log(JSON.stringify({ shape: box.shape, first: box.data[0], monthly: [...monthly.data] }))'
  expect(run(`${examples[0]}\n${shown}`)).toEqual({
    shape: [10, 96],
    first: 280,
    monthly: Array.from({ length: 12 }, (_, i) => 280 + i),
  })
})

test('the second example, too', () => {
  const shown =
    'console.log(JSON.stringify([stations.shape, winter.shape, spread.shape, Math.round(low), Math.round(high), hot, tas.shape]))'
  const hot = Array.from({ length: 384 }, (_, i) => 270 + (i % 37)).filter((value) => value >= 300).length
  expect(run(`${examples[1]}\n${shown}`)).toEqual([[12, 2], [3, 2, 8], [4, 8], -14, 15, hot, [13, 4, 8]])
})

test('the third example, too', () => {
  expect(run(`${examples[2]}\nconsole.log(JSON.stringify(last))`)).toBe(998001)
})

test('there are no more examples than are run', () => {
  expect(examples.length).toBe(3)
})

test('every command of the README exists and explains itself', () => {
  const commands = [...readme.matchAll(/^hyperslab (\w+)/gm)].map(([, command]) => command!)
  expect(commands).toEqual(['import', 'info', 'get', 'reduce', 'plot', 'verify', 'compact'])
  for (const command of commands) {
    const { stdout, status } = spawnSync(process.execPath, [join(root, 'dist/cli.js'), command, '--help'], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, expect.stringContaining(`hyperslab ${command}`)])
  }
})
