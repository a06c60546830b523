import type { Command } from 'commander'
import type { DType, LayerInfo, Missing } from '../../runtime/index.ts'
import type {
  ArrayDescription,
  DescribedAttribute,
  DescribedAttributes,
  GroupDescription,
  PyramidDescription,
  TreeDescription,
} from '../../runtime/tree.ts'
import { writeJson } from '../../runtime/zarr.ts'
import { isFloatType, jsonElement, showElement } from '../show/elements.ts'
import { EXIT, oneLine } from '../show/failure.ts'
import {
  type Column,
  count,
  exactNumber,
  jsonText,
  lineWidth,
  ownJson,
  print,
  printable,
  printError,
  printLines,
  showBytes,
  table as tableOf,
  trimNuls,
  wrap,
} from '../show/text.ts'
import { addPlaceOptions, PLACE, type PlaceOptions, pyramidLevelOption } from './options.ts'
import { openPlace } from './place.ts'
import { type RawOption, rawOption } from './select.ts'

interface Options extends PlaceOptions, RawOption {
  readonly json?: boolean
  readonly attributes?: boolean
}

export function addInfo(program: Command): void {
  const command = program
    .command('info')
    .description('show the contents of a container, a NetCDF, HDF5 or TIFF file, or a Zarr store')
    .argument('<file>', PLACE)
    .option('--attributes', 'list the attributes of each array and group')
    .addOption(rawOption())
  addPlaceOptions(command)
    .addOption(pyramidLevelOption())
    .addHelpText('after', '\nExample:\n  $ hyperslab info climate.af --attributes')
    .action(async (path: string, { json = false, attributes = false, raw = false, ...state }: Options) => {
      await using place = await openPlace(path, state)
      const description = await place.describe({ raw })
      for (const warning of description.warnings) printError(`warning: ${oneLine(warning)}`)
      if (json) await print([jsonText(plain(description))])
      else await printLines(infoLines(description, { attributes, width: lineWidth() }))
      for (const problem of description.problems) printError(oneLine(problem))
      if (description.problems.length + description.unreadable.length > 0) process.exitCode = EXIT.failed
    })
}

const left = (title: string): Column => ({ title })
const right = (title: string): Column => ({ title, align: 'right' })

/** Formats rows in columns, within the width of the output. */
type Table = (columns: readonly Column[], rows: readonly (readonly string[])[]) => string[]

/** Returns the output of `info`, in lines of at most `width` characters. */
export function infoLines(
  description: TreeDescription,
  { attributes: withAttributes, width }: { readonly attributes: boolean; readonly width: number },
): string[] {
  const table: Table = (columns, rows) => tableOf(columns, rows, '  ', width)
  const { arrays, attributes, groups, pyramids, layers, unreadable } = description
  const ofEach = [...groups.map(({ path, attributes }) => ({ name: path, attributes })), ...arrays]
  const lines = [
    titleLine(description),
    '',
    'Arrays',
    ...orNone(arrayTable(table, arrays), arrays.length),
    ...(arrays.length === 0 ? [] : ['', 'Values', ...(layers.length > 0 ? statisticsTable : meaningTable)(table, arrays)]),
    ...groupLines(table, groups),
    ...pyramids.flatMap((pyramid) => pyramidLines(table, pyramid)),
    ...(unreadable.length === 0 ? [] : ['', 'Not readable', ...unreadableTable(table, unreadable)]),
    ...(withAttributes
      ? ofEach.flatMap(({ name, attributes }) => attributeLines(table, `Attributes of ${name}`, attributes))
      : []),
    ...attributeLines(table, `Attributes of the ${description.hasGroups ? 'group' : 'file'}`, attributes),
    ...layerLines(table, description),
  ]
  return lines.flatMap((line) => wrap(printable(line), width))
}

function titleLine({ file, format, arrays, groups, layers }: TreeDescription): string {
  const total = totals({ arrays, layers })
  const parts =
    layers.length > 0
      ? [count(arrays.length, 'array'), count(layers.length, 'file'), showBytes(total.fileBytes)]
      : [
          format,
          count(arrays.length, 'array'),
          ...(groups.length > 0 ? [count(groups.length, 'group')] : []),
          showBytes(total.bytes),
        ]
  return `${file}: ${parts.join(', ')}`
}

function arrayTable(table: Table, arrays: readonly ArrayDescription[]): string[] {
  return table(
    ['name', 'type', 'shape', 'chunk shape', 'shard shape', 'codecs']
      .map(left)
      .concat(['chunks', 'bytes', 'stored', 'ratio'].map(right)),
    arrays.map((array) => {
      const { name, dtype, storedAs, shape, dimensionNames, chunks, storedChunks = chunks, bytes, compressedBytes } = array
      return [
        name,
        storedAs === undefined ? dtype : `${dtype} (${storedAs})`,
        shape.map((length, axis) => `${dimensionNames[axis] || `dim_${axis}`} ${length}`).join(', ') || 'scalar',
        showChunkShape(array.chunkShape),
        array.shardShape === undefined ? '' : showChunkShape(array.shardShape),
        array.codecs ?? '',
        storedChunks === chunks ? String(chunks) : `${storedChunks} of ${chunks}`,
        bytes === undefined ? '' : showBytes(bytes),
        compressedBytes === undefined ? '' : showBytes(compressedBytes),
        bytes === undefined || compressedBytes === undefined ? '' : ratio(bytes, compressedBytes),
      ]
    }),
  )
}

/** Formats chunk lengths. Different lengths along an axis are listed. */
const showChunkShape = (lengths: ArrayDescription['chunkShape']): string =>
  lengths
    .map((length) =>
      typeof length === 'number' ? String(length) : `(${length.slice(0, 4).join(' ')}${length.length > 4 ? ' ...' : ''})`,
    )
    .join(' x ')

/** Formats groups as a tree, with names indented below their parents. */
function groupLines(table: Table, groups: readonly GroupDescription[]): string[] {
  if (groups.length === 0) return []
  const rows = groups.map(({ path, arrays, attributes }) => {
    const names = path.split('/')
    return [`${'  '.repeat(names.length - 1)}${names.at(-1)}`, String(arrays), String(attributes.size)]
  })
  return ['', 'Groups', ...table([left('name'), right('arrays'), right('attributes')], rows)]
}

function pyramidLines(table: Table, { group, name, axes, levels }: PyramidDescription): string[] {
  const of = [group, name].filter(Boolean).join(', ')
  const along = axes?.map((axis) => [axis.name, axis.unit && `in ${axis.unit}`].filter(Boolean).join(' ')).join(', ')
  const show = (numbers: readonly number[] | undefined): string =>
    numbers?.map((each) => showElement('float64', each)).join(', ') ?? ''
  return [
    '',
    `Levels${of === '' ? '' : ` of ${of}`}${along === undefined ? '' : ` along ${along}`}`,
    ...table(
      ['level', 'shape', 'scale', 'translation'].map(left),
      levels.map(({ path, shape, scale, translation }) => [
        path,
        shape?.join(' x ') ?? 'group',
        show(scale),
        translation?.some((each) => each !== 0) ? show(translation) : '',
      ]),
    ),
  ]
}

const unreadableTable = (table: Table, unreadable: TreeDescription['unreadable']): string[] =>
  table(
    [left('name'), left('reason')],
    unreadable.map(({ name, reason }) => [name, oneLine(reason)]),
  )

function layerLines(table: Table, { arrays, layers }: TreeDescription): string[] {
  if (layers.length === 0) return []
  const total = totals({ arrays, layers })
  return [
    '',
    'Layers',
    ...table(
      [
        right('number'),
        left('file'),
        ...['bytes', 'blocks', 'checksums', 'chunks', 'data', 'ratio'].map(right),
        left('arrays'),
        left('deleted'),
      ],
      layers.map((layer) => [
        String(layer.number),
        layer.file,
        showBytes(layer.bytes),
        String(layer.blocks),
        showChecks(layer),
        String(layer.chunks),
        showBytes(layer.uncompressedBytes),
        ratio(layer.uncompressedBytes, layer.compressedBytes),
        layer.arrays.join(', '),
        layer.deleted.join(', '),
      ]),
    ),
    '',
    `Total: ${showBytes(total.bytes)} of data stored as ${showBytes(total.compressedBytes)}${total.bytes === 0 ? '' : ` (${ratio(total.bytes, total.compressedBytes)})`}, ${showBytes(total.fileBytes)} on disk`,
  ]
}

/** Formats the number of blocks with a checksum. */
const showChecks = ({ blocks, checkedBlocks }: LayerInfo): string =>
  blocks === 0 ? '-' : checkedBlocks === blocks ? 'all' : checkedBlocks === 0 ? 'none' : `${checkedBlocks} of ${blocks}`

const orNone = (lines: string[], rows: number): string[] => (rows === 0 ? ['  none'] : lines)

/** Formats the stored statistics of values. */
function statisticsTable(table: Table, arrays: readonly ArrayDescription[]): string[] {
  const someNaN = arrays.some(({ statistics }) => (statistics?.nanCount ?? 0) > 0)
  return table(
    [left('name'), ...['min', 'max', 'missing', ...(someNaN ? ['NaN'] : []), 'of'].map(right), left('units')],
    arrays.map(({ name, valueType, statistics, attributes }) => [
      name,
      showExtreme(valueType, statistics?.min),
      showExtreme(valueType, statistics?.max),
      statistics === undefined ? '?' : String(statistics.nullCount),
      ...(someNaN ? [statistics === undefined ? '?' : String(statistics.nanCount ?? 0)] : []),
      statistics === undefined ? '?' : String(statistics.rowCount),
      textOf(attributes, 'units'),
    ]),
  )
}

/**
 * Formats the meaning of values. Without statistics, a description of the values would require reading all of
 * them.
 */
const meaningTable = (table: Table, arrays: readonly ArrayDescription[]): string[] =>
  table(
    [left('name'), ...['fill', 'missing'].map(right), ...['packed', 'units', 'long name'].map(left)],
    arrays.map(({ name, dtype, fillValue, missing, attributes }) => [
      name,
      fillValue === undefined ? '' : showValue(dtype, fillValue),
      showMissing(dtype, missing),
      showPacking(attributes),
      textOf(attributes, 'units'),
      textOf(attributes, 'long_name') || textOf(attributes, 'standard_name'),
    ]),
  )

/** Stored value of a missing time: the NaT of numpy. */
const NOT_A_TIME = -(2n ** 63n)

const showValue = (dtype: string, value: unknown): string =>
  dtype === 'timestamp_ns' && value === NOT_A_TIME ? 'NaT' : shorten(showElement(dtype as DType, value), 32)

const showMissing = (dtype: string, { values, nan }: Missing): string =>
  [...values.map((value) => showValue(dtype, value)), ...(nan ? ['NaN'] : [])].join(' ')

/** Formats the scale and offset of packed values. */
function showPacking(attributes: DescribedAttributes): string {
  const [scale, offset] = ['scale_factor', 'add_offset'].map((name) => attributes.get(name))
  const show = (sign: string, attribute: DescribedAttribute | undefined): string[] =>
    attribute === undefined ? [] : [`${sign} ${showAttribute(attribute)}`]
  return [...show('*', scale), ...show('+', offset)].join(' ')
}

function showExtreme(dtype: string, value: unknown): string {
  if (value === undefined) return '-'
  // Extremes of booleans are stored as numbers.
  return dtype === 'bool' ? String(Boolean(value)) : dtype === 'date' ? String(value) : showValue(dtype, value)
}

function textOf(attributes: DescribedAttributes, name: string): string {
  const attribute = attributes.get(name)
  return attribute?.type === 'string' ? shorten(oneLine(trimNuls(attribute.value)), 40) : ''
}

function attributeLines(table: Table, title: string, attributes: DescribedAttributes): string[] {
  if (attributes.size === 0) return []
  const rows = [...attributes].map(([name, attribute]) => [name, attribute.type, showAttribute(attribute)])
  return ['', title, ...table([left('name'), left('type'), left('value')], rows).slice(1)]
}

const ATTRIBUTE_LENGTH = 100

/**
 * Formats an attribute as one line, shortened if necessary. NULs that some writers append to text are
 * removed.
 */
function showAttribute({ type, value }: DescribedAttribute): string {
  if (type === 'json') return shorten(oneLine(writeJson(value)), ATTRIBUTE_LENGTH)
  if (type === 'string') return shorten(oneLine(trimNuls(value)), ATTRIBUTE_LENGTH)
  const dtype = type.replace('[]', '') as DType
  const values = type.endsWith('[]') ? Array.from(value as ArrayLike<unknown>) : [value]
  const shown = values
    .slice(0, 20)
    .map((each) => showElement(dtype, each))
    .join(' ')
  return shorten(values.length > 20 ? `${shown} ... (${values.length} values)` : shown, ATTRIBUTE_LENGTH)
}

const shorten = (text: string, length: number): string => {
  const characters = [...text]
  return characters.length <= length ? text : `${characters.slice(0, length - 3).join('')}...`
}

const ratio = (bytes: number, compressedBytes: number): string =>
  compressedBytes === 0 ? '-' : `${(bytes / compressedBytes).toFixed(2)} : 1`

function totals({ arrays, layers }: Pick<TreeDescription, 'arrays' | 'layers'>) {
  const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0)
  return {
    bytes: sum(arrays.map(({ bytes = 0 }) => bytes)),
    compressedBytes: sum(arrays.map(({ compressedBytes = 0 }) => compressedBytes)),
    fileBytes: sum(layers.map(({ bytes }) => bytes)),
  }
}

/**
 * Converts the description to JSON values. 64-bit integers and non-finite floats become strings, and bytes
 * become base64.
 */
function plain({ arrays, attributes, groups, layers, warnings: _warnings, hasGroups: _hasGroups, ...rest }: TreeDescription) {
  return {
    ...rest,
    arrays: arrays.map(({ statistics, fillValue, missing, attributes, ...array }) => ({
      ...array,
      fillValue: plainValue(array.dtype, fillValue),
      missing: [...missing.values.map((value) => plainValue(array.dtype, value)), ...(missing.nan ? ['NaN'] : [])],
      statistics:
        statistics === undefined
          ? null
          : {
              ...statistics,
              min: plainValue(statType(array.valueType), statistics.min),
              max: plainValue(statType(array.valueType), statistics.max),
            },
      attributes: plainAttributes(attributes),
    })),
    attributes: plainAttributes(attributes),
    groups: groups.map((group) => ({ ...group, attributes: plainAttributes(group.attributes) })),
    layers,
    totals: totals({ arrays, layers }),
  }
}

const plainValue = (dtype: string, value: unknown): unknown =>
  value === undefined
    ? null
    : typeof value === 'boolean' || dtype === 'date'
      ? value
      : ownJson(jsonElement(dtype as DType, value))

const plainAttributes = (attributes: DescribedAttributes) =>
  Object.fromEntries([...attributes].map(([name, attribute]) => [name, plainAttribute(attribute)]))

function plainAttribute({ type, value }: DescribedAttribute) {
  if (type === 'json')
    return {
      type,
      value: ownJson(JSON.stringify(value, exactNumber)),
    }
  const dtype = type.replace('[]', '')
  const isList = type.endsWith('[]')
  return {
    type,
    value: isList ? Array.from(value as ArrayLike<unknown>, (each) => plainValue(dtype, each)) : plainValue(dtype, value),
  }
}

/** Returns the type of extremes. Those of booleans are stored as numbers. */
const statType = (dtype: string): string => (dtype === 'bool' || isFloatType(dtype as DType) ? 'float64' : dtype)
