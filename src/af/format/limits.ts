import { type Checks, checkOptions } from '../../core/options.ts'
import { READ_LIMIT_CHECKS, READ_LIMITS } from '../../engine/limits.ts'

/**
 * Bounds of what a file may ask for. All that goes beyond is refused before anything of its size is fetched
 * or allocated.
 */
export interface Limits {
  /**
   * Bytes of the footers of all layers together, of the statistics, and of each table of segments; 48 MiB by
   * default, which is a million chunks of four axes, 2 GiB at most. A flush that would pass it is refused. At
   * worst an open container keeps 13 times these bytes, 624 MiB by default, and takes 16 times, 768 MiB,
   * while it is opened, for which the thread is not given away: 45 ms for each MiB, 2 s by default.
   */
  readonly footerBytes?: number
  /**
   * Levels of lists in a data type; 64 by default, 256 at most. At worst each is a few calls on the stack,
   * which has room for the most.
   */
  readonly typeDepth?: number
  /**
   * Decoded bytes of a block; 1 GiB by default, 2 GiB at most. At worst reading one takes 4 times these
   * bytes, 4 GiB by default: as stored and decoded, in JavaScript's memory and in that of the kernels. A
   * `MemoryBudget` bounds how many are read.
   */
  readonly blockBytes?: number
  /**
   * Elements of an array that one operation may go through, those that nobody wrote included where it has no
   * shorter way for them, as reductions of containers and `where` have; 2^40 by default. At worst an
   * operation takes the time of so many elements, hours by default, but gives way to others and heeds its
   * signal. Opening and slicing larger arrays is not bounded by this.
   */
  readonly elements?: number
  /**
   * Sidecars of a container; 10 000 by default. At worst each costs two requests when it is opened. What they
   * keep together is bounded by `footerBytes`.
   */
  readonly layers?: number
}

export const DEFAULT_LIMITS: Required<Limits> = { ...READ_LIMITS, footerBytes: 48 * 2 ** 20, typeDepth: 64, layers: 10_000 }

/** The stack takes no deeper types. */
const CHECKS: Checks<Limits> = {
  ...READ_LIMIT_CHECKS,
  footerBytes: `integer from 0 to ${2 ** 31}`,
  typeDepth: 'integer from 0 to 256',
  layers: `integer from 0 to ${2 ** 32 - 1}`,
}

/** @throws InvalidArgumentError */
export function withDefaultLimits(limits: Limits = {}): Required<Limits> {
  checkOptions('limits', limits, CHECKS)
  const given = Object.entries(limits).filter(([, value]) => value !== undefined)
  return { ...DEFAULT_LIMITS, ...Object.fromEntries(given) }
}
