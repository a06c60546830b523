import { once } from 'node:events'
import { inspect } from 'node:util'
import { printable, printableLines, printablePicture } from './printable.ts'

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
