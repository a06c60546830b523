import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname
const ENTRIES = [
  'runtime/index',
  'runtime/dataset',
  'runtime/zarr',
  'runtime/netcdf',
  'runtime/hdf5',
  'runtime/geotiff',
  'runtime/cluster',
  'runtime/plan',
  'runtime/store',
]

/** Options that mean the same in every call, with their descriptions, from the table of docs/arrays.md. */
const SHARED = new Map(
  [...readFileSync(join(root, 'docs/arrays.md'), 'utf8').matchAll(/^\| `(\w+)` \| (.+) \| every call \|$/gm)].map(
    ([, name, text]) => [name!, text!],
  ),
)

/** Returns the description of each option of each public interface of options. */
function described(): { readonly at: string; readonly name: string; readonly text: string }[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile) as { config: object }
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const files = ENTRIES.map((entry) => join(root, `src/${entry}.ts`))
  const program = ts.createProgram(files, { ...options, noEmit: true, skipLibCheck: true, types: [] })
  const checker = program.getTypeChecker()
  return files.flatMap((file) =>
    checker
      .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)!)!)
      .filter(({ name }) => /(Options|Settings)$/.test(name))
      .flatMap((symbol) => {
        const own = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
        return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(own)).map((property) => ({
          at: symbol.name,
          name: property.name,
          text: ts.displayPartsToString(property.getDocumentationComment(checker)).replaceAll(/\s+/g, ' ').trim(),
        }))
      }),
  )
}

test('an option that several calls share begins with one description, which docs/arrays.md shows', { timeout: 120_000 }, () => {
  const all = described()
  expect([SHARED.size >= 9, all.length > 200]).toEqual([true, true])
  const shared = all.filter(({ name }) => SHARED.has(name))
  expect(new Set(shared.map(({ name }) => name))).toEqual(new Set(SHARED.keys()))
  const others = shared.filter(({ name, text }) => !text.startsWith(SHARED.get(name)!))
  expect(others.map(({ at, name, text }) => `${at}.${name}: ${text}`)).toEqual([])
})
