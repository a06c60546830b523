import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expressionsOf, superlinear } from './support/regular-expressions.ts'

const root = new URL('../', import.meta.url).pathname
const filesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts') && !file.endsWith('.d.ts'))
    .map((file) => join(folder, file))

test('no regular expression of the package takes more than linear time', () => {
  const all = [...filesOf('src'), ...filesOf('apps/viewer')].flatMap((file) =>
    expressionsOf(readFileSync(join(root, file), 'utf8'), file).map((expression) => ({ ...expression, file })),
  )
  expect(all.length).toBeGreaterThan(100)
  const slow = all.flatMap(({ file, line, source, flags }) => {
    const why = superlinear({ source, flags })
    return why === undefined ? [] : [`${file}:${line}: /${source}/${flags}: ${why}`]
  })
  expect(slow).toEqual([])
})

test.each([
  [/\0+$/],
  [/\s*[\r\n]+\s*/g],
  [/[^/]*$/],
  [/(?:: |\/)+$/],
  [/^\d*\.?\d+$/],
  [/^(\d+\.?\d*|\.\d+)$/],
  [/^(a+)+$/],
  [/^(a|a)*$/],
  [/^(a|ab|b)*c/],
  [/^(?:a*){2,}b/],
  [/a{3,}$/],
  [/a*?b/],
  [/<Key(?:\s[^>]*)?>/],
  [/x.*y/],
  [/x.*$/],
  [/^a(?:\s*b?\s*)c/],
  [/(?<!a*)b/],
  [/(a)\1/],
  [/^.*$/m],
])('%s takes more than linear time on some text', (expression) => {
  expect(superlinear(expression)).toBeTypeOf('string')
})

test.each([
  [/\/.*/s],
  [/[?#].*$/s],
  [/^\/+/],
  [/^(\d*)(.*)$/s],
  [/^[+-]?(\d+(\.\d*)?|\.\d+)$/],
  [/<Key>([^<]*)<\/Key>/g],
  [/(000){1,3}$/],
  [/^\s*bytes\s+(\d+)-(\d+)\s*$/i],
  [/(?<!(^|\/)zarr)\.json$/i],
  [/[\s\0]+/g],
  [/\d{16,40}/],
  [/\d*/y],
])('%s takes linear time on every text', (expression) => {
  expect(superlinear(expression)).toBeUndefined()
})

test('expressions are found however they are written', () => {
  const code = 'const a = /x*$/g\nnew RegExp(`$' + '{a}y+$`, "i")\nRegExp("z\\\\d")'
  expect(expressionsOf(code, 'a.ts').map(({ source, flags, line }) => [source, flags, line])).toEqual([
    ['x*$', 'g', 1],
    ['NAMEy+$', 'i', 2],
    ['z\\d', '', 3],
  ])
  expect(() => expressionsOf('new RegExp(pattern)', 'a.ts')).toThrow(
    'a.ts:1: pattern is a pattern that is known only at run time',
  )
})
