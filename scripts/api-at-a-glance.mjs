// Writes docs/api.md: every public function, class and method of each entry, with the first sentence of its
// docstring. With --check, compares the page with the sources instead.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = new URL('..', import.meta.url).pathname
const PAGE = join(root, 'docs/api.md')

/** Entries in the order of the page, with their files. */
const ENTRIES = {
  hyperslab: 'src/runtime/index.ts',
  'hyperslab/dataset': 'src/runtime/dataset.ts',
  'hyperslab/zarr': 'src/runtime/zarr.ts',
  'hyperslab/geotiff': 'src/runtime/geotiff.ts',
  'hyperslab/hdf5': 'src/runtime/hdf5.ts',
  'hyperslab/netcdf': 'src/runtime/netcdf.ts',
  'hyperslab/tree': 'src/runtime/tree.ts',
  'hyperslab/cluster': 'src/runtime/cluster.ts',
  'hyperslab/plan': 'src/runtime/plan.ts',
  'hyperslab/store': 'src/runtime/store.ts',
  'hyperslab/testing': 'src/testing/index.ts',
}

const INTRODUCTION = `# API at a glance

This page lists every public function, class and method of each entry, with the first sentence of its description.

The reference has their parameters, options, errors and examples. \`npm run docs\` writes it to \`build/api\`, and the site shows it. Types of options and
results are there alone. \`npm run docs:glance\` writes this page from the sources.
`

/** Returns the page as text. */
export function glance() {
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const files = Object.values(ENTRIES).map((file) => join(root, file))
  const program = ts.createProgram(files, { ...options, noEmit: true, skipLibCheck: true, types: [] })
  const checker = program.getTypeChecker()
  const tables = Object.entries(ENTRIES).map(([entry, file]) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(join(root, file)))
    const rows = checker
      .getExportsOfModule(module)
      .flatMap((symbol) => rowsOf(checker, resolved(checker, symbol), symbol.name, entry))
    return `## ${entry}\n\n| name | does | entry |\n|---|---|---|\n${rows.join('\n')}\n`
  })
  return `${INTRODUCTION}\n${tables.join('\n')}`
}

const resolved = (checker, symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)

/** Returns the rows of an exported symbol: itself and, of classes and interfaces of things, its methods. */
function rowsOf(checker, symbol, name, entry) {
  const isFunction = (symbol.flags & ts.SymbolFlags.Function) !== 0
  const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0
  const isValue = (symbol.flags & (ts.SymbolFlags.Variable | ts.SymbolFlags.Enum)) !== 0
  // Descriptions of objects of the platform are no API of this package.
  const isOwn = !/(Like|Signal|FetchResponse)$/.test(name)
  const isThing = isClass || (isOwn && (symbol.flags & ts.SymbolFlags.Interface) !== 0 && methodsOf(checker, symbol).length > 0)
  if (isInternal(symbol) || !(isFunction || isValue || isThing)) return []
  const isCalled = isFunction || (isValue && checker.getTypeOfSymbol(symbol).getCallSignatures().length > 0)
  const isArray = symbol.name !== 'DiskArray' && isThing && basesOf(checker, symbol).includes('DiskArray')
  const more = isArray ? ' It has the methods of `DiskArray`, too.' : ''
  const own = `| **\`${name}${isCalled ? '()' : ''}\`** | ${sentenceOf(checker, symbol, name)}${more} | \`${entry}\` |`
  // Methods of a base are listed with the classes that programs use, or once with the base.
  if (!isThing || name === 'Reducible') return [own]
  const methods = methodsOf(checker, symbol).filter(({ parent }) => !isArray || parent?.name !== 'DiskArray')
  return [
    own,
    ...methods.map(
      (method) => `| \`${name}.${method.name}()\` | ${sentenceOf(checker, method, `${name}.${method.name}`)} | \`${entry}\` |`,
    ),
  ]
}

/** Returns the names of the classes and interfaces that a class extends, directly or not. */
function basesOf(checker, symbol) {
  const bases = checker.getDeclaredTypeOfSymbol(symbol).getBaseTypes?.() ?? []
  return bases.flatMap((base) => (base.symbol === undefined ? [] : [base.symbol.name, ...basesOf(checker, base.symbol)]))
}

/** Returns the public methods of a class or an interface, with those that it inherits within the package. */
function methodsOf(checker, symbol) {
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  const isStatic = (member) => (member.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Function)) !== 0
  const statics = symbol.flags & ts.SymbolFlags.Class ? [...(symbol.exports?.values() ?? [])].filter(isStatic) : []
  return [...statics, ...checker.getPropertiesOfType(type)].filter(
    (member) =>
      (member.flags & ts.SymbolFlags.Method) !== 0 &&
      !member.name.startsWith('__') &&
      !member.name.startsWith('#') &&
      !isInternal(member) &&
      member.declarations?.every((each) => !/node_modules/.test(each.getSourceFile().fileName)) &&
      !(ts.getCombinedModifierFlags(member.declarations[0]) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)),
  )
}

const isInternal = (symbol) => symbol.getJsDocTags().some(({ name }) => name === 'internal')

/** Returns the first sentence of a docstring as a cell of a table. */
function sentenceOf(checker, symbol, name) {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker)).replaceAll(/\s+/g, ' ').trim()
  if (text === '') throw new Error(`${name} has no docstring`)
  const sentence = /^.*?[.!](?= [A-Z`{]|$)/.exec(text)?.[0] ?? /^.*?:(?= )/.exec(text)?.[0] ?? text
  return sentence
    .replaceAll(/\{@link (?:\w+\.)*(\w+)\}/g, '`$1`')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
}

if (import.meta.filename === process.argv[1]) {
  const page = glance()
  if (!process.argv.includes('--check')) writeFileSync(PAGE, page)
  else if (readFileSync(PAGE, 'utf8') !== page) {
    console.error('docs/api.md differs from the sources: run node scripts/api-at-a-glance.mjs')
    process.exitCode = 1
  }
}
