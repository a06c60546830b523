/** Bounds that every format of chunks has; see the options of each. */
export const READ_LIMITS = { blockBytes: 2 ** 30, elements: 2 ** 40 }

/** Kernel memory is 32 bits wide, and a decoded block must leave room in it for everything else. */
export const READ_LIMIT_CHECKS = { blockBytes: `integer from 0 to ${2 ** 31}`, elements: 'integer from 0' }
