import { once } from 'node:events'
import { inspect } from 'node:util'

const BATCH_LENGTH = 1 << 16

// Names, values and messages come out of files: whatever is written as text goes through `printable` here,
// and nowhere else in the command.

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

/** Rows in aligned columns under their titles; columns without any content are left out. */
export function table(columns: readonly Column[], raw: readonly (readonly string[])[], indent = '  '): string[] {
  // Before their widths are measured.
  const rows = raw.map((cells) => cells.map(printable))
  const used = columns.map((_, i) => rows.some((row) => row[i] !== ''))
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: readonly string[]): string =>
    indent +
    cells
      .map((cell, i) => (columns[i]!.align === 'right' ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .filter((_, i) => used[i])
      .join('  ')
      .trimEnd()
  return [line(columns.map(({ title }) => title)), ...rows.map(line)]
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
