import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../bench/chart.mjs', import.meta.url))
const ROWS = [
  { suite: 'a', name: 'four times', peer: 'numpy', ratio: 4, goal: '>= 2', met: true },
  { suite: 'b', name: 'a <b> & "c" | d', peer: 'x', ratio: 2, goal: 'at least 4', met: false },
  { suite: 'a', name: 'half the time', peer: 'zarrita', ratio: 0.5, goal: 'at most 1', met: true },
  { suite: 'a', name: 'four times as long', peer: 'zarrita', ratio: 4, goal: '<= 1.0', met: false },
  { suite: 'a', name: 'bytes', peer: 'zarrita', speed: false, ratio: 100, goal: '<= 1', met: false },
]

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hyperslab-chart-'))
  writeFileSync(join(folder, 'rows.json'), JSON.stringify(ROWS))
})
afterAll(() => rmSync(folder, { recursive: true }))

const run = (...args: string[]) => spawnSync(process.execPath, [SCRIPT, ...args], { cwd: folder, encoding: 'utf8' })

function drawn(...choice: string[]): string {
  execFileSync(process.execPath, [SCRIPT, 'rows.json', ...choice, '--svg', 'out.svg'], { cwd: folder })
  return readFileSync(join(folder, 'out.svg'), 'utf8')
}

test('bars are as long as the logarithm of how many times as fast, to the right of 1 or to its left', () => {
  const svg = drawn('a', 'b')
  const one = Number(/class="one" d="M([\d.]+)/.exec(svg)![1])
  const grid = [...svg.matchAll(/class="grid" d="M([\d.]+)/g)].map(([, x]) => Number(x))
  const octave = grid.find((x) => x > one)! - one
  const bars = [
    ...svg.matchAll(
      /<rect class="(faster|slower)" x="([\d.]+)" y="\d+" width="([\d.]+)" height="12"\/>\n<path class="goal" d="M([\d.]+)/g,
    ),
  ]
  const found = bars.map(([, kind, x, width, goal]) => ({
    kind,
    from: (Number(x) - one) / octave,
    length: Number(width) / octave,
    goal: (Number(goal) - one) / octave,
  }))
  const expected = [
    { kind: 'faster', from: 0, length: 2, goal: 1 },
    { kind: 'faster', from: 0, length: 1, goal: 0 },
    { kind: 'slower', from: -2, length: 2, goal: 0 },
    { kind: 'faster', from: 0, length: 1, goal: 2 },
  ]
  expect(found.length).toBe(expected.length)
  for (const [i, bar] of expected.entries()) {
    expect(found[i]!.kind).toBe(bar.kind)
    for (const key of ['from', 'length', 'goal'] as const) expect(found[i]![key]).toBeCloseTo(bar[key], 1)
  }
})

test('names are escaped, and nothing is loaded or run', () => {
  const svg = drawn('a', 'b')
  expect(svg).toContain('a &#60;b&#62; &#38; &#34;c&#34; | d')
  expect(svg).not.toContain('bytes')
  expect(svg).not.toMatch(/<script|href|url\(|@import|@font-face/)
  expect(drawn('a', 'b')).toBe(svg)
})

test('the table has the same rows and says what missed its goal', () => {
  expect(run('rows.json', 'a:zarrita$', 'b', '--table').stdout.trimEnd().split('\n')).toEqual([
    '| suite | what | beside | times as fast | goal |',
    '|---|---|---|---:|---:|',
    '| `a` | half the time | zarrita | 2.00 | 1.00 |',
    '| `a` | four times as long | zarrita | 0.25 | 1.00, missed |',
    '| `b` | a <b> & "c" \\| d | x | 2.00 | 4.00, missed |',
  ])
})

test('says what it cannot show', () => {
  const none = run('rows.json', 'c', '--table')
  expect([none.status, none.stdout]).toEqual([2, ''])
  expect(none.stderr).toBe('no row is of c\n0 rows are chosen; a chart has 1 to 48\n')
  const many = Array.from({ length: 49 }, () => ROWS[0])
  writeFileSync(join(folder, 'many.json'), JSON.stringify(many))
  expect(run('many.json', 'a', '--table').stderr).toBe('49 rows are chosen; a chart has 1 to 48\n')
  expect(run().stderr).toContain('which results?')
})

test('has room for all it may show, in less than 60 kB', () => {
  const name = 'open and read an array of many small chunks, one after the other'
  const rows = Array.from({ length: 48 }, (_, i) => ({ ...ROWS[0], suite: `suite ${i % 12}`, name, ratio: 10 ** ((i % 7) - 3) }))
  writeFileSync(join(folder, 'rows-48.json'), JSON.stringify(rows))
  execFileSync(process.execPath, [SCRIPT, 'rows-48.json', ...rows.map(({ suite }) => suite), '--svg', 'out.svg'], { cwd: folder })
  const svg = readFileSync(join(folder, 'out.svg'), 'utf8')
  expect(svg.length).toBeLessThan(60_000)
  const numbers = [...svg.matchAll(/ (?:width|x)="(-?[\d.]+)"/g)].map(([, x]) => Number(x))
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...numbers)).toBeLessThanOrEqual(960)
})
