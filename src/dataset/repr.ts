import { type DType, isBigInt } from '../core/dtype.ts'
import type { Coords, Labelled } from './coords.ts'
import type { Label } from './label-values.ts'
import type { Variable } from './variable.ts'

const MOST_ATTRIBUTES = 12
const VALUE_LENGTH = 60

/** Describes an array: dimensions, coordinates and attributes, in the layout of xarray. */
export function describeArray({ variable, coordinates }: Labelled): string {
  const head = `<DataArray '${variable.name}' (${showDims(variable)})>, ${variable.array.dtype}, chunks ${showChunks(variable)}`
  return [head, ...coordLines(coordinates), ...attributeLines(variable.attrs)].join('\n')
}

/** Content of the description of a dataset. */
export interface Described {
  readonly dims: Readonly<Record<string, number>>
  readonly coords: Coords
  readonly variables: ReadonlyMap<string, Variable>
  readonly attrs: Readonly<Record<string, unknown>>
  /** Omitted variables. */
  readonly decodeErrors: ReadonlyMap<string, unknown>
}

/**
 * Describes a dataset: dimensions, coordinates with their first and last values and units, variables with
 * units and chunks.
 */
export function describeDataset({ dims, coords, variables, attrs, decodeErrors }: Described): string {
  const lengths = Object.entries(dims).map(([dim, length]) => `${dim}: ${length}`)
  return [
    '<Dataset>',
    `Dimensions: (${lengths.join(', ')})`,
    ...coordLines(coords),
    'Data variables:',
    ...(variables.size === 0
      ? ['    none']
      : aligned(
          [...variables.values()].map((variable) => [
            `    ${variable.name}`,
            `(${variable.dims.join(', ')})`,
            variable.array.dtype,
            details(variable),
          ]),
        )),
    ...(decodeErrors.size === 0 ? [] : [`Left out (see decodeErrors): ${[...decodeErrors.keys()].join(', ')}`]),
    ...attributeLines(attrs),
  ].join('\n')
}

const showDims = ({ dims, array }: Variable): string => dims.map((dim, axis) => `${dim}: ${array.shape[axis]}`).join(', ')

const showChunks = ({ array }: Variable): string => `(${array.chunks.axes.map(({ chunkLength }) => chunkLength).join(', ')})`

function details(variable: Variable): string {
  const units = variable.attrs['units'] ?? variable.encoding['units']
  return [`chunks ${showChunks(variable)}`, ...(typeof units === 'string' ? [units] : [])].join(', ')
}

function coordLines(coords: Coords): string[] {
  if (coords.size === 0) return []
  const rows = [...coords.values()].map((coord) => {
    const { name, dims, array, index, scalar } = coord
    const calendar = (index ?? scalar)?.kind.calendar
    const type = calendar === undefined ? array.dtype : isBigInt(array.dtype) ? 'time' : `time (${calendar})`
    return [`  ${index !== undefined && dims[0] === name ? '*' : ' '} ${name}`, `(${dims.join(', ')})`, type, showEnds(coord)]
  })
  return ['Coordinates:', ...aligned(rows)]
}

/** Returns the first and the last value, and the units. */
function showEnds(coord: Variable): string {
  const { attrs, encoding } = coord
  const index = coord.index ?? coord.scalar
  if (index === undefined) return details(coord)
  const units = index.kind.calendar === undefined ? (attrs['units'] ?? encoding['units']) : undefined
  const show = (label: Label): string => (typeof label === 'number' ? showNumber(label, index.kind.dtype) : index.show(label))
  const ends =
    index.length === 0
      ? 'empty'
      : index.length === 1
        ? show(index.at(0))
        : `${show(index.at(0))} ... ${show(index.at(index.length - 1))}`
  return typeof units === 'string' && units !== '1' ? `${ends} ${units}` : ends
}

const showNumber = (value: number, dtype: DType): string =>
  String(dtype === 'float32' ? Number(value.toPrecision(7)) : Number(value.toPrecision(12)))

function attributeLines(attrs: Readonly<Record<string, unknown>>): string[] {
  const entries = Object.entries(attrs)
  if (entries.length === 0) return []
  const rows = entries.slice(0, MOST_ATTRIBUTES).map(([name, value]) => [`    ${name}:`, shown(value)])
  const more = entries.length - MOST_ATTRIBUTES
  return ['Attributes:', ...aligned(rows), ...(more > 0 ? [`    ... ${more} more`] : [])]
}

function shown(value: unknown): string {
  const text = ArrayBuffer.isView(value)
    ? Array.from(value as unknown as ArrayLike<unknown>).join(', ')
    : typeof value === 'string'
      ? value
      : typeof value === 'bigint'
        ? String(value)
        : (JSON.stringify(value, bigAsText) ?? String(value))
  const line = text.replace(/[\s\0]+/g, ' ').trim()
  return line.length > VALUE_LENGTH ? `${line.slice(0, VALUE_LENGTH - 3)}...` : line
}

/** Converts bigints to text, because JSON has no integers beyond 2^53. */
const bigAsText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

/** Pads columns to equal width, except for the last column. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column < row.length - 1 ? cell.padEnd(widths[column]!) : cell))
      .join('  ')
      .trimEnd(),
  )
}
