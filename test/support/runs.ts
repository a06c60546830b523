/**
 * How many cases a property is tried on.
 *
 * @param full how many where `HYPERSLAB_RUNS` is `full`, as in `.ci/run`; otherwise a quarter of them
 */
export const runs = (full: number): number => (process.env['HYPERSLAB_RUNS'] === 'full' ? full : Math.ceil(full / 4))
