import { type DType, isFixed, readElement, type TypedArray, toBytes } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { sizeOf } from '../core/shape.ts'
import type { Tensor } from '../core/tensor.ts'
import { jsonElement, showElement } from './element.ts'
import { UsageError } from './failure.ts'
import { print, printBytes, printLines, table } from './output.ts'

export const OUTPUT_FORMATS = ['text', 'json', 'bytes'] as const
export type OutputFormat = (typeof OUTPUT_FORMATS)[number]

/** A dense result with its element type. A single element has shape []. */
export interface Result {
  readonly dtype: DType
  readonly tensor: Tensor
  /**
   * Whether an element stands for a missing value, printed as `_` in text, like ncdump, and as null in JSON.
   */
  readonly isMissing?: (element: unknown) => boolean
  /** Format and calendar of elements that are times. */
  readonly dates?: { readonly calendar: string; readonly show: (element: unknown) => string }
}

/** Number of elements shown at each end of a shortened axis. */
export const EDGE = 3
/** Number of elements above which text output is shortened. */
export const SUMMARY_SIZE = 1000

const LINE_LENGTH = 100

/**
 * A result of which text output shows only the edges. Each axis in `cut` has `2 * EDGE` positions with a gap
 * in the middle.
 */
export interface Excerpt extends Result {
  readonly cut: readonly boolean[]
}

export const whole = (result: Result): Excerpt => ({ ...result, cut: result.tensor.shape.map(() => false) })

/**
 * Checks that a format fits the type and the output.
 * @throws UnsupportedError for bytes of elements without a fixed width; UsageError for bytes on a terminal
 */
export function checkFormat(format: OutputFormat, dtype: DType, label: object = {}): void {
  if (format === 'bytes' && process.stdout.isTTY)
    throw new UsageError('bytes are for files and programs, and may upset a terminal: add > values.bin')
  if (format === 'bytes' && !isFixed(dtype)) {
    throw new HyperslabError('UnsupportedError', `${dtype} values have no fixed width; use --format text or json`, {
      ...label,
      actual: dtype,
    })
  }
}

export async function printResult(format: OutputFormat, result: Result | Excerpt): Promise<void> {
  if (format === 'json') return print(jsonPieces(result))
  if (format === 'bytes') return printBytes(toBytes(result.tensor.data as TypedArray))
  return print(textPieces('cut' in result ? result : whole(result)))
}

/** Prints columns with their names: side by side as text, or as one JSON list each. */
export async function printTable(format: OutputFormat, columns: Readonly<Record<string, Result>>): Promise<void> {
  if (format === 'bytes') throw new UsageError('a table has no bytes; use --format text or json')
  if (format === 'json') {
    const lists = Object.entries(columns).map(([name, { tensor, ...result }]) => {
      const elements = Array.from({ length: sizeOf(tensor.shape) }, (_, i) => readElement(result.dtype, tensor.data, i))
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
  const size = sizeOf(tensor.shape)
  const calendar = dates ? `"calendar":"${dates.calendar}",` : ''
  yield `{"dtype":"${dtype}",${calendar}"shape":${JSON.stringify(tensor.shape)},"data":[`
  for (let i = 0; i < size; i++) yield `${i === 0 ? '' : ','}${elementJson(result, readElement(dtype, tensor.data, i))}`
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
  Array.from({ length: sizeOf(result.tensor.shape) }, (_, i) =>
    elementText(result, readElement(result.dtype, result.tensor.data, i)),
  )

/** Yields nested brackets with the elements of all rows in aligned columns. */
export function* textPieces({ tensor, cut, ...result }: Excerpt): Generator<string> {
  const { data, shape } = tensor
  const { dtype } = result
  const show = (i: number): string => elementText(result, readElement(dtype, data, i))
  if (shape.length === 0) {
    yield `${show(0)}\n`
    return
  }
  const size = sizeOf(shape)
  let width = 0
  for (let i = 0; i < size; i++) width = Math.max(width, show(i).length)
  const left = !isFixed(dtype)
  const pad = (text: string): string => (left ? text.padEnd(width) : text.padStart(width))
  const gapAt = (axis: number): number => (cut[axis] ? EDGE : -1)

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
    const step = sizeOf(shape.slice(axis + 1))
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
