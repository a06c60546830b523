import { HyperslabError } from '../core/errors.ts'
import { wrongKey } from '../core/foreign-key.ts'
import { overlay } from '../core/overlay.ts'
import { withoutEndings } from '../core/text.ts'
import { checkUnlinked, type TestedFolders } from './links.ts'
import type { LocalFiles, SharedUploads, Stage, Store, WritableStore } from './store.ts'
import { recordConfined } from './unconfined.ts'

/**
 * Use of a key by a method. Methods that read or write follow links. Methods that test or remove act on a
 * link itself. Methods that move have two keys. Methods that are `free` are not checked, because they only
 * compute or return names.
 */
type Use = 'reads' | 'writes' | 'tests' | 'removes' | 'moves' | 'free'

/** Names of the methods of a type. */
type MethodsOf<T> = { [K in keyof T]-?: NonNullable<T[K]> extends (...args: never[]) => unknown ? K : never }[keyof T]

/** Names of the methods of a store, of its parts and of its stages. */
type Method = MethodsOf<WritableStore> | MethodsOf<LocalFiles> | MethodsOf<SharedUploads> | MethodsOf<Stage>

/** Uses of all methods. A method without a row does not compile. */
const USES: Readonly<Record<Method, Use>> = {
  describe: 'free',
  identify: 'free',
  warnings: 'free',
  stat: 'reads',
  getRange: 'reads',
  getRanges: 'reads',
  getTail: 'reads',
  getStart: 'reads',
  get: 'reads',
  list: 'reads',
  answersAlike: 'reads',
  put: 'writes',
  delete: 'removes',
  copy: 'moves',
  rename: 'moves',
  stage: 'writes',
  conditionalWrites: 'free',
  close: 'free',
  localPath: 'free',
  // Reads only what a checked read has opened.
  quickReads: 'free',
  recycle: 'free',
  makeFolder: 'writes',
  removeFolder: 'removes',
  leftovers: 'reads',
  foldedNames: 'free',
  realPath: 'free',
  isLink: 'tests',
  append: 'free',
  read: 'free',
  prepare: 'free',
  publish: 'writes',
  discard: 'free',
  check: 'writes',
  begin: 'writes',
  open: 'reads',
  complete: 'writes',
  abort: 'removes',
}

/** Methods whose key is a prefix, which may end within a name. */
const PREFIXED: readonly string[] = ['list', 'open']

const findUse = (method: string): Use => (USES as Readonly<Record<string, Use>>)[method] ?? 'free'

/**
 * Returns the same store, which refuses keys that lead out of a root by their names or by symbolic links. The
 * root itself may be a link, which is resolved once. Keys beside the root, such as sidecars, stay in its
 * folder. Nothing behind a link below the root is removed or moved, wherever the link leads. If another
 * process replaces a folder with a link between the check and the use, this is not noticed.
 * @param options `followLinks`: whether to read and write behind links that lead out of the root
 */
export function confined<S extends Store>(
  store: S,
  root: string,
  { followLinks = false }: { readonly followLinks?: boolean | undefined } = {},
): S {
  const realPath = followLinks ? undefined : store.files?.realPath.bind(store.files)
  const lastSeparator = (path: string): number =>
    Math.max(path.lastIndexOf('/'), store.files?.windowsNames ? path.lastIndexOf('\\') : -1)
  const folderAt = (path: string): string => path.slice(0, lastSeparator(path) + 1)
  const base = root === '' ? '' : withoutEndings(root, '/') || '/'
  const below = base === '' || base === '/' ? base : `${base}/`
  const resolved = new Map<string, Promise<string>>()
  const boundary = (path: string): Promise<string> => {
    const known = resolved.get(path) ?? realPath!(path)
    resolved.set(path, known)
    return known
  }
  const refuse = (key: string, text: string): never => {
    throw new HyperslabError('UnsupportedError', text, { file: store.describe(key), expected: root })
  }
  const check = async (key: string, method: string): Promise<void> => {
    const path = key.endsWith('/') ? key.slice(0, -1) : key
    if (path === base || key === below) return
    const start = path.startsWith(below) ? below : folderAt(base)
    const name = path.slice(start.length)
    // A prefix may end within a name, which is not checked then.
    const names = PREFIXED.includes(method) && !key.endsWith('/') ? name.slice(0, Math.max(0, name.lastIndexOf('/'))) : name
    // References may name files by absolute paths below a relative root. Only the real path decides about
    // these.
    const isOtherForm = store.files !== undefined && path.startsWith('/') !== base.startsWith('/')
    const isFree = isOtherForm || names === ''
    const wrong = isFree ? undefined : path.startsWith(start) ? wrongKey(names, store.files?.windowsNames) : 'it is elsewhere'
    if (wrong !== undefined) refuse(key, `this leads out of the place that was given: ${wrong}`)
    if (removes(method) && path.startsWith(start)) await checkUnlinked(store, start, key)
    if (realPath === undefined) return
    const real = await boundary(start === below ? base || '.' : start || '.')
    const own = await realPath(actsOnLink(method) ? folderAt(path) || '.' : path)
    if (own === real || own.startsWith(/[/\\]$/.test(real) ? real : `${real}${store.files?.windowsNames ? '\\' : '/'}`)) return
    refuse(
      key,
      'a symbolic link leads out of the place that was given; name the place that it leads to, or allow it by `followLinks`',
    )
  }
  const guarded = guardedStore(store, check)
  recordConfined(guarded, store)
  return guarded
}

/** Whether a method removes or moves objects. Moves are checked as removals of both keys. */
const removes = (method: string): boolean => findUse(method) === 'removes'

/** Whether a method acts on a link itself instead of its target. */
export const actsOnLink = (method: string): boolean => removes(method) || findUse(method) === 'tests'

/**
 * Returns the same store for one operation, which writes, removes and moves nothing behind a link below a
 * root. Reads follow links. Each folder is tested once.
 */
export function unlinked<S extends Store>(store: S, root: string): S {
  if (store.files === undefined) return store
  const tested: TestedFolders = new Map()
  return guardedStore(store, async (key, method) => {
    if (removes(method) || findUse(method) === 'writes') await checkUnlinked(store, root, key, tested)
  })
}

/**
 * Returns the same store, which checks each key before use. This includes its files, its shared uploads and
 * its stages.
 * @param check called with the key and the name of the method; throws to refuse it
 */
export function guardedStore<S extends Store>(store: S, check: (key: string, method: string) => Promise<void>): S {
  const guarded = <T extends object>(part: T): T =>
    overlay(part, (name, value) => {
      if (typeof value !== 'function') return PARTS.includes(name) && value ? guarded(value as object) : value
      const use = findUse(name)
      const method = value.bind(part) as (key: string, ...rest: unknown[]) => Promise<unknown>
      if (use === 'free') return method
      return async (key: string, ...rest: unknown[]): Promise<unknown> => {
        if (use !== 'moves') await check(key, name)
        else for (const each of [key, String(rest[0])]) await check(each, 'delete')
        const result = await method(key, ...rest)
        return name === 'stage' ? guarded(result as Stage) : result
      }
    })
  return guarded(store)
}

/** Members of a store that have methods with keys of their own. */
const PARTS: readonly string[] = ['files', 'sharedUploads'] satisfies (keyof WritableStore)[]
