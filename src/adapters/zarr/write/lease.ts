/**
 * Time without a renewal, in ms, after which a claim is taken over. A process that was stopped for longer
 * loses its claim, and its append fails. Correctness does not depend on this time, only the wait does.
 */
export const CLAIM_LEASE_MS = 10_000
