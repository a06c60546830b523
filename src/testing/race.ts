import { ArrayFile } from '../af/file.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { Store } from '../store/store.ts'
import { checkError, equal } from './check.ts'

const WRITERS = 12

/** Options of {@link raceWriters}. */
export interface RaceOptions {
  /** Returns the store of a writer, numbered from 0, or of the reader, -1. Participants may share a store. */
  storeFor(writer: number): Store
  /** Key of the container, which must not exist. */
  readonly path: string
  /** Seed for the order in which writers start. */
  readonly seed: number
}

const CHECKS: Checks<RaceOptions> = { storeFor: 'function', path: 'string', seed: 'number' }

/**
 * Runs one race of twelve writers. Each opens the same container, writes one element of a shared chunk, and
 * flushes, again after each conflict. Checks that exactly one writer wins each sidecar number, that the
 * others get ConflictError, and that no element is lost.
 * @returns number of conflicts; without any, the writers did not race
 * @throws InvalidArgumentError for an invalid option; Error if the store breaks a promise
 */
export async function raceWriters(options: RaceOptions): Promise<number> {
  checkOptions('raceWriters', options, CHECKS)
  const { storeFor, path, seed } = options
  const creator = await ArrayFile.create(storeFor(-1), path)
  // Neighbours share a chunk and must not undo each other's writes.
  creator.createArray('x', { dtype: 'uint8', shape: [WRITERS], chunks: [5] })
  await creator.flush()
  await creator.close()
  const order = shuffled(WRITERS, seed)
  const files = await Promise.all(order.map((writer) => ArrayFile.open(storeFor(writer), path)))
  const conflicts = await Promise.all(order.map((writer, i) => writeOwn(files[i]!, writer)))
  const reader = await ArrayFile.open(storeFor(-1), path)
  equal(
    (await reader.array('x', 'uint8').get()).data,
    Uint8Array.from({ length: WRITERS }, (_, i) => i + 1),
  )
  equal(
    reader.layers().map(({ number }) => number),
    Array.from({ length: WRITERS + 1 }, (_, i) => i),
  )
  equal(await reader.stats('x'), { min: 1, max: WRITERS, nullCount: 0, rowCount: WRITERS })
  for (const file of [...files, reader]) await file.close()
  return conflicts.reduce((sum, count) => sum + count, 0)
}

/** Writes one element and flushes, again after each conflict. Returns the number of conflicts. */
async function writeOwn(file: ArrayFile, index: number): Promise<number> {
  await file.array('x').set([index], index + 1)
  for (let conflicts = 0; ; conflicts++) {
    const error: unknown = await file.flush().catch((reason: unknown) => reason)
    if (error === undefined) return conflicts
    checkError(error, 'ConflictError')
    await file.refresh()
  }
}

export function shuffled(length: number, seed: number): number[] {
  const order = Array.from({ length }, (_, i) => i)
  let state = seed >>> 0
  for (let last = length - 1; last > 0; last--) {
    // Linear congruential generator, of which the upper bits are random.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    const other = Math.floor((state / 2 ** 32) * (last + 1))
    ;[order[last], order[other]] = [order[other]!, order[last]!]
  }
  return order
}
