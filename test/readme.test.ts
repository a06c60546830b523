import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProgram } from '../src/cli/program.ts'

const root = new URL('..', import.meta.url).pathname
const read = (page: string): string => readFileSync(join(root, page), 'utf8')
/** Pages whose examples are programs of their own, with the number of these. */
const PAGES = {
  'README.md': 1,
  'docs/arrays.md': 3,
  'docs/containers.md': 2,
  'docs/datasets.md': 1,
  'docs/numerics.md': 1,
  'docs/writing.md': 6,
}
const examples = Object.keys(PAGES).flatMap((page) =>
  [...read(page).matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => ({ page, code: code! })),
)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hyperslab-readme-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'hyperslab'))
  symlinkSync(join(root, 'demo/data/tas_rectilinear_grid_2D.nc'), join(folder, 'tas.nc'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/**
 * Runs a user's module beside an installed package; returns its output. The code is compiled first, because
 * Node 20 has no `await using`.
 */
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

test.each(examples)('$page: what is printed is what the comments say, and what is opened is closed', ({ code }) => {
  const lines = code.split('\n').filter((line) => line.includes('console.log('))
  const promised = lines.map((line) => /console\.log\(.*\) \/\/ (.*)$/.exec(line)?.[1])
  expect(promised.length).toBeGreaterThan(0)
  expect(run(code).trimEnd().split('\n')).toEqual(promised)
  expect(code).not.toMatch(/(?<!await using \w+ = )await (open|create)\(/)
})

test('links lead to files that are there', () => {
  for (const page of [
    'README.md',
    ...readdirSync(join(root, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ])
    for (const [, link] of read(page).matchAll(/\]\((?!https?:|#)([^)#]+)/g))
      expect(existsSync(join(root, dirname(page), link!)), `${page}: ${link}`).toBe(true)
})

test('there are examples to run', () => {
  const counts = Object.keys(PAGES).map((name) => [name, examples.filter(({ page }) => page === name).length])
  expect(Object.fromEntries(counts)).toEqual(PAGES)
})

test('the three commands of README.md run as they are in a clone', () => {
  const [, block] = /## Three commands\n\n```\n([\s\S]*?)```/.exec(read('README.md'))!
  const lines = block!.trim().split('\n')
  expect(lines).toHaveLength(3)
  mkdirSync(join(folder, 'demo'))
  symlinkSync(join(root, 'demo/data'), join(folder, 'demo/data'))
  for (const line of lines) {
    // In a clone, npx runs the `bin` of its package.json.
    const [npx, name, ...args] = line.split(' ')
    expect([npx, name]).toEqual(['npx', 'hyperslab'])
    const { stderr, status } = spawnSync(process.execPath, [join(root, 'dist/cli.js'), ...args], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect([status, stderr], line).toEqual([0, ''])
  }
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['january.png', 'tas.zarr']))
})

test('every command of its page exists and explains itself', () => {
  const commands = [...new Set([...read('docs/command.md').matchAll(/^hyperslab (\w+)/gm)].map(([, command]) => command!))]
  const all = createProgram('0.0.0').commands.map((command) => command.name())
  expect(commands.toSorted()).toEqual(all.toSorted())
  for (const command of commands) {
    const { stdout, status } = spawnSync(process.execPath, [join(root, 'dist/cli.js'), command, '--help'], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([0, expect.stringContaining(`hyperslab ${command}`)])
  }
})
