import { HyperslabError } from './errors.ts'
import { encodeNames } from './url-names.ts'

/** Options for joining a foreign key. */
export interface ForeignKeyOptions {
  /** Whether keys become Windows paths, where more names lead to another place. */
  readonly windowsNames?: boolean | undefined
  /** Whether keys are URLs with percent-encoded names. */
  readonly urlNames?: boolean | undefined
  /** Name in errors of the place that the key comes from or goes to. */
  readonly file?: string
}

/** Characters that Windows does not allow in names, such as separators and the sign of streams. */
const WINDOWS_SIGNS = /[\\:*?"<>|]/
/** Names that Windows opens as devices, with any extension. */
const WINDOWS_DEVICE = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])$/i
/** A lone surrogate. Files and URLs replace it, so that two such names become one. */
const LONE_SURROGATE = /\p{Surrogate}/u

/** Maximum number of bytes of a key in UTF-8. S3 allows 1024, and Linux 4096 in a path. */
export const MAX_KEY_BYTES = 4096

/** Maximum number of characters of a key that a message shows. */
const SHOWN = 200

/** Returns whether a key has more bytes than {@link MAX_KEY_BYTES}. */
export const isLongKey = (key: string): boolean =>
  key.length > MAX_KEY_BYTES || (3 * key.length > MAX_KEY_BYTES && new TextEncoder().encode(key).length > MAX_KEY_BYTES)

/** Returns a key as messages show it: in quotes, and cut if it is long. */
export const showKey = (key: string): string => JSON.stringify(key.length > SHOWN ? `${key.slice(0, SHOWN)}…` : key)

/**
 * Returns the reason why a name, one part of a key between slashes, is refused; undefined if it names an
 * entry of its folder and nothing else.
 */
function wrongName(name: string, windowsNames = false): string | undefined {
  if (name === '') return 'a name in it is empty'
  if (name === '.' || name === '..') return `'${name}' leads to another folder`
  if (name.includes('\0')) return 'it has a NUL character'
  if (LONE_SURROGATE.test(name)) return 'it has half of a surrogate pair'
  if (!windowsNames) return undefined
  const sign = WINDOWS_SIGNS.exec(name)?.[0]
  if (sign !== undefined) return `names of files on Windows have no '${sign}'`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Windows refuses them.
  if (/[\x01-\x1f]/.test(name)) return 'names of files on Windows have no control characters'
  if (name.endsWith('.') || name.endsWith(' ')) return 'Windows drops dots and spaces at the end of a name'
  const stem = name.slice(0, name.includes('.') ? name.indexOf('.') : name.length).trim()
  return WINDOWS_DEVICE.test(stem) ? `'${stem}' is a device on Windows` : undefined
}

/** Returns the reason why a relative key is refused; undefined if it stays below its root. */
export function wrongKey(key: string, windowsNames = false): string | undefined {
  if (isLongKey(key)) return `it has more than ${MAX_KEY_BYTES} bytes`
  for (const name of key.split('/')) {
    const wrong = wrongName(name, windowsNames)
    if (wrong !== undefined) return wrong
  }
  return undefined
}

/**
 * Joins a root and a relative key that comes from a file, an archive or a listing. All keys that are written
 * below a root are made by this function.
 * @throws FormatError for a key that is empty or absolute, leads upwards, or is not allowed at the place
 */
export function joinForeignKey(root: string, key: string, { windowsNames, urlNames, file }: ForeignKeyOptions = {}): string {
  const wrong = wrongKey(key, windowsNames)
  const own = urlNames && wrong === undefined ? encodeNames(key) : key
  if (wrong === undefined) return root === '' || root.endsWith('/') ? root + own : `${root}/${own}`
  const text = `${showKey(key)} is refused as a name below a folder: ${wrong}`
  throw new HyperslabError('FormatError', text, { ...(file !== undefined && { file }), actual: key })
}
