import type { DiskArray, DType, Tensor, TypedArray } from '../../runtime/index.ts'
import { HyperslabError } from '../../runtime/index.ts'
import type { ElementFormat, SliceSelection } from '../../runtime/tree.ts'
import { UsageError } from './failure.ts'
import { print, printBytes, printLines, table } from './text.ts'

const NANOSECONDS = 1_000_000_000n

/** Whether elements have a fixed width. */
export const hasFixedWidth = (dtype: DType): boolean => dtype !== 'string' && dtype !== 'binary'

export const isFloatType = (dtype: DType): boolean => dtype === 'float32' || dtype === 'float64'

const elementsIn = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1)

/** Returns an element as users see it: a boolean for `bool`. */
const elementAt = (dtype: DType, data: ArrayLike<unknown>, i: number): unknown => (dtype === 'bool' ? data[i] !== 0 : data[i])

/** Formats an element for users. */
export function showElement(dtype: DType, value: unknown): string {
  switch (dtype) {
    case 'float32':
      return showFloat32(value as number)
    case 'string':
      return JSON.stringify(value)
    case 'binary':
      return `0x${Buffer.from(value as Uint8Array).toString('hex')}`
    case 'timestamp_ns':
      return showTimestamp(value as bigint)
    case 'float64':
      return showFloat(value as number)
    default:
      return String(value)
  }
}

/**
 * Formats an element as JSON without loss. 64-bit integers and non-finite floats become strings, and binaries
 * become base64. Floats are written exactly, with the digits of a `float64`.
 */
export function jsonElement(dtype: DType, value: unknown): string {
  if (dtype === 'string') return JSON.stringify(value)
  if (dtype === 'binary') return `"${Buffer.from(value as Uint8Array).toString('base64')}"`
  if (typeof value === 'bigint' || /^u?int64$|^timestamp/.test(dtype)) return `"${value}"`
  if (typeof value === 'number' && !Number.isFinite(value)) return `"${value}"`
  return Object.is(value, -0) ? '-0' : String(value)
}

/** Formats a float32 with the fewest digits that restore it. */
function showFloat32(value: number): string {
  // `toPrecision` drops the sign of -0.
  if (value === 0) return showFloat(value)
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return showFloat(short)
  }
  return showFloat(Number(value.toPrecision(9)))
}

/** Formats a float, with an exponent if plain digits would suggest too much precision. */
function showFloat(value: number): string {
  if (Object.is(value, -0)) return '-0'
  return Number.isFinite(value) && Math.abs(value) >= 1e16 ? value.toExponential() : String(value)
}

/** Formats a time as ISO 8601 in UTC, to the nanosecond. Times of 64 bits have years of four digits. */
function showTimestamp(value: bigint): string {
  let seconds = value / NANOSECONDS
  let rest = value % NANOSECONDS
  if (rest < 0n) {
    seconds--
    rest += NANOSECONDS
  }
  const iso = new Date(Number(seconds) * 1000).toISOString()
  return `${iso.slice(0, -5)}.${String(rest).padStart(9, '0')}Z`
}

/** Formats a number with few digits, for captions. */
export function showShort(value: number, digits = 5): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : String(value)
}

export const OUTPUT_FORMATS = ['text', 'json', 'bytes'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/**
 * A dense result with its element type. A single element has shape []. Missing elements are printed as `_` in
 * text, like ncdump, and as null in JSON.
 */
export interface Result extends ElementFormat {
  readonly dtype: DType
  readonly tensor: Tensor
}

const LINE_LENGTH = 100

/**
 * A result of which text output shows only the edges. Half of the positions of each axis in `cut` are from
 * either end, with a gap in the middle.
 */
interface Shortened extends Result {
  readonly cut: readonly boolean[]
}

/** Reads a selection as a tensor, even a single element. */
export async function readResult(array: DiskArray, selection: SliceSelection = []): Promise<Result> {
  const isWhole = selection.length === 0
  const tensor = isWhole ? await array.toTensor() : ((await array.get(selection)) as Tensor)
  return { dtype: array.dtype, tensor }
}

export const whole = (result: Result): Shortened => ({ ...result, cut: result.tensor.shape.map(() => false) })

/**
 * Checks that a format fits the type and the output.
 * @throws UnsupportedError for bytes of elements without a fixed width; UsageError for bytes on a terminal
 */
export function checkFormat(format: OutputFormat, dtype: DType, label: object = {}): void {
  if (format === 'bytes' && process.stdout.isTTY)
    throw new UsageError('bytes are for files and programs, and may upset a terminal: add > values.bin')
  if (format === 'bytes' && !hasFixedWidth(dtype)) {
    throw new HyperslabError('UnsupportedError', `${dtype} values have no fixed width; use --format text or json`, {
      ...label,
      actual: dtype,
    })
  }
}

export async function printResult(format: OutputFormat, result: Result | Shortened): Promise<void> {
  if (format === 'json') return print(jsonPieces(result))
  if (format === 'bytes') return printBytes(bytesIn(result.tensor.data as TypedArray))
  return print(textPieces('cut' in result ? result : whole(result)))
}

const bytesIn = ({ buffer, byteOffset, byteLength }: TypedArray): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength)

/** Prints columns with their names: side by side as text, or as one JSON list each. */
export async function printTable(format: OutputFormat, columns: Readonly<Record<string, Result>>): Promise<void> {
  if (format === 'bytes') throw new UsageError('a table has no bytes; use --format text or json')
  if (format === 'json') {
    const lists = Object.entries(columns).map(([name, { tensor, ...result }]) => {
      const elements = Array.from({ length: elementsIn(tensor.shape) }, (_, i) => elementAt(result.dtype, tensor.data, i))
      return `"${name}":[${elements.map((element) => elementJson(result, element)).join(',')}]`
    })
    return print([`{${lists.join(',')}}\n`])
  }
  const cells = Object.values(columns).map(elementTexts)
  const rows = cells[0]!.map((_, row) => cells.map((texts) => texts[row] ?? ''))
  await printLines(
    table(
      Object.keys(columns).map((title) => ({ title, align: 'right' as const })),
      rows,
      '',
    ),
  )
}

/** Yields `{ "dtype", "shape", "data" }` with the elements in C order; for times, with the calendar, too. */
export function* jsonPieces(result: Result): Generator<string> {
  const { dtype, tensor, dates } = result
  const size = elementsIn(tensor.shape)
  const calendar = dates ? `"calendar":"${dates.calendar}",` : ''
  yield `{"dtype":"${dtype}",${calendar}"shape":${JSON.stringify(tensor.shape)},"data":[`
  for (let i = 0; i < size; i++) yield `${i === 0 ? '' : ','}${elementJson(result, elementAt(dtype, tensor.data, i))}`
  yield ']}\n'
}

/** Formats an element; missing ones as `_`, times as dates. */
export const elementText = ({ dtype, isMissing, dates }: Omit<Result, 'tensor'>, element: unknown): string =>
  isMissing?.(element) ? '_' : (dates?.show(element) ?? showElement(dtype, element))

/** Formats an element as JSON; missing ones as null. */
export const elementJson = ({ dtype, isMissing, dates }: Omit<Result, 'tensor'>, element: unknown): string =>
  isMissing?.(element) ? 'null' : dates ? JSON.stringify(dates.show(element)) : jsonElement(dtype, element)

/** Formats all elements of a dense result, in C order. */
export const elementTexts = (result: Result): string[] =>
  Array.from({ length: elementsIn(result.tensor.shape) }, (_, i) =>
    elementText(result, elementAt(result.dtype, result.tensor.data, i)),
  )

/** Yields nested brackets with the elements of all rows in aligned columns. */
export function* textPieces({ tensor, cut, ...result }: Shortened): Generator<string> {
  const { data, shape } = tensor
  const { dtype } = result
  const show = (i: number): string => elementText(result, elementAt(dtype, data, i))
  if (shape.length === 0) {
    yield `${show(0)}\n`
    return
  }
  const size = elementsIn(shape)
  let width = 0
  for (let i = 0; i < size; i++) width = Math.max(width, show(i).length)
  const left = !hasFixedWidth(dtype)
  const pad = (text: string): string => (left ? text.padEnd(width) : text.padStart(width))
  const gapAt = (axis: number): number => (cut[axis] ? shape[axis]! / 2 : -1)

  function* row(start: number, indent: number): Generator<string> {
    const length = shape.at(-1)!
    let line = '['
    const add = (word: string): string => {
      if (line === '[') {
        line += word
        return ''
      }
      if (line.length + indent + 1 + word.length < LINE_LENGTH) {
        line += ` ${word}`
        return ''
      }
      const done = `${line.trimEnd()}\n${' '.repeat(indent + 1)}`
      line = word
      return done
    }
    for (let i = 0; i < length; i++) {
      if (i === gapAt(shape.length - 1)) yield add('...')
      yield add(pad(show(start + i)))
    }
    yield `${line.trimEnd()}]`
  }

  function* nested(axis: number, start: number): Generator<string> {
    if (axis === shape.length - 1) {
      yield* row(start, axis)
      return
    }
    const step = elementsIn(shape.slice(axis + 1))
    // As many line breaks as closing brackets, so that blocks of higher rank are further apart.
    const separator = '\n'.repeat(shape.length - 1 - axis) + ' '.repeat(axis + 1)
    yield '['
    for (let i = 0; i < shape[axis]!; i++) {
      if (i > 0) yield separator
      if (i === gapAt(axis)) yield `...${separator}`
      yield* nested(axis + 1, start + i * step)
    }
    yield ']'
  }

  yield* nested(0, 0)
  yield '\n'
}
