/**
 * Time without a sign of life, in ms, after which a claim is taken over. A process that was stopped for
 * longer loses its claim, and its append is refused: only waiting depends on the time, correctness does not.
 */
export const CLAIM_LEASE_MS = 10_000
