import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { formatWithOptions } from 'node:util'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import * as cluster from '../src/runtime/cluster.ts'
import * as dataset from '../src/runtime/dataset.ts'
import * as hyperslab from '../src/runtime/index.ts'
import * as netcdf from '../src/runtime/netcdf.ts'
import * as plans from '../src/runtime/plan.ts'
import * as stores from '../src/runtime/store.ts'
import * as tree from '../src/runtime/tree.ts'
import * as zarr from '../src/runtime/zarr.ts'
import * as testing from '../src/testing/index.ts'
// @ts-expect-error plain JavaScript, for every runtime
import { CHUNKS, METADATA } from './runtimes/zarr-store.mjs'
import { coarseFiles } from './support/coarse-files.ts'
import { writeNetcdf } from './support/netcdf-writer.ts'
import { MemoryBucket } from './support/r2-bucket.ts'
import { RudeServer } from './support/rude-server.ts'

const root = new URL('..', import.meta.url).pathname
const entries = {
  'src/runtime/index.ts': hyperslab,
  'src/runtime/store.ts': stores,
  'src/runtime/plan.ts': plans,
  'src/runtime/netcdf.ts': netcdf,
  'src/runtime/zarr.ts': zarr,
  'src/runtime/dataset.ts': dataset,
  'src/runtime/cluster.ts': cluster,
  'src/runtime/tree.ts': tree,
  'src/testing/index.ts': testing,
}

interface Example {
  /** File and line. */
  readonly at: string
  readonly code: string
}

const examples = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'))
  .flatMap((file): Example[] => {
    const text = readFileSync(join(root, 'src', file), 'utf8')
    return [...text.matchAll(/^ *\* @example\n((?: *\*(?!\/)(?! @).*\n)+)/gm)].map(({ 1: lines, index }) => ({
      at: `${file}:${text.slice(0, index).split('\n').length}`,
      code: lines!.replace(/^ *\* ?/gm, ''),
    }))
  })

/** Code between fences, as it needs what the package alone does not have. */
const fenced = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.generated.ts'))
  .flatMap((file) => {
    const text = readFileSync(join(root, 'src', file), 'utf8')
    return [...text.matchAll(/^ *\* ```(?:js|ts)\n((?: *\*(?! ```).*\n)+) *\* ```$/gm)].map(
      ({ 1: lines }) => [file, lines!.replace(/^ *\* ?/gm, '')] as const,
    )
  })

/**
 * All examples as a module, in which what the package exports, and the bucket of a Worker, are there by name.
 */
const module = [
  ...Object.entries(entries).map(([entry, names]) => `import { ${Object.keys(names)} } from '../${entry}'`),
  "declare const env: { readonly BUCKET: import('../src/runtime/store.ts').R2BucketLike }",
  'declare const console: { log(...values: unknown[]): void }',
  ...examples.map(({ at, code }) => `// ${at}\nexport async function example_${at.replace(/\W/g, '_')}() {\n${code}}`),
].join('\n')
const modulePath = join(root, 'test/examples.ts')

const program = (() => {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root)
  const ofUsers = { ...options, types: [], noUnusedLocals: false, noUncheckedIndexedAccess: false }
  const host = ts.createCompilerHost(ofUsers)
  const { fileExists, getSourceFile } = host
  host.fileExists = (file) => file === modulePath || fileExists(file)
  host.getSourceFile = (file, language, ...rest) =>
    file === modulePath ? ts.createSourceFile(file, module, language) : getSourceFile(file, language, ...rest)
  return ts.createProgram([...Object.keys(entries).map((entry) => join(root, entry)), modulePath], ofUsers, host)
})()

describe('docstrings', () => {
  /**
   * A first word that makes a clause or a phrase of what should be a sentence, or the name of what it
   * describes.
   */
  const FRAGMENT =
    /^(Of|What|How|Which|Who|Where|When|If|As|That|Those|With|Without|Under|For|In|On|At|By|To|From|Not|And|Or|Because|Backwards|Called)\b/
  /** Names of the types for objects that platforms provide. */
  const PLATFORM = /Like$|^Fetch|^Signal$/

  interface Item {
    /** `DiskArray.get` for a member. */
    readonly name: string
    readonly at: string
    readonly text: string
    readonly tags: readonly string[]
    readonly isCallable: boolean
  }

  const checker = program.getTypeChecker()
  const items = new Map<string, Item>()

  function add(symbol: ts.Symbol, name: string): boolean {
    const declaration = symbol.declarations![0]! as ts.NamedDeclaration
    const source = declaration.getSourceFile()
    const tags = symbol.getJsDocTags(checker).map((tag) => tag.name)
    const hidden = ts.getCombinedModifierFlags(declaration) & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)
    const isPrivate = declaration.name !== undefined && ts.isPrivateIdentifier(declaration.name)
    if (!source.fileName.startsWith(`${root}src/`) || hidden || isPrivate || tags.includes('internal')) return false
    const line = source.getLineAndCharacterOfPosition(declaration.getStart()).line + 1
    const text = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim()
    const isFunction = symbol.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Function)
    const isConst = symbol.flags & ts.SymbolFlags.Variable && checker.getTypeOfSymbol(symbol).getCallSignatures().length > 0
    const isCallable = Boolean(isFunction || isConst)
    items.set(name, { name, at: `${source.fileName.slice(root.length)}:${line}`, text, tags, isCallable })
    return true
  }

  for (const entry of Object.keys(entries)) {
    for (const exported of checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(join(root, entry))!)!)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      if (!add(symbol, exported.name) || PLATFORM.test(exported.name)) continue
      for (const declaration of symbol.declarations!) {
        if (!ts.isClassDeclaration(declaration) && !ts.isInterfaceDeclaration(declaration)) continue
        for (const { name } of declaration.members) {
          const member = name && checker.getSymbolAtLocation(name)
          // A method named by a symbol does for the language what another one does for users.
          if (member && !ts.isComputedPropertyName(name)) add(member, `${exported.name}.${name.getText()}`)
        }
      }
    }
  }

  /** True when the sentence of the type, or of another member, names this one. */
  const isNamed = ({ name }: Item): boolean => {
    const [type, member] = name.split('.')
    const isNear = (other: Item): boolean => other.name === type || other.name.startsWith(`${type}.`)
    return member !== undefined && [...items.values()].some((other) => isNear(other) && other.text.includes(`\`${member}\``))
  }

  test('say of every public item in a sentence what it is', () => {
    const poor = [...items.values()].flatMap((item) => {
      const first = item.text.split('\n\n')[0]!
      const isSentence = /^[A-Z`]/.test(first) && /([.]|:|[.]\))$/.test(first) && !FRAGMENT.test(first)
      return isSentence || (first === '' && isNamed(item)) ? [] : [`${item.at} ${item.name}: ${first.slice(0, 60)}`]
    })
    expect(items.size).toBeGreaterThan(500)
    expect(poor).toEqual([])
  })

  /** Calls that end in no error of ours; and, of classes of errors, how they are made. */
  const NEVER_FAIL: readonly string[] = [
    ...['arrays', 'layers', 'warnings', 'close', 'toString'].map((name) => `ArrayFile.${name}`),
    ...['estimateJob', 'plainAttrs', 'positionText', 'runsUpwards', 'elementFormat', 'isWrongWords', 'listDimensions'],
    ...['textAttribute', 'formatToWrite', 'writeJson'],
    ...['FileArray.storage', 'DiskArray.toString', 'isHyperslabError', 'points', 'slice', 'chunk', 'linear'],
    ...['readable', 'writable', 'store', 'source'].map((name) => `${name}Conformance`),
  ]

  test('say of every function and method of arrays and containers which errors it ends in', () => {
    const silent = [...items.values()].filter(({ name, tags, text, isCallable }) => {
      const isMain = isCallable && (!name.includes('.') || /^(DiskArray|ArrayFile|FileArray|Attributes|Where)\./.test(name))
      return isMain && !tags.includes('throws') && !/as \{@link \w+\} otherwise/.test(text) && !NEVER_FAIL.includes(name)
    })
    expect(silent.map(({ at, name }) => `${at} ${name}`)).toEqual([])
  })

  /** The most used. */
  const WITH_EXAMPLE = Object.entries({
    '': 'open create verify DiskArray concat stack broadcast scaled generate zip findWhere coarsen slidingWindows slice points openNetcdf importNetcdf MemoryStore HttpStore S3Store R2Store OpfsStore FileStore MemoryBudget BlockCache PersistentCache createPool isHyperslabError toTimestamp',
    ArrayFile: 'array createArray delete attrs stats flush refresh compact',
    FileArray: 'resize append',
    Attributes: 'set',
    DiskArray:
      'plan get set blocks values toTensor view transpose rechunk astype map rechunkTo sum min mean std count unique histogram quantile groupBy',
  }).flatMap(([type, names]) => names.split(' ').map((name) => (type === '' ? name : `${type}.${name}`)))

  test('show how the most used are used', () => {
    expect(WITH_EXAMPLE.filter((name) => !items.get(name)?.tags.includes('example'))).toEqual([])
    expect(examples.length).toBeGreaterThanOrEqual(40)
  })
})

describe('examples', () => {
  let folder: string
  let rude: RudeServer
  const bucket = new MemoryBucket()

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hyperslab-docs-'))
    rude = await RudeServer.start()
    const path = join(folder, 'climate.af')
    await using file = await hyperslab.create(path)
    const dimensionNames = ['time', 'lat', 'lon']
    const tas = file.createArray('tas', { dtype: 'float32', shape: [12, 4, 8], chunks: [3, 4, 8], dimensionNames })
    for (let month = 0; month < 12; month++) await tas.set([month], 280 + month)
    await file.flush()
    const variable = { name: 'tas', type: 'short', dimensions: ['time', 'lat'], values: [280, 281, 282, 283] } as const
    const dimensions = [
      ['time', 2],
      ['lat', 2],
    ] as const
    writeFileSync(join(folder, 'tas.nc'), writeNetcdf({ dimensions, variables: [variable] }))
    const nodes = Object.entries(METADATA.consolidated_metadata.metadata).map(
      ([path, metadata]) => [`${path}/zarr.json`, JSON.stringify(metadata)] as const,
    )
    for (const [key, content] of [
      ['zarr.json', JSON.stringify(METADATA)] as const,
      ...nodes,
      ...Object.entries<string>(CHUNKS),
    ]) {
      const object = join(folder, 'small.zarr', key)
      mkdirSync(dirname(object), { recursive: true })
      writeFileSync(object, key.endsWith('zarr.json') ? content : Buffer.from(content, 'base64'))
    }
    const bytes = new Uint8Array(readFileSync(path))
    for (const name of ['climate.af', 'climate/climate.af']) rude.put(name, bytes)
    await bucket.put('climate.af', bytes)
    const directory = coarseFiles({ movable: true })
    const writable = await (await directory.getFileHandle('climate.af', { create: true })).createWritable!()
    await writable.write(bytes)
    await writable.close()
    const fetched = globalThis.fetch
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => fetched(url.replace(/^https:\/\/[^/]+/, rude.origin), init))
    vi.stubGlobal('navigator', { storage: { getDirectory: async () => directory } })
  })
  afterAll(async () => {
    vi.unstubAllGlobals()
    rmSync(folder, { recursive: true })
    await rude.stop()
  })

  test('are what the compiler takes', () => {
    const source = program.getSourceFile(modulePath)!
    const wrong = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
    const placeOf = (start = 0): unknown => [...module.slice(0, start).matchAll(/^\/\/ (.*:\d+)$/gm)].at(-1)?.[1]
    const text = ts.flattenDiagnosticMessageText
    expect(wrong.map(({ start, messageText }) => `${placeOf(start)}: ${text(messageText, ' ')}`)).toEqual([])
  })

  test.each(examples)('give what their comments say: $at', async ({ code }) => {
    const promised = code.split('\n').flatMap((line) => (line.includes('console.log(') ? [line.split(') // ')[1]] : []))
    const printed: string[] = []
    const log = (...values: unknown[]): unknown => printed.push(formatWithOptions({ breakLength: 1000 }, ...values))
    const names = {
      ...hyperslab,
      ...plans,
      ...stores,
      ...netcdf,
      ...zarr,
      ...dataset,
      ...cluster,
      ...tree,
      ...testing,
      env: { BUCKET: bucket },
      console: { log },
    }
    const { outputText } = ts.transpileModule(`async () => {\n${code}}`, { compilerOptions: { target: ts.ScriptTarget.ES2022 } })
    const home = process.cwd()
    process.chdir(folder)
    try {
      await new Function(...Object.keys(names), `return eval(${JSON.stringify(outputText)})()`)(...Object.values(names))
    } finally {
      process.chdir(home)
    }
    expect(promised.length).toBeGreaterThan(0)
    expect(printed).toEqual(promised)
  })
})

test.each(fenced)('code in a docstring of %s parses', (_, code) => {
  const options = { reportDiagnostics: true, compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext } }
  const { diagnostics } = ts.transpileModule(code, options)
  expect(diagnostics!.map(({ messageText }) => messageText)).toEqual([])
})
