import { CommanderError } from 'commander'
import { isHyperslabError } from '../core/errors.js'
import { printable } from './printable.js'

/** The command line itself is wrong: seen without looking at any file. */
export class UsageError extends Error {}

export const EXIT = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

/** What a failed run prints on stderr (nothing where it was printed already) and exits with. */
export interface Failure {
  readonly line?: string
  readonly exitCode: number
}

export function failureOf(error: unknown): Failure {
  // commander has printed its message, or the help that was asked for.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? EXIT.ok : EXIT.usage }
  if (error instanceof UsageError) return { line: oneLine(error.message), exitCode: EXIT.usage }
  if (error instanceof Error && error.name === 'AbortError') return { line: 'interrupted', exitCode: EXIT.interrupted }
  if (isHyperslabError(error)) return { line: oneLine(error.message), exitCode: EXIT.failed }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return { line: oneLine(`unexpected ${message}`), exitCode: EXIT.failed }
}

export const oneLine = (text: string): string => printable(text.trim().replace(/\s*[\r\n]+\s*/g, ' '))
