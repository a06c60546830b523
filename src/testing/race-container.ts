import { ArrayFile } from '../af/file.ts'
import { type HyperslabError, isHyperslabError } from '../core/errors.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { Store } from '../store/store.ts'
import { shuffled } from './race.ts'

/** Options of `raceContainer`. */
export interface ContainerRaceOptions {
  /**
   * A store for each who takes part, numbered from 0: writers, then compactors, then readers; and -1, who
   * creates and at last reads.
   */
  storeFor(participant: number): Store
  /** The key of the container; there must be none. */
  readonly path: string
  /** Shuffles the order in which they start, and the pauses after conflicts. */
  readonly seed: number
  /** Number of writers, `compactors` and `readers` that take part: 3, 2 and 1 by default. */
  readonly writers?: number
  readonly compactors?: number
  readonly readers?: number
  /** Flushes a writer, `compactions` a compactor and `openings` a reader: 4, 2 and 4 by default. */
  readonly flushes?: number
  readonly compactions?: number
  readonly openings?: number
  /**
   * The longest pause after a first conflict, in milliseconds; doubled with each further one. 0, the default,
   * is none.
   */
  readonly pause?: number
  /**
   * Errors after which it is not known what happened, as of a store with faults; what was tried is tried
   * again. None by default.
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

/** The outcome of a race. */
export interface ContainerRace {
  /** Flushes and compactions (`compacted`) that were acknowledged. */
  readonly flushed: number
  readonly compacted: number
  /** ConflictErrors on the way there, and of readers, who have `opened` it so often. */
  readonly conflicts: number
  readonly opened: number
  /** Acknowledged flushes of which nothing was read later, and those of which `half` was. */
  readonly lost: number
  readonly half: number
  /** Openings and reads that failed by an error that is no conflict. */
  readonly unreadable: number
  /** The things that went wrong, a sentence each; all is well when there are none. */
  readonly problems: readonly string[]
}

/** How often the same flush, compaction or opening is tried before it counts as a problem. */
const ATTEMPTS = 200

/**
 * Writers, compactors and readers at one container, each with a journal of what was acknowledged. A flush
 * writes an element of an array whose chunks the writers share, and one of an array in which each has chunks
 * of its own: whoever reads one of them only has read half a flush.
 * @throws InvalidArgumentError for an option that does not fit; errors of creating the container
 */
export async function raceContainer(options: ContainerRaceOptions): Promise<ContainerRace> {
  checkOptions('raceContainer', options, CHECKS)
  const race = new Race(options)
  await race.create()
  await race.run()
  return race.result()
}

/**
 * False when changes of parts of chunks were built on what another writer has compacted away: they are given
 * up, and the file is opened anew.
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
  /** How many flushes of each writer were acknowledged. */
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
    file.define('shared', { dtype: 'uint8', shape: [flushes, writers], chunkShape: [2, writers] })
    file.define('own', { dtype: 'uint8', shape: [writers, flushes], chunkShape: [1, 1] })
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
        // What a handle holds back after a failure is written again, too.
        await file!.array('shared').set([i, writer], i + 1)
        await file!.array('own').set([writer, i], i + 1)
        await file!.flush()
      })
      if (!done) break
      this.#journal[writer]!++
      this.#counts.flushed++
      // Now and then by a handle that knows nothing.
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

  /** Opens anew, reads all, and compares with what was acknowledged before. */
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

  /** Tries until there is no conflict; what else fails is a problem. */
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

  /** A whole number from 0, below a limit. */
  #draw(limit: number): number {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0
    return Math.floor((this.#random / 2 ** 32) * limit)
  }
}
