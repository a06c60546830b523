import { type Command, Option } from 'commander'
import type { ZarrArray, ZarrGroup } from '../adapters/zarr/group.ts'
import type { TypedAttribute } from '../af/layers/attributes.ts'
import type { NamedValues } from '../array/source.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { parseJson, writeJson } from '../core/json.ts'
import { withoutNuls } from '../core/text.ts'
import { open } from '../runtime/index.ts'
import { openZarr } from '../runtime/zarr.ts'
import { findTree } from '../tree/open-tree.ts'
import { oneLine, UsageError } from './failure.ts'
import { importFirst, openPlace } from './open-place.ts'
import { addPlaceOptions, type JsonOption, jsonOption, notFoundAt, PLACE, type PlaceOptions, parseNames } from './options.ts'
import { print, printLines, table } from './output.ts'

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
    .addOption(jsonOption())
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
    .action(async (path: string, array: string, words: string[], { json = false, ...options }: Options) => {
      const changes = words.filter((word) => word.includes('=')).map(parseChange)
      const names = words.filter((word) => !word.includes('='))
      const isChanging = changes.length > 0 || options.delete !== undefined
      if (!isChanging && options.type !== undefined) throw new UsageError('--type is for new values: name=value')
      if (!isChanging) return show(path, array, names, json, options)
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
  const attrs = array === '.' ? (await place.contents()).groups.get('') : (await place.array(array)).array.attrs
  const all = new Map([...(attrs?.keys() ?? [])].map((name) => [name, plain(attrs!.get(name))]))
  for (const name of names) if (!all.has(name)) throw noAttribute(name, attrs, { file: place.location, array })
  const shown = names.length === 0 ? all : new Map(names.map((name) => [name, all.get(name)]))
  const [only] = names.length === 1 ? names : []
  if (json) await print([`${writeJson(only === undefined ? Object.fromEntries(shown) : shown.get(only))}\n`])
  else if (only !== undefined) await printLines([textOf(shown.get(only))])
  else if (shown.size > 0) {
    const rows = [...shown].map(([name, value]) => [name, oneLine(textOf(value))])
    await printLines(table([{ title: '' }, { title: '' }], rows, '').slice(1))
  }
}

function noAttribute(name: string, attrs: NamedValues | undefined, { file, array }: { file: string; array: string }) {
  const names = [...(attrs?.keys() ?? [])]
  const text = `there is no attribute '${name}'; there are ${names.join(', ') || 'none'}`
  return new HyperslabError('InvalidArgumentError', text, {
    file,
    ...(array !== '.' && { array }),
    actual: name,
    expected: names,
  })
}

/** Converts typed arrays to lists. */
const plain = (value: unknown): unknown => (ArrayBuffer.isView(value) ? Array.from(value as Uint8Array) : value)

/** Formats a value. NULs that some writers append to text are removed. */
const textOf = (value: unknown): string => {
  if (typeof value === 'string') return withoutNuls(value)
  return Array.isArray(value) && value.every(isNumber) ? value.join(' ') : writeJson(value)
}

type Changes = readonly (readonly [name: string, text: string])[]

async function change(path: string, array: string, changes: Changes, options: Options): Promise<void> {
  const found = await findTree(path)
  await found.close()
  const { format } = found
  if (format.name === 'netcdf') throw importFirst(path, 'which is only read')
  const removed = options.delete ?? []
  if (format.isNamed) {
    for (const name of ['layer', 'names', 'group'] as const)
      if (options[name] !== undefined) throw new UsageError(`--${name} is for reading, and attributes of a container are changed`)
    await using file = await open(path, notFoundAt(path, options))
    const { attrs } = array === '.' ? file : file.array(array)
    await within({ file: path, ...(array !== '.' && { array }) }, async () => {
      for (const name of removed) if (!attrs.delete(name)) throw noAttribute(name, attrs, { file: path, array })
      for (const [name, text] of changes) {
        const type = typeFor(name, text, attrs.typed(name)?.type, options.type)
        if (type === 'json') throw new UsageError('--type json is for Zarr: attributes of containers are texts and numbers')
        attrs.set(name, type === 'text' ? text : typed(name, text, type))
      }
      await file.flush()
    })
    return
  }
  await using root = await openZarr(path, {
    mode: 'r+',
    ...notFoundAt(path, options),
    ...(options.names && { names: options.names }),
  })
  const node = await nodeAt(root, array === '.' ? undefined : array, options.group)
  const values = new Map<string, unknown>()
  for (const name of removed) {
    if (!node.attrs.has(name)) throw noAttribute(name, node.attrs, { file: path, array })
    values.set(name, undefined)
  }
  for (const [name, text] of changes) {
    const before = node.attrs.has(name) ? jsonType(node.attrs.get(name)) : undefined
    const type = typeFor(name, text, before, options.type)
    if (type !== 'text' && type !== 'json' && type !== 'float64' && type !== 'int64')
      throw new UsageError(`--type ${type} is for containers: attributes of Zarr are text, float64, int64 or json`)
    values.set(
      name,
      type === 'text' ? text : type === 'json' ? parseJson(text, `attribute '${name}'`) : typed(name, text, type).value,
    )
  }
  await node.updateAttributes(Object.fromEntries(values))
}

/** Returns the array or group whose attributes change. */
async function nodeAt(root: ZarrGroup | ZarrArray, array: string | undefined, group: string | undefined) {
  if (root.kind === 'array') return root
  if (array !== undefined) return root.array(group === undefined ? array : `${group}/${array}`)
  return group === undefined ? root : root.group(group)
}

const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'bigint'

/** Returns the type of a JSON value, which the new value keeps. */
function jsonType(value: unknown): string {
  if (typeof value === 'string') return 'string'
  return isNumber(value) || (Array.isArray(value) && value.length > 0 && value.every(isNumber)) ? 'float64' : 'json'
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
