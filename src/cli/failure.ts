import { CommanderError } from 'commander'
import { isHyperslabError } from '../core/errors.ts'
import { printable } from './output.ts'

/** The command line itself is wrong: seen without looking at any file. */
export class UsageError extends Error {}

export const EXIT = { ok: 0, failed: 1, usage: 2 } as const

/** 128 and the number of the signal, as shells have it. */
const EXIT_OF = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/** What a failed run prints on stderr (nothing where it was printed already) and exits with. */
export interface CommandFailure {
  readonly line?: string
  readonly exitCode: number
}

export function failureOf(error: unknown): CommandFailure {
  // commander has printed its message, or the help that was asked for.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage }
  if (error instanceof UsageError) return { line: oneLine(error.message), exitCode: EXIT.usage }
  if (error instanceof Interrupted) return { line: `interrupted${error.advice}`, exitCode: EXIT_OF[error.signal] }
  if (isHyperslabError(error)) return { line: oneLine(error.message), exitCode: EXIT.failed }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { line: oneLine(`unexpected ${message}`), exitCode: EXIT.failed }
}

export const oneLine = (text: string): string =>
  printable(
    text
      .split(/[\r\n]+/)
      .flatMap((line) => line.trim() || [])
      .join(' '),
  )

/** For commands that go on where they were ended. */
export const RESUMABLE = '; what is written stays, and the same command goes on from there'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

type SignalName = (typeof SIGNALS)[number]

/** What work is aborted with. */
class Interrupted extends Error {
  override readonly name = 'AbortError'
  readonly signal: SignalName
  readonly advice: string

  constructor(signal: SignalName, advice: string) {
    super(`ended by ${signal}`)
    this.signal = signal
    this.advice = advice
  }
}

/**
 * Runs work that ends early, and cleans up, when the user interrupts it, the system ends or the terminal is
 * closed.
 * @param advice what the message goes on with
 */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>, advice = ''): Promise<T> {
  const interrupt = new AbortController()
  const listeners = SIGNALS.map((name) => [name, (): void => interrupt.abort(new Interrupted(name, advice))] as const)
  for (const [name, listener] of listeners) process.once(name, listener)
  try {
    return await work(interrupt.signal)
  } finally {
    for (const [name, listener] of listeners) process.off(name, listener)
  }
}
