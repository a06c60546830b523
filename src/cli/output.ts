import { once } from 'node:events'

const BATCH_LENGTH = 1 << 16

/** Writes to stdout no faster than it takes the bytes. */
export async function print(pieces: Iterable<string>): Promise<void> {
  let batch = ''
  for (const piece of pieces) {
    batch += piece
    if (batch.length < BATCH_LENGTH) continue
    await printBytes(batch)
    batch = ''
  }
  if (batch !== '') await printBytes(batch)
}

export async function printLines(lines: Iterable<string>): Promise<void> {
  await print([...lines].map((line) => `${line}\n`))
}

export async function printBytes(bytes: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain')
}

/** Whoever reads stdout may stop early (`| head`), which is no failure. */
export function endQuietlyOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}
