import { HyperslabError } from '../../../core/errors.ts'
import { quoted } from '../../../core/quoted.ts'

/** Maximum length of a name in bytes, as in the netCDF library. */
const MOST_BYTES = 256

/**
 * Returns a name in the normal form that the format requires (NFC).
 * @param what the kind of the named object, for messages, such as `the dimension`
 * @throws InvalidArgumentError for names that NetCDF does not allow
 */
export function checkedName(name: string, what: string, array: string | undefined): string {
  const own = name.normalize('NFC')
  const fault = findFault(own)
  if (fault === undefined) return own
  const text = `${what} ${quoted(name)} has a name that NetCDF does not allow: ${fault}; rename it`
  throw new HyperslabError('InvalidArgumentError', text, { ...(array !== undefined && { array }), actual: name })
}

function findFault(name: string): string | undefined {
  if (name === '') return 'it is empty'
  if (/\p{Surrogate}/u.test(name)) return 'it is no valid Unicode'
  if (name.includes('/')) return 'it has a slash'
  // If the first character is ASCII, it must be a letter, a digit or an underscore.
  if (name.charCodeAt(0) < 0x80 && !/^\w/.test(name)) return 'it begins with neither a letter, nor a digit, nor an underscore'
  if ([...name].some((letter) => letter < ' ' || letter === '\u007f')) return 'it has a control character'
  if (name.endsWith(' ')) return 'it ends with a space'
  const bytes = new TextEncoder().encode(name).length
  return bytes > MOST_BYTES ? `it has ${bytes} bytes, more than ${MOST_BYTES}` : undefined
}

/**
 * Checks that names in normal form differ from each other.
 * @throws InvalidArgumentError
 */
export function checkDistinctNames(names: readonly string[], what: string, array: string | undefined): void {
  const seen = new Set<string>()
  for (const name of names) {
    if (seen.has(name)) {
      const text = `two ${what} have the name ${quoted(name)} in NetCDF, whose names are in the normal form NFC; rename one of them`
      throw new HyperslabError('InvalidArgumentError', text, { ...(array !== undefined && { array }), actual: name })
    }
    seen.add(name)
  }
}
