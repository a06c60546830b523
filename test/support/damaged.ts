import { expect } from 'vitest'
import { type ErrorTag, isHyperslabError } from '../../src/core/errors.ts'
import { random } from '../af/rkyv/support.ts'

/** A damaged file. */
export interface DamagedFile {
  /** Name of the file that was damaged. */
  readonly name: string
  /** Reads all of it; returns the tags of its errors, or `read`. */
  read(): Promise<string>
  /** Compares what reading took with its bounds. */
  check(what: string): void
}

export interface DamageOptions {
  readonly seed: number
  /** Files that are damaged; further ones are until `ms` are over. */
  readonly count: number
  readonly ms: number
  /** Limit of the time of one file. */
  readonly mostMs: number
}

/** Files after which a soak prints a line, so that its log says how far an interrupted one came. */
const PROGRESS = 10_000

/** Reads damaged files; returns how often each tag ended the reading. Prints it with the slowest file. */
export async function readDamagedFiles(
  format: string,
  { seed, count, ms, mostMs }: DamageOptions,
  draw: (next: (limit: number) => number) => Promise<DamagedFile>,
): Promise<Readonly<Record<string, number>>> {
  const next = random(seed)
  const counts: Record<string, number> = {}
  let slowest = { ms: 0, what: '' }
  const end = Date.now() + ms
  for (let done = 0; done < count || Date.now() < end; done++) {
    const file = await draw(next)
    const what = `${file.name}, case ${done} of seed ${seed}`
    const start = performance.now()
    const tags = await file.read().catch((error: unknown) => {
      throw new Error(what, { cause: error })
    })
    const took = performance.now() - start
    if (took > slowest.ms) slowest = { ms: took, what }
    expect(took, what).toBeLessThan(mostMs)
    file.check(what)
    counts[tags] = (counts[tags] ?? 0) + 1
    if ((done + 1) % PROGRESS === 0) console.log(`${format}: ${done + 1} files of seed ${seed}`)
  }
  console.log(`${format}: ${JSON.stringify(counts)}; slowest ${slowest.ms.toFixed(0)} ms: ${slowest.what}`)
  expect(counts['read']).toBeGreaterThan(0)
  return counts
}

/**
 * Reads by `read`, which notes the errors that do not end it.
 * @param expected tags of errors; others are thrown
 * @returns the tags of all errors, or `read`
 */
export async function collectTags(
  expected: readonly ErrorTag[],
  read: (note: (error: unknown) => void) => Promise<void>,
): Promise<string> {
  const tags = new Set<string>()
  const note = (error: unknown): void => {
    if (!isHyperslabError(error, ...expected)) throw error
    tags.add(error.tag)
  }
  await read(note).catch(note)
  return [...tags].sort().join(' ') || 'read'
}
