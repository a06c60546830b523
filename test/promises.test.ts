import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../src/af/format/limits.ts'

const root = new URL('..', import.meta.url).pathname
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const page = read('docs/promises.md')

/** Title and file of each promise: `- **title** (`file`). Limits`. */
const promises = [...page.matchAll(/^- \*\*(.+)\*\* \(`(test\/.+\.test\.ts)`\)[.:]\s+\S/gm)].map(([, title, file]) => ({
  title: title!,
  file: file!,
}))

test('every item of the page is a promise with its limits, and each is there once', () => {
  expect(promises.length).toBe(page.match(/^\s*[-*+] /gm)!.length)
  expect(new Set(promises.map(({ title }) => title)).size).toBe(promises.length)
  expect(promises.length).toBeGreaterThan(30)
})

test.each(promises)('$file has a test named: $title', ({ title, file }) => {
  expect(existsSync(join(root, file)), `${file} does not exist`).toBe(true)
  // The first argument of a call, on the line of the call or on one of its own.
  const lines = read(file)
    .split('\n')
    .map((line) => line.trim())
  const names = ["'", '"', '`'].map((quote) => `${quote}${title}${quote},`)
  const named = lines.some(
    (line) => !line.startsWith('//') && names.some((name) => line.startsWith(name) || line.includes(`(${name}`)),
  )
  expect(named, `no test of ${file} is named ${title}`).toBe(true)
})

test('SECURITY.md names every limit with its default', () => {
  const rows = [...read('SECURITY.md').matchAll(/^\| `(\w+)` \| ([^|]+) \| [A-Z][^|]+\. \|$/gm)].map(([, name, value]) => [
    name!,
    value!.trim(),
  ])
  const shown = { footerBytes: '48 MiB', typeDepth: '64', blockBytes: '1 GiB', elements: '2^40', layers: '10 000' }
  expect(Object.fromEntries(rows)).toEqual(shown)
  const number = (text: string): number => {
    const [, base, power, unit] = /^([\d ]+)(?:\^(\d+))?(?: ([MG])iB)?$/.exec(text)!
    const value = Number(base!.replaceAll(' ', '')) ** Number(power ?? 1)
    return value * (unit === 'G' ? 2 ** 30 : unit === 'M' ? 2 ** 20 : 1)
  }
  expect(Object.fromEntries(Object.entries(shown).map(([name, text]) => [name, number(text)]))).toEqual(DEFAULT_LIMITS)
})
