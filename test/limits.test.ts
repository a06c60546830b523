import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** Limits of lines of code. Comments and blank lines do not count. */
const MOST_OF_CLASS = 500
const MOST_OF_FUNCTION = 60

const root = new URL('../src/', import.meta.url).pathname
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'),
)

/** Returns the classes and functions that have more lines of code than allowed. */
function tooLong(name: string, text: string): string[] {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true)
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line
  const code = new Set<number>()
  const note = (node: ts.Node): void => {
    const children = node
      .getChildren(source)
      .filter(({ kind }) => kind < ts.SyntaxKind.FirstJSDocNode || kind > ts.SyntaxKind.LastJSDocNode)
    for (const child of children) note(child)
    if (children.length > 0 || node.kind === ts.SyntaxKind.EndOfFileToken) return
    for (let line = lineOf(node.getStart(source)); line <= lineOf(node.getEnd()); line++) code.add(line)
  }
  note(source)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const isClass = ts.isClassLike(node)
    if (isClass || (ts.isFunctionLike(node) && 'body' in node)) {
      const [first, last] = [lineOf(node.getStart(source)), lineOf(node.getEnd())]
      let lines = 0
      for (let line = first; line <= last; line++) if (code.has(line)) lines++
      if (lines > (isClass ? MOST_OF_CLASS : MOST_OF_FUNCTION)) found.push(`${name}:${first + 1} has ${lines} lines`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

test('no class has more than 500 lines of code, and no function more than 60', () => {
  expect(files.length).toBeGreaterThan(500)
  expect(files.flatMap((file) => tooLong(file, readFileSync(join(root, file), 'utf8')))).toEqual([])
})

test('comments and blank lines do not count towards the limits', () => {
  const body = (lines: number): string => Array.from({ length: lines }, (_, i) => `  // ${i}\n\n  call(${i})`).join('\n')
  expect(tooLong('a.ts', `function a() {\n${body(58)}\n}`)).toEqual([])
  expect(tooLong('a.ts', `const a = () => {\n${body(59)}\n}`)).toEqual(['a.ts:1 has 61 lines'])
  expect(tooLong('a.ts', `class A {\n${Array.from({ length: 500 }, (_, i) => `  a${i} = 1`).join('\n')}\n}`)).toEqual([
    'a.ts:1 has 502 lines',
  ])
})
