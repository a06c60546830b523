import { type Command, Option } from 'commander'
import { HyperslabError, type TypedAttribute } from '../../runtime/index.ts'
import { findTree } from '../../runtime/tree.ts'
import { writeJson } from '../../runtime/zarr.ts'
import { naming, oneLine, UsageError } from '../show/failure.ts'
import { print, printLines, printResult, table, trimNuls } from '../show/text.ts'
import { addPlaceOptions, type JsonOption, notFoundAt, PLACE, type PlaceOptions, parseNames } from './options.ts'
import { checkPlaceOptions, importFirst, openPlace } from './place.ts'

const NUMBERS = ['float64', 'float32', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'] as const
const TYPES = ['text', ...NUMBERS, 'json'] as const
type Type = (typeof TYPES)[number]

interface Options extends PlaceOptions, JsonOption {
  readonly delete?: readonly string[]
  readonly type?: Type
}

export function addAttr(program: Command): void {
  const command = program
    .command('attr')
    .description('list attributes, print one, or change them')
    .argument('<file>', `${PLACE}; only containers and Zarr stores can be changed`)
    .argument('[array]', 'name of an array; . for the file itself, or the group', '.')
    .argument('[attributes...]', 'a name prints its value, name=value changes it')
    .option('--delete <names>', 'attributes to remove, e.g. history,comment', parseNames)
    .addOption(
      new Option('--type <type>', 'of new values: text, numbers (several between commas), or, of Zarr, JSON').choices(TYPES),
    )
  addPlaceOptions(command)
    .addHelpText(
      'after',
      `
An attribute keeps its type when it is changed. A new one is text; where it looks like a number, --type says what it is.

Examples
  $ hyperslab attr climate.af tas
  $ hyperslab attr climate.af tas units=K long_name='Air temperature'
  $ hyperslab attr climate.af tas valid_range=170,340 --type float32
  $ hyperslab attr climate.af . --delete history`,
    )
    .action(async (path: string, array: string, words: string[], options: Options) => {
      const changes = words.filter((word) => word.includes('=')).map(parseChange)
      const names = words.filter((word) => !word.includes('='))
      const isChanging = changes.length > 0 || options.delete !== undefined
      if (!isChanging && options.type !== undefined) throw new UsageError('--type is for new values: name=value')
      if (!isChanging) return show(path, array, names, options.json === true, options)
      if (names.length > 0) throw new UsageError(`'${names[0]}' is no change: name=value sets an attribute, --delete removes one`)
      const changed = [...changes.map(([name]) => name), ...(options.delete ?? [])]
      const twice = changed.find((name, i) => changed.indexOf(name) < i)
      if (twice !== undefined) throw new UsageError(`attribute '${twice}' is changed twice`)
      await change(path, array, changes, options)
    })
}

function parseChange(word: string): [name: string, text: string] {
  const at = word.indexOf('=')
  if (at === 0) throw new UsageError(`'${word}' names no attribute`)
  return [word.slice(0, at), word.slice(at + 1)]
}

/**
 * Prints attributes.
 * @throws InvalidArgumentError for unknown names
 */
async function show(path: string, array: string, names: readonly string[], json: boolean, options: PlaceOptions): Promise<void> {
  await using place = await openPlace(path, options)
  const found = array === '.' ? undefined : (await place.array(array)).array
  const attrs = found === undefined ? (await place.contents()).groups.get('') : found.attrs
  const shownOf = (name: string): unknown => {
    const value = plain(attrs!.get(name))
    return name === '_FillValue' && found !== undefined ? fillOf(value, found.dtype) : value
  }
  const all = new Map([...(attrs?.keys() ?? [])].map((name) => [name, shownOf(name)]))
  for (const name of names) if (!all.has(name)) throw noAttribute(name, [...all.keys()], { file: place.location, array })
  const shown = names.length === 0 ? all : new Map(names.map((name) => [name, all.get(name)]))
  const [only] = names.length === 1 ? names : []
  if (json) await print([`${writeJson(only === undefined ? Object.fromEntries(shown) : shown.get(only))}\n`])
  else if (only !== undefined) await printLines([textOf(shown.get(only))])
  else if (shown.size > 0) {
    const rows = [...shown].map(([name, value]) => [name, oneLine(textOf(value))])
    await printLines(table([{ title: '' }, { title: '' }], rows, '').slice(1))
  }
}

function noAttribute(name: string, names: readonly string[], { file, array }: { file: string; array: string }) {
  const text = `there is no attribute '${name}'; there are ${names.join(', ') || 'none'}`
  return new HyperslabError('InvalidArgumentError', text, {
    file,
    ...(array !== '.' && { array }),
    actual: name,
    expected: names,
  })
}

const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'bigint'

/** Converts typed arrays to lists. */
const plain = (value: unknown): unknown => (ArrayBuffer.isView(value) ? Array.from(value as Uint8Array) : value)

/** Returns the number of a fill value of floats, which xarray writes to Zarr as eight bytes in base64. */
function fillOf(value: unknown, dtype: string): unknown {
  if (typeof value !== 'string' || !dtype.startsWith('float') || !/^[\w+/]{11}=$/.test(value)) return value
  const number = Buffer.from(value, 'base64').readDoubleLE()
  return dtype === 'float32' ? Math.fround(number) : number
}

/** Formats a value. NULs that some writers append to text are removed. */
const textOf = (value: unknown): string => {
  if (typeof value === 'string') return trimNuls(value)
  return Array.isArray(value) && value.every(isNumber) ? value.join(' ') : writeJson(value)
}

type Changes = readonly (readonly [name: string, text: string])[]

async function change(path: string, array: string, changes: Changes, options: Options): Promise<void> {
  const { group, names, type: asked, delete: removed = [] } = options
  const found = await findTree(path, notFoundAt(path, options))
  try {
    await found.settleFormat()
    const { attributeTypes: types } = found.format
    if (types === undefined) throw importFirst(found, path, 'which is only read')
    const { layer } = options
    if (found.format.hasSidecars) {
      for (const [name, value] of Object.entries({ layer, names, group }))
        if (value !== undefined) throw new UsageError(`--${name} is for reading, and attributes of a container are changed`)
    } else await checkPlaceOptions(found, path, options)
    await naming({ file: path, ...(array !== '.' && { array }) }, async () => {
      await using editor = await found.editAttributes({ ...(array !== '.' && { array }), group, names })
      const known = editor.names()
      for (const name of removed) {
        if (!known.includes(name)) throw noAttribute(name, known, { file: path, array })
        editor.delete(name)
      }
      for (const [name, text] of changes) {
        const type = typeFor(name, text, editor.typeOf(name), asked)
        const stored = type === 'text' ? 'string' : type
        if (!types.names.includes(stored)) {
          const { plural = 'other formats' } = found.formatOfType(stored) ?? {}
          throw new UsageError(`--type ${type} is for ${plural}: attributes of ${types.plural} are ${types.words}`)
        }
        editor.set(
          name,
          type === 'text' ? { type: 'string', value: text } : type === 'json' ? { type, value: text } : typed(name, text, type),
        )
      }
      await editor.save()
    })
    if (options.json) await printResult({ output: path, array, changed: changes.map(([name]) => name), deleted: removed }, [])
  } finally {
    await found.close()
  }
}

/**
 * Returns the type of a new value: the requested type, or that of the old value.
 * @throws UsageError for a new attribute whose value may be a text or a number
 */
function typeFor(name: string, text: string, before: string | undefined, asked: Type | undefined): Type {
  if (asked !== undefined) return asked
  const kept = before?.replace('[]', '')
  if (kept === 'string') return 'text'
  if (kept !== undefined) {
    if ((TYPES as readonly string[]).includes(kept)) return kept as Type
    throw new UsageError(`attribute '${name}' is of type ${before}, which the command does not write; --type gives it another`)
  }
  if (text.split(',').every((each) => each.trim() !== '' && !Number.isNaN(Number(each))))
    throw new UsageError(`attribute '${name}' is new, and ${text} may be a text or a number: --type text or --type float64 tells`)
  return 'text'
}

const INTEGER = /^[+-]?\d+$/

/**
 * Parses one number, or several separated by commas. @throws UsageError for text that is invalid in the type
 */
function typed(name: string, text: string, type: Exclude<Type, 'text' | 'json'>) {
  const numbers = text.split(',').map((each) => {
    const piece = each.trim()
    const isGood = type.startsWith('float')
      ? piece !== '' && (piece === 'NaN' || !Number.isNaN(Number(piece)))
      : INTEGER.test(piece)
    if (!isGood) throw new UsageError(`attribute '${name}': '${piece}' is no number of type ${type}`)
    return type.endsWith('64') && !type.startsWith('float') ? BigInt(piece) : Number(piece)
  })
  const isList = numbers.length > 1
  return { type: isList ? `${type}[]` : type, value: isList ? numbers : numbers[0] } as TypedAttribute
}
