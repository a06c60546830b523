import { type Command, CommanderError } from 'commander'
import { type ErrorDetails, isHyperslabError } from '../../runtime/index.ts'
import { printable } from './text.ts'

/** An error in the command line itself, found without opening any file. */
export class UsageError extends Error {}

export const EXIT = { ok: 0, failed: 1, usage: 2 } as const

/** Exit codes of signals: 128 plus the number of the signal, as in shells. */
const EXIT_OF = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }

/** Line that a failed run prints on stderr, unless something was printed already, with its exit code. */
export interface CommandFailure {
  readonly line?: string
  readonly exitCode: number
}

export function toFailure(error: unknown): CommandFailure {
  // commander has already printed its message or the requested help.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage }
  if (error instanceof UsageError) return { line: oneLine(error.message), exitCode: EXIT.usage }
  if (error instanceof Interrupted) return { line: `interrupted${error.advice}`, exitCode: EXIT_OF[error.signal] }
  if (isHyperslabError(error)) return { line: oneLine(error.message), exitCode: EXIT.failed }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { line: oneLine(`unexpected ${message}`), exitCode: EXIT.failed }
}

/** An option in a message of the library, as programs write it: `overwrite`, `method: 'nearest'`. */
const OPTION = /`([\w.]+)(?:: ([^`]*))?`/g

/** Flags of the command that runs, by the name of their option. */
let flags: ReadonlyMap<string, string> = new Map()

/** Flags for options of the library that the command calls otherwise. */
const OTHER_NAMES: Readonly<Record<string, string>> = { maxBytes: 'memory', level: 'pyramidLevel' }

/** Has messages from now on name the options of this command as its flags. */
export function nameFlagsOf({ options }: Command): void {
  flags = new Map(options.flatMap((option) => (option.long == null ? [] : [[option.attributeName(), option.long] as const])))
}

/** Returns a message with its options as flags: `--overwrite`, `--method nearest`, `--not-found 403,404`. */
const withFlags = (text: string): string =>
  text.replace(OPTION, (_, name: string, value?: string) => {
    const flag = flags.get(OTHER_NAMES[name] ?? name)
    if (flag === undefined || value === 'false') return value === undefined ? name : `${name}: ${value}`
    return value === undefined || value === 'true' ? flag : `${flag} ${value.replace(/[[\]' ]/g, '')}`
  })

/** Returns a message of the library as one line that is safe to print. */
export const oneLine = (text: string): string =>
  printable(
    withFlags(text)
      .split(/[\r\n]+/)
      .flatMap((line) => line.trim() || [])
      .join(' '),
  )

/** Runs work, whose errors name the file and array. */
export async function naming<T>(label: ErrorDetails, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isHyperslabError(error) ? error.within(label) : error
  }
}

/** Advice for commands that can be resumed. */
export const RESUMABLE = '; what is written stays, and the same command goes on from there'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

type SignalName = (typeof SIGNALS)[number]

/** Reason with which work is aborted. */
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
 * Runs work that ends early, and cleans up, if the user interrupts it, the system shuts down or the terminal
 * closes.
 * @param advice end of the message
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
