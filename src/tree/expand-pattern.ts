import { HyperslabError } from '../core/errors.ts'
import { findScheme } from '../core/scheme.ts'
import type { Signal } from '../core/signal.ts'
import type { Store, StoredAt } from '../store/store.ts'
import { type Location, type LocationOptions, resolveLocation } from './location.ts'

/** Characters that make a name a pattern. */
const WILD = /[*?[]/

/** Options of `expandPattern`. */
export interface PatternOptions extends LocationOptions {
  /** Cancels the listing when it is aborted. */
  readonly signal?: Signal | undefined
}

/**
 * Returns the places whose paths match a pattern, in the order of their names. `*` is any part of one name,
 * `?` one character, and `[0-9]` one of several characters. A path without these is the place itself.
 * @throws NotFoundError if nothing matches; UnsupportedError for places that cannot be listed;
 *   InvalidArgumentError for `**`, and for a bracket that is not closed
 */
export async function expandPattern(
  pattern: string | StoredAt,
  { signal, ...options }: PatternOptions = {},
): Promise<readonly Location[]> {
  const text = typeof pattern === 'string' ? pattern : pattern.path
  if (!WILD.test(text)) return [pattern]
  if (typeof pattern === 'string' && /^https?$/.test(findScheme(pattern) ?? '')) throw notListed(pattern)
  const fixed = text.slice(0, text.lastIndexOf('/', text.search(WILD)) + 1)
  // The folder alone is resolved, because characters of patterns mean something else in URLs.
  const { store, path } =
    typeof pattern === 'string'
      ? await resolveLocation(fixed === '' ? './' : fixed, options)
      : { store: pattern.store, path: fixed }
  try {
    if (store.list === undefined) throw notListed(store.describe(text))
    const base = path === './' || path === '' || path.endsWith('/') ? path.replace(/^\.\/$/, '') : `${path}/`
    const segments = text.slice(fixed.length).split('/')
    let found = [base]
    for (const [at, segment] of segments.entries()) {
      const folders = at < segments.length - 1
      const next = await Promise.all(found.map((folder) => matching(store, folder, segment, signal)))
      found = next.flat().map((key) => (folders ? `${key}/` : key))
    }
    if (found.length === 0)
      throw new HyperslabError('NotFoundError', 'no place matches this pattern', { file: text, actual: text })
    return found.sort().map((key) => ({ store, path: key }))
  } catch (error) {
    if (typeof pattern === 'string') await store.close?.()
    throw error
  }
}

/** Returns the keys of the folder whose names match, without the slash at the end of folders. */
async function matching(store: Store, folder: string, segment: string, signal: Signal | undefined): Promise<string[]> {
  const literal = segment.slice(0, segment.search(WILD) < 0 ? undefined : segment.search(WILD))
  if (literal === segment) return [folder + segment]
  const test = toRegExp(segment)
  const keys = await store.list!(folder + literal, { signal, shallow: true })
  // Some stores list deeper: of their keys, the name in this folder counts.
  const names = new Set(keys.filter((key) => key.startsWith(folder)).map((key) => key.slice(folder.length).split('/', 1)[0]!))
  // As in shells, only a pattern with a dot finds hidden names.
  return [...names]
    .filter((name) => test.test(name) && (segment.startsWith('.') || !name.startsWith('.')))
    .map((name) => folder + name)
}

/** @throws InvalidArgumentError for `**`, and for a bracket that is not closed */
function toRegExp(segment: string): RegExp {
  const refuse = (why: string): never => {
    throw new HyperslabError('InvalidArgumentError', `the pattern '${segment}' ${why}`, { actual: segment })
  }
  if (segment.includes('**')) refuse('has **: write a pattern for each folder, such as */*.nc')
  let source = ''
  for (let at = 0; at < segment.length; at++) {
    const char = segment[at]!
    if (char === '*') source += '.*'
    else if (char === '?') source += '.'
    else if (char === '[') {
      const end = segment.indexOf(']', at + 2)
      if (end < 0) refuse('has a bracket that is not closed')
      const inside = segment.slice(at + 1, end)
      source += `[${inside[0] === '!' ? '^' : ''}${inside.replace(/^!/, '').replace(/[\\\]^[]/g, '\\$&')}]`
      at = end
    } else source += char.replace(/[\\^$.|+(){}\]]/g, '\\$&')
  }
  return new RegExp(`^${source}$`, 'su')
}

const notListed = (file: string): HyperslabError =>
  new HyperslabError(
    'UnsupportedError',
    'places of this kind cannot be listed, so a pattern finds none: pass a list of locations',
    {
      file,
      actual: file,
    },
  )
