import { ArrayFile } from '../af/file.ts'
import { type HyperslabError, isHyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { Store } from '../store/store.ts'
import { shuffled } from './race.ts'

/** Options of {@link raceContainer}. */
export interface ContainerRaceOptions {
  /**
   * Returns the store of a participant, numbered from 0: writers, then compactors, then readers. Participant
   * -1 creates the container and reads it at the end.
   */
  storeFor(participant: number): Store
  /** Key of the container, which must not exist. */
  readonly path: string
  /** Seed for the order of starts and the pauses after conflicts. */
  readonly seed: number
  /** Number of writers, `compactors` and `readers`. Defaults: 3, 2 and 1. */
  readonly writers?: number
  readonly compactors?: number
  readonly readers?: number
  /**
   * Number of flushes of a writer, `compactions` of a compactor and `openings` of a reader. Defaults: 4, 2
   * and 4.
   */
  readonly flushes?: number
  readonly compactions?: number
  readonly openings?: number
  /** Longest pause after a first conflict, in ms. It doubles with each further conflict. Default: 0. */
  readonly pause?: number
  /**
   * Whether an error leaves the outcome unknown, as those of a store with faults do. The work is then tried
   * again. Default: no errors.
   */
  readonly transient?: (error: unknown) => boolean
}

const CHECKS: Checks<ContainerRaceOptions> = {
  storeFor: 'function',
  path: 'string',
  seed: 'number',
  writers: 'integer from 0',
  compactors: 'integer from 0',
  readers: 'integer from 0',
  flushes: 'integer from 0',
  compactions: 'integer from 0',
  openings: 'integer from 0',
  pause: 'number from 0',
  transient: 'function',
}

/** Result of a race. */
export interface ContainerRace {
  /** Number of acknowledged flushes and of acknowledged compactions (`compacted`). */
  readonly flushed: number
  readonly compacted: number
  /** Number of ConflictErrors of all participants, and of openings by readers (`opened`). */
  readonly conflicts: number
  readonly opened: number
  /** Number of acknowledged flushes that a later read missed, and of flushes of which a read saw `half`. */
  readonly lost: number
  readonly half: number
  /** Number of openings and reads that failed by an error other than a conflict. */
  readonly unreadable: number
  /** Sentences about failures; empty after a successful race. */
  readonly problems: readonly string[]
}

/** Attempts of one flush, compaction or opening before it counts as a problem. */
const ATTEMPTS = 200

/**
 * Runs writers, compactors and readers on one container, and compares reads with the acknowledged flushes. A
 * flush writes one element in a chunk shared with other writers, and one in a chunk of its writer alone. A
 * reader that sees only one of them has read half a flush.
 * @throws InvalidArgumentError for an invalid option; errors of creating the container
 */
export async function raceContainer(options: ContainerRaceOptions): Promise<ContainerRace> {
  checkOptions('raceContainer', options, CHECKS)
  const race = new Race(options)
  await race.create()
  await race.run()
  return race.result()
}

/**
 * Refreshes a file. Returns false if its changes of parts of chunks were based on data that another writer
 * has compacted. The caller then drops them and opens the file again.
 */
async function isRefreshed(file: ArrayFile): Promise<boolean> {
  try {
    await file.refresh()
    return true
  } catch (error) {
    if (isHyperslabError(error, 'ConflictError')) return false
    throw error
  }
}

class Race {
  readonly #options: Required<ContainerRaceOptions>
  readonly #problems: string[] = []
  /** Number of acknowledged flushes of each writer. */
  readonly #journal: number[]
  readonly #counts = { flushed: 0, compacted: 0, conflicts: 0, opened: 0, lost: 0, half: 0, unreadable: 0 }
  #random: number

  constructor(options: ContainerRaceOptions) {
    const defaults = {
      writers: 3,
      compactors: 2,
      readers: 1,
      flushes: 4,
      compactions: 2,
      openings: 4,
      pause: 0,
      transient: () => false,
    }
    this.#options = { ...defaults, ...options }
    this.#journal = new Array<number>(this.#options.writers).fill(0)
    this.#random = options.seed >>> 0
  }

  async create(): Promise<void> {
    const { storeFor, path, writers, flushes } = this.#options
    const file = await ArrayFile.create(storeFor(-1), path)
    file.createArray('shared', { dtype: 'uint8', shape: [flushes, writers], chunks: [2, writers] })
    file.createArray('own', { dtype: 'uint8', shape: [writers, flushes], chunks: [1, 1] })
    await file.flush()
    await file.close()
  }

  async run(): Promise<void> {
    const { writers, compactors, readers, seed } = this.#options
    const parts = [
      ...Array.from({ length: writers }, (_, i) => () => this.#write(i)),
      ...Array.from({ length: compactors }, (_, i) => () => this.#compact(writers + i)),
      ...Array.from({ length: readers }, (_, i) => () => this.#read(writers + compactors + i)),
    ]
    await Promise.all(shuffled(parts.length, seed).map((i) => parts[i]!()))
  }

  async result(): Promise<ContainerRace> {
    await this.#open(-1)
    return { ...this.#counts, problems: this.#problems }
  }

  async #write(writer: number): Promise<void> {
    const { flushes } = this.#options
    let file = await this.#reopened(writer)
    for (let i = 0; i < flushes && file !== undefined; i++) {
      const done = await this.#try(`flush ${i} of writer ${writer}`, async (attempt) => {
        if (attempt > 0 && !(await isRefreshed(file!))) {
          await file!.close()
          file = await this.#reopened(writer)
        }
        // After a failure, this also rewrites elements that the handle still holds.
        await file!.array('shared').set([i, writer], i + 1)
        await file!.array('own').set([writer, i], i + 1)
        await file!.flush()
      })
      if (!done) break
      this.#journal[writer]!++
      this.#counts.flushed++
      // Sometimes continue with a new handle.
      if (this.#draw(3) === 0) {
        await file.close()
        file = await this.#reopened(writer)
      }
    }
    await file?.close()
  }

  async #compact(compactor: number): Promise<void> {
    const { compactions } = this.#options
    let file = await this.#reopened(compactor)
    for (let i = 0; i < compactions && file !== undefined; i++) {
      const done = await this.#try(`compaction ${i} by ${compactor}`, async (attempt) => {
        if (attempt > 0) await file!.refresh()
        await file!.compact()
      })
      if (!done) break
      this.#counts.compacted++
      if (this.#draw(2) === 0) {
        await file.close()
        file = await this.#reopened(compactor)
      }
    }
    await file?.close()
  }

  async #read(reader: number): Promise<void> {
    for (let i = 0; i < this.#options.openings; i++) await this.#open(reader)
  }

  async #reopened(participant: number): Promise<ArrayFile | undefined> {
    let file: ArrayFile | undefined
    await this.#try(`opening by ${participant}`, async () => {
      file = await ArrayFile.open(this.#options.storeFor(participant), this.#options.path)
    })
    return file
  }

  /** Opens the container, reads all elements, and compares them with the flushes acknowledged before. */
  async #open(participant: number): Promise<void> {
    const { storeFor, path } = this.#options
    const acknowledged = [...this.#journal]
    await this.#try(`reading by ${participant}`, async () => {
      const file = await ArrayFile.open(storeFor(participant), path)
      try {
        const shared = (await file.array('shared', 'uint8').get([null, null])).data
        const own = (await file.array('own', 'uint8').get([null, null])).data
        this.#judge(participant, acknowledged, shared, own)
      } finally {
        await file.close()
      }
    })
    this.#counts.opened++
  }

  #judge(participant: number, acknowledged: readonly number[], shared: ArrayLike<number>, own: ArrayLike<number>): void {
    const { writers, flushes } = this.#options
    for (let writer = 0; writer < writers; writer++) {
      for (let i = 0; i < flushes; i++) {
        const found = [shared[i * writers + writer]!, own[writer * flushes + i]!]
        const here = found.filter((value) => value === i + 1).length
        if (here === 2 || (here === 0 && i >= acknowledged[writer]! && found.every((value) => value === 0))) continue
        this.#counts[here === 0 ? 'lost' : 'half']++
        const state = i < acknowledged[writer]! ? 'was acknowledged' : 'was not acknowledged'
        this.#problems.push(`flush ${i} of writer ${writer} ${state}, and ${participant} reads ${found.join(' and ')}`)
      }
    }
  }

  /** Repeats work until it meets no conflict. Any other failure is a problem. */
  async #try(what: string, work: (attempt: number) => Promise<void>): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        await work(attempt)
        return true
      } catch (error) {
        const conflict = isHyperslabError(error, 'ConflictError')
        if (!conflict && !this.#options.transient(error)) {
          this.#counts.unreadable++
          this.#problems.push(`${what}: ${(error as HyperslabError).message}`)
          return false
        }
        if (conflict) this.#counts.conflicts++
        await this.#pause(attempt)
      }
    }
    this.#problems.push(`${what}: ${ATTEMPTS} conflicts`)
    return false
  }

  async #pause(attempt: number): Promise<void> {
    const { pause } = this.#options
    const ms = (pause * 2 ** Math.min(attempt, 5) * this.#draw(1000)) / 1000
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
  }

  /** Draws a random integer from 0, below a limit. */
  #draw(limit: number): number {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0
    return Math.floor((this.#random / 2 ** 32) * limit)
  }
}
