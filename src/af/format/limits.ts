import { type Checks, checkOptions } from '../../core/options.ts'
import { READ_LIMIT_CHECKS, READ_LIMITS } from '../../engine/limits.ts'

/**
 * Limits of the resources that a file can request. Larger requests are rejected before anything of their size
 * is fetched or allocated.
 */
export interface Limits {
  /**
   * Bytes of the footers of all layers together, of the statistics, and of each segment table. Default: 48
   * MiB, enough for a million chunks of four axes; at most 2 GiB. A flush that would exceed it is rejected.
   * At worst, an open container keeps 13 times these bytes in memory (624 MiB by default), and opening takes
   * 16 times these bytes (768 MiB). Opening does not yield to other work of the thread: 45 ms for each MiB, 2
   * s by default.
   */
  readonly footerBytes?: number
  /**
   * Levels of lists in a data type. Default: 64; at most 256. At worst, each level takes a few calls on the
   * stack, which has room for the maximum.
   */
  readonly typeDepth?: number
  /**
   * Decoded bytes of a block. Default: 1 GiB; at most 2 GiB. At worst, reading one takes 4 times these bytes,
   * 4 GiB by default: as stored and decoded, in memory of JavaScript and of the kernels. A `MemoryBudget`
   * bounds how many blocks are read at once.
   */
  readonly blockBytes?: number
  /**
   * Elements of an array that one operation may visit. Default: 2^40. Unwritten elements count, unless the
   * operation can skip them, as reductions of containers and `findWhere` do. At worst, an operation takes the
   * time of this many elements, hours by default, but it yields to other work and obeys its signal. Opening
   * and slicing larger arrays is not limited by this.
   */
  readonly elements?: number
  /**
   * Sidecars of a container. Default: 10 000. At worst, each costs two requests when the container is opened.
   * `footerBytes` bounds their total size.
   */
  readonly layers?: number
}

export const DEFAULT_LIMITS: Required<Limits> = { ...READ_LIMITS, footerBytes: 48 * 2 ** 20, typeDepth: 64, layers: 10_000 }

/** Larger depths would overflow the stack. */
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
