import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { nameFlagsOf, oneLine } from '../../src/cli/show/failure.ts'

const root = new URL('../../src/', import.meta.url).pathname
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts') && !file.startsWith('cli/'))
  .map((file) => [file, ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true)] as const)

/** Names of all options of the library, from the tables of their checks. */
const names = new Set<string>()
/** Texts of the library that have spaces: its messages, among others. */
const texts: { readonly place: string; readonly text: string }[] = []
for (const [file, source] of sources) {
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.type?.getText().startsWith('Checks<') && node.initializer)
      ts.forEachChild(node.initializer, (member) => {
        if (ts.isPropertyAssignment(member)) names.add(member.name.getText().replaceAll("'", ''))
      })
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)) {
      const text = ts.isTemplateExpression(node)
        ? [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…')
        : node.text
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1
      if (/ /.test(text) && !ts.isImportDeclaration(node.parent)) texts.push({ place: `${file}:${line}`, text })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
}

/** Arguments that messages mark, too, although they are no member of an object of options. */
const ARGUMENTS = ['missing', 'into', 'range', 'bins', 'limit']

/** Whether a text is no check of an option, and no command line. */
const isMessage = (text: string): boolean =>
  !text.startsWith('hyperslab ') && !/^(a |an )?(\w+( of \w+)?( from \d+)?( to \d+)?)( or \w+)*$/.test(text)

/**
 * Forms in which a message would name an option as programs write it, so that the command could not show its
 * flag. Words that are English, too (`level`, `names`), are recognised by what stands beside them.
 */
function unmarked(text: string): string[] {
  const words = [...names].filter((name) => name.length > 2 && !name.startsWith('_'))
  const plain = text.replace(/`[^`]*`/g, '')
  const forms = [
    /(?<![-\w])--[a-z][-a-z]*/g,
    new RegExp(`\\b(${words.filter((name) => /[a-z][A-Z]/.test(name)).join('|')})\\b(?!\\()`, 'g'),
    new RegExp(`\\b(${words.join('|')}): ('[a-z]|\\[\\d|true|false|\\d)`, 'g'),
    new RegExp(`\\b(?:pass|raise|the option) '?(${words.join('|')})'?(?= (to|as|true)|[;,.]|$)`, 'g'),
    /\boverwrite (replaces|is)\b/g,
    /\blimits\.\w+/g,
  ]
  return forms.flatMap((form) => plain.match(form) ?? [])
}

describe('messages of the library', () => {
  test('name options in backticks, so that the command shows them as flags', () => {
    expect(names.size).toBeGreaterThan(120)
    expect(texts.length).toBeGreaterThan(1000)
    const found = texts.filter(({ text }) => isMessage(text)).map(({ place, text }) => [place, unmarked(text), text] as const)
    expect(found.filter(([, marks]) => marks.length > 0)).toEqual([])
  })

  test('have an option of the library in each pair of backticks', () => {
    const marked = texts.flatMap(({ place, text }) =>
      [...text.matchAll(/`([\w.]+)(: [^`]*)?`/g)].map(([, name]) => [place, name!]),
    )
    expect(marked.length).toBeGreaterThan(40)
    const own = marked.filter(([, name]) => !names.has(name!.split('.')[0]!) && !ARGUMENTS.includes(name!))
    expect(own).toEqual([])
  })

  test.each(createProgram('0').commands.map((command) => [command.name(), command] as const))(
    'speak of the flags of %s',
    (_, command) => {
      nameFlagsOf(command)
      for (const { text } of texts.filter(({ text }) => text.includes('`'))) {
        const shown = oneLine(text)
        expect(shown.replaceAll('`…`', '')).not.toContain('`')
        for (const option of command.options) {
          const name = option.attributeName()
          if (!text.includes(`\`${name}\``)) continue
          expect(shown).toContain(option.long)
        }
      }
    },
  )

  test.each([
    ['get', "`method: 'nearest'` takes the nearer one", '--method nearest takes the nearer one'],
    ['info', 'pass `notFound: [403, 404]` to read', 'pass --not-found 403,404 to read'],
    ['cp', 'the file exists; `overwrite` replaces it', 'the file exists; --overwrite replaces it'],
    ['get', 'more than `limits.blockBytes`, 3', 'more than limits.blockBytes, 3'],
    ['rechunk', 'raise `maxBytes`', 'raise --memory'],
    ['get', 'raise `maxBytes`', 'raise maxBytes'],
    ['import', 'import with `blockBytes: 1`', 'import with --block-bytes 1'],
  ])('%s shows %s as %s', (name, text, shown) => {
    nameFlagsOf(createProgram('0').commands.find((command) => command.name() === name)!)
    expect(oneLine(text)).toBe(shown)
  })
})
