import { invalidArgument } from '../core/errors.ts'
import { checkValue } from '../core/options.ts'
import { pageAddress } from '../store/http/fetch.ts'
import { URL_CHECKS, type UrlOptions } from './url-options.ts'

/** Whether a location is a URL of a server that answers with HTTP statuses. */
export function isRemote(location: unknown): boolean {
  const text = typeof location === 'string' ? location : (Object(location) as { href?: unknown }).href
  return typeof text === 'string' && /^(https?|s3):\/\//i.test(text)
}

/**
 * @throws InvalidArgumentError for options of requests at a place that is not a URL, because a store has its
 *   own
 */
export function refuseUrlOptions(call: string, location: unknown, options: UrlOptions): void {
  const isUrl = isRemote(location) || (typeof location === 'string' && pageAddress() !== undefined)
  for (const [name, check] of Object.entries(URL_CHECKS)) {
    const value = options[name as keyof UrlOptions]
    if (value === undefined) continue
    checkValue(call, name, value, check)
    const text = `${call}: \`${name}\` is for URLs of http, https and s3; for another place, pass it to its store`
    if (!isUrl) invalidArgument(text, location)
  }
}
