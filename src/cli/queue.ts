import { Option } from 'commander'
import { UsageError } from './failure.ts'

/** Options of commands that use a queue. */
export interface QueueUrlOptions {
  /** URL of the queue; true for that of the environment. */
  readonly queue?: string | true
  readonly prefix?: string
}

/** Loads the modules of queues, which other commands do not need. */
export const loadCluster = () => import('../runtime/cluster.ts')

const VARIABLE = 'HYPERSLAB_QUEUE'

export const queueOption = () =>
  new Option(
    '--queue [url]',
    `the server of the queue: redis://host, rediss://host or postgres://host/database (default: ${VARIABLE} of the environment)`,
  )

export const prefixOption = () =>
  new Option(
    '--prefix <name>',
    'what keys of the queue begin with in Redis, and the name of its schema in PostgreSQL (default: hyperslab)',
  )

/**
 * Returns the queue of the options or the environment.
 * @throws UsageError without a URL
 */
export function queueOf({ queue, prefix }: QueueUrlOptions): { readonly url: string; readonly prefix?: string } {
  const url = typeof queue === 'string' ? queue : process.env[VARIABLE]
  if (url === undefined || url === '')
    throw new UsageError(`which queue? Give --queue redis://host, or set ${VARIABLE} in the environment`)
  return { url, ...(prefix !== undefined && { prefix }) }
}
