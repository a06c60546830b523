import type { Command } from 'commander'
import { type DType, isFloat } from '../core/dtype.ts'
import type { AttributeValue, LayerInfo } from '../runtime/index.ts'
import { type ArrayDescription, type Description, describe } from './describe.ts'
import { jsonElement, showElement } from './element.ts'
import { EXIT, oneLine } from './failure.ts'
import { type LayerOption, layerOption, openContainer } from './options.ts'
import { type Column, count, print, printError, printLines, showBytes, table } from './output.ts'
import { type RawOption, rawOption } from './physical.ts'

interface Options extends LayerOption, RawOption {
  readonly json?: boolean
  readonly attributes?: boolean
}

export function addInfo(program: Command): void {
  program
    .command('info')
    .description('show what a container holds')
    .argument('<file>', 'a container (.af)')
    .option('--json', 'as JSON, for programs')
    .option('--attributes', 'list the attributes of each array')
    .addOption(rawOption())
    .addOption(layerOption())
    .addHelpText('after', '\nExample:\n  $ hyperslab info climate.af --attributes')
    .action(async (path: string, { json = false, attributes = false, raw = false, ...state }: Options) => {
      await using file = await openContainer(path, state)
      const description = await describe(file, { raw })
      if (json) await print([`${JSON.stringify(plain(description), null, 2)}\n`])
      else await printLines(infoLines(description, attributes))
      for (const problem of description.problems) printError(oneLine(problem))
      if (description.problems.length > 0) process.exitCode = EXIT.failed
    })
}

const left = (title: string): Column => ({ title })
const right = (title: string): Column => ({ title, align: 'right' })

export function infoLines({ file, arrays, attributes, layers }: Description, withAttributes: boolean): string[] {
  const total = totals({ arrays, layers })
  return [
    `${file}: ${count(arrays.length, 'array')}, ${count(layers.length, 'file')}, ${showBytes(total.fileBytes)}`,
    '',
    'Arrays',
    ...orNone(
      table(
        ['name', 'type', 'shape', 'chunk shape'].map(left).concat(['chunks', 'bytes', 'stored', 'ratio'].map(right)),
        arrays.map((array) => [
          array.name,
          array.dtype,
          array.shape.map((length, axis) => `${array.dimensionNames[axis] ?? `dim_${axis}`} ${length}`).join(', ') || 'scalar',
          array.chunkShape.join(' x '),
          array.storedChunks === array.chunks ? String(array.chunks) : `${array.storedChunks} of ${array.chunks}`,
          showBytes(array.bytes),
          showBytes(array.compressedBytes),
          ratio(array.bytes, array.compressedBytes),
        ]),
      ),
      arrays.length,
    ),
    ...(arrays.length === 0 ? [] : ['', 'Values', ...valueTable(arrays)]),
    ...(withAttributes ? arrays.flatMap(({ name, attributes }) => attributeLines(`Attributes of ${name}`, attributes)) : []),
    ...attributeLines('Attributes of the file', attributes),
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

/** How many blocks have a checksum. */
const showChecks = ({ blocks, checkedBlocks }: LayerInfo): string =>
  blocks === 0 ? '-' : checkedBlocks === blocks ? 'all' : checkedBlocks === 0 ? 'none' : `${checkedBlocks} of ${blocks}`

const orNone = (lines: string[], rows: number): string[] => (rows === 0 ? ['  none'] : lines)

function valueTable(arrays: readonly ArrayDescription[]): string[] {
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
      unitsOf(attributes),
    ]),
  )
}

function showExtreme(dtype: string, value: unknown): string {
  if (value === undefined) return '-'
  // Extremes of booleans are kept as numbers.
  return shorten(dtype === 'bool' ? String(Boolean(value)) : showElement(dtype as DType, value), 32)
}

function unitsOf(attributes: ReadonlyMap<string, AttributeValue>): string {
  const units = attributes.get('units')
  return units?.type === 'string' ? shorten(oneLine(units.value.replace(/\0+$/, '')), 40) : ''
}

function attributeLines(title: string, attributes: ReadonlyMap<string, AttributeValue>): string[] {
  if (attributes.size === 0) return []
  const rows = [...attributes].map(([name, attribute]) => [name, attribute.type, showAttribute(attribute)])
  return ['', title, ...table([left('name'), left('type'), left('value')], rows).slice(1)]
}

const ATTRIBUTE_LENGTH = 100

/** One line, cut where it is long; the padding that some writers leave behind text is not shown. */
function showAttribute({ type, value }: AttributeValue): string {
  if (type === 'string') return shorten(oneLine(value.replace(/\0+$/, '')), ATTRIBUTE_LENGTH)
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

function totals({ arrays, layers }: Pick<Description, 'arrays' | 'layers'>) {
  const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0)
  return {
    bytes: sum(arrays.map(({ bytes }) => bytes)),
    compressedBytes: sum(arrays.map(({ compressedBytes }) => compressedBytes)),
    fileBytes: sum(layers.map(({ bytes }) => bytes)),
  }
}

/**
 * The description in values that JSON has: 64-bit integers and non-finite floats as strings, bytes as base64.
 */
function plain({ file, arrays, attributes, layers, problems }: Description) {
  const json = (dtype: string, value: unknown): unknown =>
    value === undefined ? null : typeof value === 'boolean' ? value : JSON.parse(jsonElement(dtype as DType, value))
  const plainAttributes = (from: ReadonlyMap<string, AttributeValue>) =>
    Object.fromEntries(
      [...from].map(([name, { type, value }]) => {
        const dtype = type.replace('[]', '')
        return [
          name,
          {
            type,
            value: type.endsWith('[]')
              ? Array.from(value as ArrayLike<unknown>, (each) => json(dtype, each))
              : json(dtype, value),
          },
        ]
      }),
    )
  return {
    file,
    arrays: arrays.map(({ statistics, fillValue, attributes, ...array }) => ({
      ...array,
      fillValue: json(array.dtype, fillValue),
      statistics:
        statistics === undefined
          ? null
          : {
              ...statistics,
              min: json(statType(array.valueType), statistics.min),
              max: json(statType(array.valueType), statistics.max),
            },
      attributes: plainAttributes(attributes),
    })),
    attributes: plainAttributes(attributes),
    layers: layers.map((layer: LayerInfo) => layer),
    totals: totals({ arrays, layers }),
    problems,
  }
}

/** Extremes of booleans are kept as numbers. */
const statType = (dtype: string): string => (dtype === 'bool' || isFloat(dtype as DType) ? 'float64' : dtype)
