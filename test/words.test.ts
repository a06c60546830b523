import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Longest line of a comment, in columns. */
const MAX_COMMENT_COLUMNS = 110
/** Drawings of bytes, which lines would break. */
const DRAWING = /^\s*(\*|\/\/) {4,}/

const root = new URL('../src/', import.meta.url).pathname
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.generated.ts') && !file.endsWith('.d.ts'),
)
const linesOf = (file: string): string[] => readFileSync(join(root, file), 'utf8').split('\n')

test('no two files of src export the same name', () => {
  const owners = new Map<string, string[]>()
  for (const file of files) {
    const code = linesOf(file).join('\n')
    const exported = code.matchAll(/^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm)
    for (const name of new Set([...exported].map(([, name]) => name!))) owners.set(name, [...(owners.get(name) ?? []), file])
  }
  expect(owners.size).toBeGreaterThan(500)
  expect([...owners].filter(([, list]) => list.length > 1)).toEqual([])
})

test(`no line of a comment is wider than ${MAX_COMMENT_COLUMNS} columns`, () => {
  const wide = files.flatMap((file) =>
    linesOf(file).flatMap((line, i) => {
      const isComment = /^\s*(\*|\/\*|\/\/)/.test(line) && !DRAWING.test(line) && !line.includes('biome-ignore')
      return isComment && line.length > MAX_COMMENT_COLUMNS ? [`${file}:${i + 1}`] : []
    }),
  )
  expect(files.length).toBeGreaterThan(100)
  expect(wide).toEqual([])
})
