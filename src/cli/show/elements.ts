import type { DiskArray, DType, Tensor, TypedArray } from '../../runtime/index.ts'
import { HyperslabError, slice, toISO } from '../../runtime/index.ts'
import { type ElementFormat, readExcerpt, type SliceSelection } from '../../runtime/tree.ts'
import { UsageError } from './failure.ts'
import { print, printBytes, printLines, type TextPiece, table } from './text.ts'

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
  const [seconds, decimals = ''] = toISO(value).slice(0, -1).split('.')
  return `${seconds}.${decimals.padEnd(9, '0')}Z`
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

/** Returns a result that is printed without further reads. */
export const readyResult = ({ tensor, ...how }: Result | Shortened): Printed => ({
  ...how,
  elements: new Elements(how.dtype, tensor.shape, tensor),
})

/**
 * Prints an array. As text on a terminal, only the corners of a large one are printed, unless `full` is set.
 * Files and other programs get all elements.
 */
export async function printArray(
  format: OutputFormat,
  array: DiskArray,
  how: ElementFormat,
  full: boolean = !process.stdout.isTTY,
): Promise<void> {
  if (format !== 'text' || full) return printAll(format, array, how)
  await print(textPieces(readyResult({ ...(await readExcerpt(array)), ...how })))
}

/** Prints all elements part by part, so that the first ones appear at once. */
async function printAll(format: OutputFormat, array: DiskArray, how: ElementFormat): Promise<void> {
  if (format === 'bytes') {
    for await (const { data } of slabs(array)) await printBytes(bytesIn(data as TypedArray))
    return
  }
  const printed = { ...how, elements: new Elements(array.dtype, array.shape, slabs(array)) }
  return print(format === 'json' ? jsonPieces(printed) : textPieces(printed))
}

/** Number of bytes that are read at a time, if rows of chunks are not larger. */
const SLAB_BYTES = 16 * 2 ** 20
/** Maximum number of bytes of a row of chunks that is read at once. */
const MOST_SLAB_BYTES = 4 * SLAB_BYTES
/** Number of bytes that a text counts for. */
const TEXT_BYTES = 64

/** Yields an array in C order, in whole rows of chunks along the first axis if these are not too large. */
async function* slabs(array: DiskArray): AsyncGenerator<Tensor, void, undefined> {
  const { shape, dtype } = array
  const bytesOfRow = elementsIn(shape.slice(1)) * (hasFixedWidth(dtype) ? 8 : TEXT_BYTES)
  const [length = 1] = shape
  const chunk = Math.max(1, array.chunks.axes[0]?.chunkLength ?? 1)
  if (length * bytesOfRow <= SLAB_BYTES) {
    if (elementsIn(shape) > 0) yield await array.toTensor()
  } else if (shape.length > 1 && Math.min(chunk, length) * bytesOfRow > MOST_SLAB_BYTES)
    for (let i = 0; i < length; i++) yield* slabs(array.view([i]))
  else {
    const rows = Math.max(1, Math.floor(SLAB_BYTES / bytesOfRow))
    const step = rows > chunk ? rows - (rows % chunk) : Math.min(chunk, Math.max(rows, Math.floor(MOST_SLAB_BYTES / bytesOfRow)))
    for (let start = 0; start < length; start += step)
      yield await array.view([slice(start, Math.min(length, start + step))]).toTensor()
  }
}

/** Elements in C order, of which one part at a time is in memory. They are visited once, in order. */
class Elements {
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly #parts: AsyncIterator<Tensor> | undefined
  #data: ArrayLike<unknown> = []
  #start = 0
  #end = 0

  /** @param from the elements, or the parts that are read one after another */
  constructor(dtype: DType, shape: readonly number[], from: Tensor | AsyncIterable<Tensor>) {
    this.dtype = dtype
    this.shape = shape
    if ('data' in from) {
      this.#data = from.data
      this.#end = elementsIn(shape)
    } else this.#parts = from[Symbol.asyncIterator]()
  }

  /** Whether an element is in memory. If not, {@link next} reads it. */
  has(i: number): boolean {
    return i < this.#end
  }

  at(i: number): unknown {
    return elementAt(this.dtype, this.#data, i - this.#start)
  }

  /** Reads the next part. */
  async next(): Promise<void> {
    const { value } = (await this.#parts!.next()) as IteratorYieldResult<Tensor>
    this.#data = value.data
    this.#start = this.#end
    this.#end += value.data.length
  }

  /** Returns the elements in memory. */
  *[Symbol.iterator](): Generator<unknown> {
    for (let i = this.#start; i < this.#end; i++) yield this.at(i)
  }
}

/** Elements, and how they are shown; `cut` as in a shortened result. */
interface Printed extends ElementFormat {
  readonly elements: Elements
  readonly cut?: readonly boolean[]
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
export function* jsonPieces({ elements, ...how }: Printed): Generator<TextPiece> {
  const { dtype, shape } = elements
  const calendar = how.dates ? `"calendar":"${how.dates.calendar}",` : ''
  yield `{"dtype":"${dtype}",${calendar}"shape":${JSON.stringify(shape)},"data":[`
  for (let i = 0; i < elementsIn(shape); i++) {
    if (!elements.has(i)) yield elements.next()
    yield `${i === 0 ? '' : ','}${elementJson({ dtype, ...how }, elements.at(i))}`
  }
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

/** Yields nested brackets with the elements of all rows. Columns are aligned within each part. */
export function* textPieces({ elements, cut = [], ...how }: Printed): Generator<TextPiece> {
  const { dtype, shape } = elements
  const result = { dtype, ...how }
  if (shape.length === 0) {
    if (!elements.has(0)) yield elements.next()
    yield `${elementText(result, elements.at(0))}\n`
    return
  }
  let width = 0
  const widen = (): void => {
    for (const element of elements) width = Math.max(width, elementText(result, element).length)
  }
  widen()
  const left = !hasFixedWidth(dtype)
  const pad = (text: string): string => (left ? text.padEnd(width) : text.padStart(width))
  const gapAt = (axis: number): number => (cut[axis] ? shape[axis]! / 2 : -1)

  function* row(start: number, indent: number): Generator<TextPiece> {
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
      if (!elements.has(start + i)) yield elements.next().then(widen)
      yield add(pad(elementText(result, elements.at(start + i))))
    }
    yield `${line.trimEnd()}]`
  }

  function* nested(axis: number, start: number): Generator<TextPiece> {
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
