import { once } from 'node:events'
import { inspect } from 'node:util'

const BATCH_LENGTH = 1 << 16

// Names, values and messages come from files. All text output of the command passes through `printable` in
// this module.

/**
 * Parses JSON that the command wrote itself, or that comes with it. The library parses texts of files, within
 * limits.
 */
export const ownJson = (text: string): unknown => JSON.parse(text)

/** Returns a value as the text of `--json`. Numbers that JSON does not have become text. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, exactNumber, 2)}\n`

/** Removes a character from the end of a text, as often as it is there. */
export function trimEnd(text: string, character: string): string {
  let length = text.length
  while (text[length - 1] === character) length--
  return text.slice(0, length)
}

/** Removes the NULs that some writers append to text. */
export const trimNuls = (text: string): string => trimEnd(text, '\0')

/** Replaces numbers that JSON does not have by text. */
export const exactNumber = (_: string, value: unknown): unknown =>
  typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)) ? String(value) : value

/** A piece of text, or a read that has to end before the next piece is asked for. */
export type TextPiece = string | Promise<void>

/** Writes text to stdout, and waits when its buffer is full. */
export async function print(pieces: Iterable<TextPiece>): Promise<void> {
  let batch = ''
  for (const piece of pieces) {
    if (typeof piece !== 'string') {
      await piece
      continue
    }
    batch += piece
    if (batch.length < BATCH_LENGTH) continue
    await write(printableLines(batch))
    batch = ''
  }
  if (batch !== '') await write(printableLines(batch))
}

export async function printLines(lines: Iterable<string>): Promise<void> {
  await print([...lines].map((line) => `${printable(line)}\n`))
}

/** Whether results are printed as JSON. */
let asJson = false

/** Has {@link printResult} print JSON from now on, or lines. */
export function printAsJson(value: boolean): void {
  asJson = value
}

/**
 * Prints the result of a command.
 * @param result printed if `--json` is given; its members that are undefined are omitted
 */
export const printResult = (result: unknown, lines: Iterable<string>): Promise<void> =>
  asJson ? print([jsonText(result)]) : printLines(lines)

/** Prints lines that contain colours of this package. All other text in them must be printable already. */
export async function printPicture(lines: Iterable<string>): Promise<void> {
  for (const line of lines) await write(`${printablePicture(line)}\n`)
}

/** Writes the bytes of elements unchanged. */
export const printBytes = (bytes: Uint8Array): Promise<void> => write(bytes)

/** Prints one line on stderr. */
export function printError(text: string): void {
  process.stderr.write(`hyperslab: ${printable(text)}\n`)
}

/** Prints an error with its stack and details. */
export function printStack(error: unknown): void {
  process.stderr.write(`${printableLines(inspect(error))}\n`)
}

/** Output functions of the command-line parser. */
export const parserOutput = {
  getOutHelpWidth: (): number => lineWidth(),
  getErrHelpWidth: (): number => lineWidth(),
  writeOut: (text: string): void => void process.stdout.write(printableLines(text)),
  writeErr: (text: string): void => void process.stderr.write(printableLines(text)),
}

async function write(bytes: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain')
}

/** Ends the process without an error if the reader of stdout stops early (`| head`). */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/**
 * Characters that control terminals or reorder text: C0, DEL and C1 (U+009B acts like ESC [), separators of
 * lines and paragraphs, and marks, embeddings, overrides and isolates of the bidirectional algorithm.
 */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Makes text safe for a line of a terminal. Control characters become escapes that are valid in JSON strings,
 * too.
 */
export const printable = (text: string): string => text.replace(CONTROLS, escaped)

/** Makes text of several lines safe, like {@link printable}. */
const printableLines = (text: string): string =>
  text.replace(CONTROLS, (character) => (character === '\n' ? character : escaped(character)))

/** Escape sequences that set colours. */
const COLOURS = new RegExp(`(${String.fromCharCode(27)}\\[[\\d;]*m)`)

/** Makes a line of a picture safe, keeping its colours. */
const printablePicture = (line: string): string =>
  line
    .split(COLOURS)
    .map((part, i) => (i % 2 === 1 ? part : printable(part)))
    .join('')

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
}

/**
 * Returns the width of lines in characters: that of the terminal, or of COLUMNS without a terminal. Default:
 * 80.
 */
export const lineWidth = (): number => process.stdout.columns ?? (Number.parseInt(process.env['COLUMNS'] ?? '', 10) || 80)

/**
 * Minimum width of a text column, unless its content is narrower. The first column, with names, is at least
 * 24 wide.
 */
const LEAST_WIDTH = 12
const LEAST_OF_NAMES = 24
const GAP = '  '

/**
 * Formats rows as aligned columns with titles. Empty columns are omitted. If lines would exceed `width`, text
 * wraps within its column. Columns that still do not fit form further tables, each with the first column
 * repeated.
 */
export function table(
  columns: readonly Column[],
  raw: readonly (readonly string[])[],
  indent = GAP,
  width = Number.POSITIVE_INFINITY,
): string[] {
  // Escaping changes widths, so it comes first.
  const rows = raw.map((cells) => cells.map(printable))
  const used = columns.flatMap((column, i) => {
    if (!rows.some((row) => row[i] !== '')) return []
    const cells = [column.title, ...rows.map((row) => row[i]!)]
    const natural = cells.reduce((most, cell) => Math.max(most, cell.length), 0)
    return [{ cells, natural, align: column.align ?? 'left' }]
  })
  const room = Math.max(LEAST_WIDTH, width - indent.length)
  const leastWidth = (column: Cells): number =>
    column.align === 'right' ? column.natural : Math.min(column.natural, column === used[0] ? LEAST_OF_NAMES : LEAST_WIDTH)
  const parts: Cells[][] = []
  for (const column of used) {
    const part = parts.at(-1)
    if (part !== undefined && widthOf([...part, column].map(leastWidth)) <= room) part.push(column)
    else parts.push(part === undefined ? [column] : [used[0]!, column])
  }
  return parts.flatMap((part) => {
    const widths = part.map(({ natural }) => natural)
    // The widest column shrinks first.
    for (let over = widthOf(widths) - room; over > 0; over--) {
      const [widest] = part
        .map((column, i) => ({ i, spare: widths[i]! > leastWidth(column) ? widths[i]! : 0 }))
        .toSorted((a, b) => b.spare - a.spare)
      if (widest!.spare === 0) break
      widths[widest!.i]!--
    }
    return Array.from({ length: rows.length + 1 }, (_, row) => formatRow(part, widths, row)).flatMap((lines) =>
      lines.map((line) => indent + line),
    )
  })
}

/** A column with its title and cells. */
interface Cells {
  readonly cells: readonly string[]
  readonly natural: number
  readonly align: 'left' | 'right'
}

const widthOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1))

function formatRow(columns: readonly Cells[], widths: readonly number[], row: number): string[] {
  const texts = columns.map(({ cells }, i) => wrap(cells[row]!, widths[i]!))
  return Array.from({ length: Math.max(...texts.map(({ length }) => length)) }, (_, line) =>
    columns
      .map(({ align }, i) =>
        align === 'right' ? (texts[i]![line] ?? '').padStart(widths[i]!) : (texts[i]![line] ?? '').padEnd(widths[i]!),
      )
      .join(GAP)
      .trimEnd(),
  )
}

/** Wraps text to lines of at most `width` characters, between words if possible. */
export function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<=\S)(?=\s)/)) {
    if (line !== '' && line.length + word.length > width) {
      lines.push(line)
      line = ''
    }
    // Iterate over code points, because half of a surrogate pair is no character.
    for (const character of line === '' && lines.length > 0 ? word.trimStart() : word) {
      if (line.length + character.length > width && line !== '') {
        lines.push(line)
        line = ''
      }
      line += character
    }
  }
  return [...lines, line]
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

export function showBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  return unit === 0 ? `${bytes} B` : `${value.toFixed(1)} ${UNITS[unit]}`
}

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

/** Returns the path of a URL decoded, without its query; undefined if its percent signs encode no text. */
export function decodePath(url: string): string | undefined {
  try {
    return decodeURIComponent(url.replace(/[?#].*$/s, ''))
  } catch {
    return undefined
  }
}
