import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = new URL('../', import.meta.url).pathname
const filesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'))
    .map((file) => join(folder, file))

/** Last names of functions that return no promise. */
const SYNCHRONOUS = ['asSidecar', 'deadFile', 'decodedVariable', 'from', 'map', 'perform', 'result', 'stringify', 'withLayer']

const isUsing = (statement: ts.Statement): boolean =>
  ts.isVariableStatement(statement) &&
  [ts.NodeFlags.Using, ts.NodeFlags.AwaitUsing].includes(statement.declarationList.flags & ts.NodeFlags.BlockScoped)

/** Returns the calls that an expression may give as they are. */
function callsOf(expression: ts.Expression): ts.CallExpression[] {
  if (ts.isParenthesizedExpression(expression)) return callsOf(expression.expression)
  if (ts.isConditionalExpression(expression)) return [expression.whenTrue, expression.whenFalse].flatMap(callsOf)
  if (ts.isBinaryExpression(expression)) return [expression.left, expression.right].flatMap(callsOf)
  return ts.isCallExpression(expression) ? [expression] : []
}

/**
 * Finds calls of async functions whose results are returned, not awaited, while something is held or caught.
 */
function unawaited(text: string, file: string): string[] {
  if (!/using |try \{/.test(text)) return []
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const found: string[] = []
  const visit = (node: ts.Node, isHeld: boolean, isAsync: boolean): void => {
    if (ts.isFunctionLike(node)) {
      const { modifiers } = node as ts.FunctionDeclaration
      const async = modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) ?? false
      ts.forEachChild(node, (child) => visit(child, false, async))
      return
    }
    if (ts.isBlock(node)) {
      let held = isHeld
      for (const statement of node.statements) {
        visit(statement, held, isAsync)
        held ||= isUsing(statement)
      }
      return
    }
    if (ts.isTryStatement(node)) {
      visit(node.tryBlock, true, isAsync)
      if (node.catchClause) visit(node.catchClause, isHeld || node.finallyBlock !== undefined, isAsync)
      if (node.finallyBlock) visit(node.finallyBlock, isHeld, isAsync)
      return
    }
    if (ts.isReturnStatement(node) && isHeld && isAsync && node.expression !== undefined)
      for (const { expression } of callsOf(node.expression)) {
        const name = ts.isPropertyAccessExpression(expression) ? expression.name : expression
        if (SYNCHRONOUS.includes(name.getText())) continue
        const { line } = source.getLineAndCharacterOfPosition(expression.getStart())
        found.push(`${file}:${line + 1}: ${expression.getText()}`)
      }
    ts.forEachChild(node, (child) => visit(child, isHeld, isAsync))
  }
  visit(source, false, false)
  return found
}

test('what is returned while something is held by using, or caught, is awaited', () => {
  const files = [...filesOf('src'), ...filesOf('apps/viewer')]
  expect(files.flatMap((file) => unawaited(readFileSync(join(root, file), 'utf8'), file))).toEqual([])
})

test.each([
  ['async () => { await using a = open(); return get(a) }', 1],
  ['async () => { await using a = open(); return await get(a) }', 0],
  ['async () => { try { return get() } finally { close() } }', 1],
  ['async () => { try { return x ? 1 : get() } catch {} }', 1],
  ['() => { try { return get() } catch {} }', 0],
  ['async () => { { using a = open() } return get() }', 0],
  ['async () => { using a = open(); return a.map(() => { return get() }) }', 0],
])('%s has %i of them', (text, count) => {
  expect(unawaited(text, 'x.ts')).toHaveLength(count)
})
