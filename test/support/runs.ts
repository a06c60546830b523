/** Whether tests try all of their cases, as in `.ci/run`. */
export const isFull = process.env['HYPERSLAB_RUNS'] === 'full'

/**
 * How many cases a property is tried on.
 *
 * @param full how many where `HYPERSLAB_RUNS` is `full`, as in `.ci/run`; otherwise a quarter of them
 */
export const runs = (full: number): number => (isFull ? full : Math.ceil(full / 4))

/** All of the cases listed where `HYPERSLAB_RUNS` is `full`, otherwise every fourth. */
export const some = <T>(cases: readonly T[]): readonly T[] => (isFull ? cases : cases.filter((_, i) => i % 4 === 0))
