import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import ts from 'typescript'
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

/** What a user's module prints beside an installed package; Node 20 knows no `await using`, so it is compiled first. */
function run(code: string): string {
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', outputText], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
  return stdout
}

test.each(examples)('what is printed is what the comments say, and what is opened is closed: %#', (code) => {
  const lines = code.split('\n').filter((line) => line.includes('console.log('))
  const promised = lines.map((line) => /console\.log\(.*\) \/\/ (.*)$/.exec(line)?.[1])
  expect(promised.length).toBeGreaterThan(0)
  expect(run(code).trimEnd().split('\n')).toEqual(promised)
  expect(code).not.toMatch(/(?<!await using \w+ = )await (open|create)\(/)
})

test('there are examples to run', () => {
  expect(examples.length).toBe(5)
})

test('every command of the README exists and explains itself', () => {
  const commands = [...new Set([...readme.matchAll(/^hyperslab (\w+)/gm)].map(([, command]) => command!))]
  expect(commands).toEqual(['import', 'export', 'info', 'get', 'reduce', 'plot', 'serve', 'references', 'verify', 'compact'])
  for (const command of commands) {
    const { stdout, status } = spawnSync(process.execPath, [join(root, 'dist/cli.js'), command, '--help'], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, expect.stringContaining(`hyperslab ${command}`)])
  }
})
