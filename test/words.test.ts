import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Longest line of a comment, in columns. */
const MAX_COMMENT_COLUMNS = 110
/** Drawings of bytes, which lines would break. */
const DRAWING = /^\s*(\*|\/\/) {4,}/

const root = new URL('..', import.meta.url).pathname
/** Folders and files that tools install or generate. */
const GENERATED = /^(node_modules|dist|build)$|\.generated\./

/** Returns the files below a folder whose names match. */
const filesBelow = (folder: string, name: RegExp): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (GENERATED.test(entry.name)) return []
    return entry.isDirectory() ? filesBelow(path, name) : name.test(entry.name) ? [path] : []
  })

const linesIn = (file: string): string[] => readFileSync(join(root, file), 'utf8').split('\n')
const sources = ['src', 'assembly', 'apps', 'bench', 'scripts', 'site', 'test'].flatMap((folder) =>
  filesBelow(folder, /\.(m?ts|m?js)$/),
)

test('no two files of src export the same name', () => {
  const owners = new Map<string, string[]>()
  for (const file of sources.filter((file) => /^src\/.*(?<!\.d)\.ts$/.test(file))) {
    const code = linesIn(file).join('\n')
    const exported = code.matchAll(/^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm)
    for (const name of new Set([...exported].map(([, name]) => name!))) owners.set(name, [...(owners.get(name) ?? []), file])
  }
  expect(owners.size).toBeGreaterThan(500)
  expect([...owners].filter(([, list]) => list.length > 1)).toEqual([])
})

test('fewer than 60 functions and constants of src are named after a relation instead of a verb or a noun', () => {
  const code = sources.filter((file) => file.startsWith('src/')).flatMap(linesIn)
  const names = new Set(code.flatMap((line) => line.match(/(function\*?|const) [a-z][A-Za-z]*Of\b/g) ?? []))
  expect(names.size).toBeGreaterThan(20)
  expect([...names].sort().slice(59)).toEqual([])
})

/** Public words that were replaced, with the word that has their meaning now. No alias is left. */
const REPLACED: Readonly<Record<string, string>> = {
  where: 'findWhere',
  Where: 'WhereSearch',
  WhereOptions: 'FindWhereOptions',
  Found: 'WhereMatch',
  FoundInPart: 'WhereMatchInPart',
  FoundInArray: 'WhereMatchInArray',
  Written: 'WriteResult',
  Imported: 'ImportResult',
  ImportedNetcdf: 'NetcdfImportResult',
  ImportedZarr: 'ZarrImportResult',
  Checked: 'VerifiedCounts',
  Grouped: 'GroupByResult',
  Skip: 'SkipRule',
  Lengths: 'AxisLengths',
  Tail: 'ObjectTail',
  isoOf: 'toISO',
  dateOf: 'toDate',
  timestampOf: 'toTimestamp',
  rolling: 'slidingWindows',
}
/** Methods, accessors and options of public classes that were replaced, by file. */
const REPLACED_MEMBERS: readonly (readonly [file: string, old: RegExp, now: string])[] = [
  ['src/array/disk-array.ts', /^ {2}async \*values\(/m, 'elements'],
  ['src/array/disk-array.ts', /^ {2}async assign\(/m, 'copyFrom'],
  ['src/array/lazy/map.ts', /readonly skipMissing\?:/, 'keepMissing'],
  ['src/array/lazy/broadcast.ts', /readonly skipMissing\?:/, 'keepMissing'],
  ['src/array/reductions/options.ts', /\bzeros\b/, 'count, countNonzero'],
  ['src/dataset/data-array.ts', /^ {2}(plus|minus|times|over)\(/m, 'add, sub, mul, div'],
  ['src/dataset/dataset.ts', /^ {2}get problems\(/m, 'decodeErrors'],
  ['src/af/file.ts', /^ {2}define[<(]/m, 'createArray'],
  ['src/af/format/definition.ts', /readonly chunkShape\?:/, 'chunks'],
  ['src/copy/named-arrays.ts', /readonly chunkShape\?:/, 'chunks'],
  ['src/grid/plan.ts', /'hull'/, 'box'],
]

test('entry files export no word that was replaced, and its new word instead', () => {
  const entries = filesBelow('src/runtime', /^\w+\.ts$/).map((file) => linesIn(file).join('\n'))
  const exported = entries.flatMap((code) =>
    [...code.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) =>
      names!.split(',').map((name) =>
        name
          .replace(/^\s*type\s+/, '')
          .replace(/^.*\bas\s+/s, '')
          .trim(),
      ),
    ),
  )
  expect(exported.length).toBeGreaterThan(200)
  expect(exported.filter((name) => Object.hasOwn(REPLACED, name))).toEqual([])
  expect(Object.values(REPLACED).filter((name) => !exported.includes(name))).toEqual([])
})

/** Upper bounds of the exports of the root: arrays, files and stores, and the types that programs name. */
const MOST_VALUES = 39
const MOST_TYPES = 60

test('the root exports only what users of arrays need', () => {
  const code = linesIn('src/runtime/index.ts').join('\n')
  const values = new Set([...code.matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)].map(([, name]) => name!))
  const types = new Set<string>()
  for (const [, all, names] of code.matchAll(/^export (type )?\{([^}]*)\}/gm))
    for (const name of names!.split(',').map((each) => each.trim()))
      if (name !== '') (all !== undefined || name.startsWith('type ') ? types : values).add(name)
  // Other entries repeat no value of the root.
  const others = ['store', 'plan', 'dataset', 'zarr', 'netcdf', 'cluster'].map((entry) =>
    linesIn(`src/runtime/${entry}.ts`).join('\n'),
  )
  const exported = others.flatMap((text) =>
    [...text.matchAll(/^export (?!type)\{([^}]*)\}/gm)].flatMap(([, names]) => names!.split(',')),
  )
  expect(exported.map((name) => name.trim()).filter((name) => values.has(name))).toEqual([])
  expect(values.size).toBeGreaterThan(20)
  expect([values.size <= MOST_VALUES, types.size <= MOST_TYPES], `${values.size} values, ${types.size} types`).toEqual([
    true,
    true,
  ])
})

test('public classes and options have no member that was replaced, and its new word instead', () => {
  for (const [file, old, now] of REPLACED_MEMBERS) {
    const code = linesIn(file).join('\n')
    expect(old.test(code), `${file}: ${old}`).toBe(false)
    for (const word of now.split(', ')) expect(code, `${file}: ${word}`).toMatch(new RegExp(`\\b${word}\\b`))
  }
})

test('pages and programs use no call that was replaced', () => {
  const texts = [
    ...['README.md', 'SECURITY.md', 'CONTRIBUTING.md'],
    ...['docs', 'site/pages', 'demo', 'examples', 'bench'].flatMap((folder) => filesBelow(folder, /\.(mdx?|m?js)$/)),
  ]
  // `file.define(…)`, `count({ zeros })`, a search by `where(…)`, and `for await (… of x.values())`.
  const old =
    /\w\.define\(|\bzeros: true|await where\(|\b(isoOf|dateOf|timestampOf)\(|createArray\([^)]*chunkShape|await \(.* of \w+\.values\(\)|strategy: 'hull'/
  const found = texts.flatMap((file) => linesIn(file).flatMap((line, i) => (old.test(line) ? [`${file}:${i + 1}`] : [])))
  expect(texts.length).toBeGreaterThan(50)
  expect(found).toEqual([])
})

test(`no line of a comment is wider than ${MAX_COMMENT_COLUMNS} columns`, () => {
  const wide = sources.flatMap((file) =>
    linesIn(file).flatMap((line, i) => {
      const isComment = /^\s*(\*[\s/]|\/[*/])/.test(line) && !DRAWING.test(line) && !/biome-ignore|https?:/.test(line)
      return isComment && line.length > MAX_COMMENT_COLUMNS ? [`${file}:${i + 1}`] : []
    }),
  )
  expect(sources.length).toBeGreaterThan(500)
  expect(wide).toEqual([])
})

/** Openings that refer to a noun which was left out. */
const HEADLESS =
  /^((What|How|Where|Why|Of|Those|Who|Whoever|Whose|Which|None of|Nobody|That|In the place of|(In|Under|By|For|To|From|At|With) (what|which|whom|those|whose))\b|The same,)/
/** Persons in place of callers, readers, writers and workers. */
const PERSONS = /\b(nobody|no one|somebody|someone|anybody|anyone|whoever|who (reads|writes|asks|calls|waits|ends))\b/i
/** Directives of tools. */
const DIRECTIVE = /^\/\/ (biome|@ts|eslint|c8|v8|istanbul)/

interface Comment {
  readonly at: string
  readonly text: string
}

/** Returns the comments of a file: runs of lines with `//`, and blocks up to their examples. */
function commentsIn(file: string, lines: readonly string[]): Comment[] {
  const comments: Comment[] = []
  let [at, text, isBlock, isExample] = [0, '', false, false]
  const end = (): void => {
    if (text.trim() !== '') comments.push({ at: `${file}:${at}`, text: text.replaceAll(/\s+/g, ' ').trim() })
    ;[text, isBlock, isExample] = ['', false, false]
  }
  for (const [i, given] of lines.entries()) {
    const line = given.trim()
    if (isBlock || line.startsWith('/*')) {
      if (!isBlock) end()
      if (!isBlock) [at, isBlock] = [i + 1, true]
      isExample ||= line.startsWith('* @example')
      if (!isExample) text += ` ${line.replace(/^\/\*\*?|\*\/$/g, '').replace(/^\*\s?/, '')}`
      if (line.endsWith('*/')) end()
    } else if (line.startsWith('// ') && !DIRECTIVE.test(line)) {
      if (text === '') at = i + 1
      text += ` ${line.slice(3)}`
    } else end()
  }
  end()
  return comments
}

/** Returns the beginnings of a comment: its own, and those of the texts of its tags. */
const openings = ({ text }: Comment): string[] => [
  text,
  ...[...text.matchAll(/@(?:param|returns?|throws|remarks) (?:\w+ (?:- )?)?([A-Z][^@]*)/g)].map(([, text]) => text!),
]

const comments = sources.flatMap((file) => commentsIn(file, linesIn(file)))

test('no comment opens with a pronoun in place of a noun or a verb', () => {
  const found = comments.filter((comment) => openings(comment).some((text) => HEADLESS.test(text)))
  expect(comments.length).toBeGreaterThan(5000)
  expect(found.map(({ at, text }) => `${at} ${text.slice(0, 60)}`)).toEqual([])
  const bad = [
    '/** What it reads. */',
    '/** How it is read. */',
    '// Of those the first.',
    '/*',
    ' * That it is read.',
    ' */',
    '/**',
    ' * Reads.',
    ' * @returns Which it is.',
    ' */',
  ]
  expect(commentsIn('a.ts', bad).map((comment) => openings(comment).some((text) => HEADLESS.test(text)))).toEqual([
    true,
    true,
    true,
    true,
    true,
  ])
})

test('comments name callers, readers and writers, not nobody and whoever', () => {
  const found = comments.filter(({ text }) => PERSONS.test(text))
  expect(found.map(({ at, text }) => `${at} ${text.slice(0, 60)}`)).toEqual([])
  expect(commentsIn('a.ts', ['// Bytes that nobody', '// wrote.']).some(({ text }) => PERSONS.test(text))).toBe(true)
})

/** Mean words of a page's sentences, and the words that nine in ten of its sentences do not exceed. */
const MAX_MEAN = 18
const MAX_P90 = 30

/**
 * Returns the sentences of a page without its code, tables, drawings and headings. Code within a line is one
 * word.
 */
const sentencesIn = (page: string): string[] =>
  page
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replaceAll(/<(svg|form|script|style)[\s\S]*?<\/\1>|```[\s\S]*?```|^(\||#+ |import ).*$/gm, '\n')
    .replaceAll(/<[^>\n]+>/g, ' ')
    .replaceAll(/`[^`]*`/g, 'code')
    .replaceAll(/^\s*([-*]|\d+\.)\s+/gm, '\n\n')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .split(/\n\s*\n/)
    .flatMap((paragraph) => paragraph.replaceAll(/\s+/g, ' ').split(/(?<=[.!?]) (?=[A-Z"'(*_c])/))
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence.split(' ').length > 2)

const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...['docs', 'site/pages'].flatMap((folder) => filesBelow(folder, /\.mdx?$/)),
]

test.each(pages)('%s has short sentences that name callers, readers and writers', (page) => {
  const sentences = sentencesIn(linesIn(page).join('\n'))
  const words = sentences.map((sentence) => sentence.split(' ').length).sort((a, b) => a - b)
  expect(sentences.filter((sentence) => PERSONS.test(sentence))).toEqual([])
  if (words.length < 5) return
  expect(words.reduce((sum, each) => sum + each) / words.length).toBeLessThanOrEqual(MAX_MEAN)
  expect(words[Math.floor(words.length * 0.9)]).toBeLessThanOrEqual(MAX_P90)
})
