import { once } from 'node:events'
import { inspect } from 'node:util'

const BATCH_LENGTH = 1 << 16

// Names, values and messages come out of files: whatever is written as text goes through `printable` here,
// and nowhere else in the command.

/** Returns a value as the text of `--json`. Numbers that JSON does not have become text. */
export const jsonText = (value: unknown): string => `${JSON.stringify(value, exactNumber, 2)}\n`

/** Replaces numbers that JSON does not have by text. */
export const exactNumber = (_: string, value: unknown): unknown =>
  typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)) ? String(value) : value

/** Writes text to stdout no faster than it takes the bytes. */
export async function print(pieces: Iterable<string>): Promise<void> {
  let batch = ''
  for (const piece of pieces) {
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

/** Lines whose colours are our own: what else is in them must be printable before. */
export async function printPicture(lines: Iterable<string>): Promise<void> {
  for (const line of lines) await write(`${printablePicture(line)}\n`)
}

/** Elements as they are. */
export const printBytes = (bytes: Uint8Array): Promise<void> => write(bytes)

/** One line on stderr. */
export function printError(text: string): void {
  process.stderr.write(`hyperslab: ${printable(text)}\n`)
}

/** An error with its stack, and all it carries. */
export function printStack(error: unknown): void {
  process.stderr.write(`${printableLines(inspect(error))}\n`)
}

/** What the parser of the command line prints. */
export const parserOutput = {
  writeOut: (text: string): void => void process.stdout.write(printableLines(text)),
  writeErr: (text: string): void => void process.stderr.write(printableLines(text)),
}

async function write(bytes: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain')
}

/** Whoever reads stdout may stop early (`| head`), which is no failure. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/**
 * What steers terminals or turns text around on screens: C0, DEL and C1 (U+009B begins a sequence as ESC [
 * does), separators of lines and paragraphs, marks, embeddings, overrides and isolates of the bidirectional
 * algorithm.
 */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Text for a line of a terminal: control characters become escapes, which JSON has, too, in its strings. */
export const printable = (text: string): string => text.replace(CONTROLS, escaped)

/** The same for text of several lines. */
const printableLines = (text: string): string =>
  text.replace(CONTROLS, (character) => (character === '\n' ? character : escaped(character)))

/** Sequences that set colours. */
const COLOURS = new RegExp(`(${String.fromCharCode(27)}\\[[\\d;]*m)`)

/** A line of a picture, which keeps its colours. */
const printablePicture = (line: string): string =>
  line
    .split(COLOURS)
    .map((part, i) => (i % 2 === 1 ? part : printable(part)))
    .join('')

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
}

/** Characters of a line: those of the terminal; where there is none what COLUMNS says, or as most have. */
export const lineWidth = (): number => process.stdout.columns ?? (Number.parseInt(process.env['COLUMNS'] ?? '', 10) || 80)

/** Columns of text are not made narrower than this, unless they are; the first, of names, not as narrow. */
const LEAST_WIDTH = 12
const LEAST_OF_NAMES = 24
const GAP = '  '

/**
 * Rows in aligned columns under their titles; columns without any content are left out. Where lines would be
 * longer than `width`, text goes on below itself; columns for which there is no room then follow as another
 * table, with the first column again.
 */
export function table(
  columns: readonly Column[],
  raw: readonly (readonly string[])[],
  indent = GAP,
  width = Number.POSITIVE_INFINITY,
): string[] {
  // Before their widths are measured.
  const rows = raw.map((cells) => cells.map(printable))
  const used = columns.flatMap((column, i) => {
    if (!rows.some((row) => row[i] !== '')) return []
    const cells = [column.title, ...rows.map((row) => row[i]!)]
    const natural = cells.reduce((most, cell) => Math.max(most, cell.length), 0)
    return [{ cells, natural, align: column.align ?? 'left' }]
  })
  const room = Math.max(LEAST_WIDTH, width - indent.length)
  const leastOf = (column: Cells): number =>
    column.align === 'right' ? column.natural : Math.min(column.natural, column === used[0] ? LEAST_OF_NAMES : LEAST_WIDTH)
  const parts: Cells[][] = []
  for (const column of used) {
    const part = parts.at(-1)
    if (part !== undefined && widthOf([...part, column].map(leastOf)) <= room) part.push(column)
    else parts.push(part === undefined ? [column] : [used[0]!, column])
  }
  return parts.flatMap((part) => {
    const widths = part.map(({ natural }) => natural)
    // The widest gives way first.
    for (let over = widthOf(widths) - room; over > 0; over--) {
      const [widest] = part
        .map((column, i) => ({ i, spare: widths[i]! > leastOf(column) ? widths[i]! : 0 }))
        .toSorted((a, b) => b.spare - a.spare)
      if (widest!.spare === 0) break
      widths[widest!.i]!--
    }
    return Array.from({ length: rows.length + 1 }, (_, row) => linesOf(part, widths, row)).flatMap((lines) =>
      lines.map((line) => indent + line),
    )
  })
}

/** A column: its title and the cells below it. */
interface Cells {
  readonly cells: readonly string[]
  readonly natural: number
  readonly align: 'left' | 'right'
}

const widthOf = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1))

function linesOf(columns: readonly Cells[], widths: readonly number[], row: number): string[] {
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

/** Text in lines of at most so many characters, broken between words where words are short enough. */
export function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/(?<=\S)(?=\s)/)) {
    if (line !== '' && line.length + word.length > width) {
      lines.push(line)
      line = ''
    }
    // Whole code points: half of one is no character.
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
