import { HyperslabError } from '../../core/errors.ts'
import { absolutePath } from '../../runtime/absolute-path.ts'
import { resolveLocation } from '../../runtime/location.ts'
import { formatIn } from '../../runtime/place-format.ts'
import { placesIn } from '../job-operation.ts'
import type { JobPlan } from '../job-plan.ts'

/** Folders, with all below them, and files. */
export type Allowed = readonly string[]

/**
 * @throws InvalidArgumentError for a plan that names a place which is not among those allowed, and for
 *   references, which may name any
 */
export async function checkAllowed({ operation, scratch }: JobPlan, allow: Allowed): Promise<void> {
  const { sources, target } = placesIn(operation)
  for (const location of [...sources, target, scratch])
    if (location !== undefined && !allow.some((each) => lies(location, each)))
      refuse('this worker may not touch this place', location, allow)
  for (const location of sources) {
    const place = await resolveLocation(location)
    try {
      if ((await formatIn(place)) === 'references')
        refuse('this worker may touch some places only, and references may name others', location, allow)
    } finally {
      await place.store.close?.()
    }
  }
}

function refuse(text: string, location: string, allow: Allowed): never {
  throw new HyperslabError('InvalidArgumentError', text, { file: location, actual: location, expected: allow })
}

/** Whether a location is one that is allowed, or lies below it. No part of it may lead upwards. */
function lies(location: string, allowed: string): boolean {
  const [place, folder] = [plain(location), plain(allowed)]
  if (/(^|[/\\])\.\.([/\\]|$)/.test(decoded(place))) return false
  return place === folder || place.startsWith(folder.endsWith('/') ? folder : `${folder}/`)
}

/** Paths and `file:` URLs as absolute paths, other URLs with their scheme and host in lower case. */
function plain(location: string): string {
  const path = absolutePath(location)
  const [, scheme, host, rest] = /^([a-z][a-z0-9+.-]+):\/\/([^/?#]*)(.*)$/is.exec(path) ?? []
  if (scheme === undefined) return path
  if (scheme.toLowerCase() === 'file') return decoded(rest!)
  return `${scheme.toLowerCase()}://${scheme.toLowerCase() === 's3' ? host : host!.toLowerCase()}${rest}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
