/** Default limits of every chunked format; see the options of each. */
export const READ_LIMITS = { blockBytes: 2 ** 30, elements: 2 ** 40 }

/** Kernel memory has 32-bit addresses, and a decoded block must leave room in it. */
export const READ_LIMIT_CHECKS = { blockBytes: `integer from 0 to ${2 ** 31}`, elements: 'integer from 0' }
