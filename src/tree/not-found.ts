import { invalidArgument } from '../core/errors.ts'
import { checkValue } from '../core/options.ts'

/** Whether a location is a URL of a server that answers with HTTP statuses. */
export function isRemote(location: unknown): boolean {
  const text = typeof location === 'string' ? location : (Object(location) as { href?: unknown }).href
  return typeof text === 'string' && /^(https?|s3):\/\//i.test(text)
}

/**
 * @throws InvalidArgumentError for `notFound` at a place that is not a URL, because a store has statuses of
 *   its own
 */
export function checkStatuses(call: string, location: unknown, notFound: unknown): void {
  checkValue(call, 'notFound', notFound, 'list of integers')
  if (isRemote(location)) return
  const text = `${call}: notFound is for URLs of http, https and s3; for another place, pass it to its store`
  invalidArgument(text, location)
}
