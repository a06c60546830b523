import { HyperslabError } from '../core/errors.ts'
import { wrongKey } from '../core/foreign-key.ts'
import { withoutEndings } from '../core/text.ts'
import { checkUnlinked, type TestedFolders } from './links.ts'
import type { Stage, Store } from './store.ts'
import { recordConfined } from './unconfined.ts'

/** Methods whose first argument is a key. Links are followed. */
const FOLLOWING = ['stat', 'getRange', 'getRanges', 'getTail', 'get', 'list', 'put', 'makeFolder', 'stage', 'leftovers']
/** Methods that act on a link itself, which they test or remove. */
const ON_LINKS = ['delete', 'removeFolder', 'isLink']
/** Methods that write. */
const WRITING = ['put', 'makeFolder', 'stage', 'publish']
/** Methods with two keys. Links are not followed, because the object or folder itself gets the other name. */
const MOVING = ['copy', 'rename']

type Method = (key: string, ...rest: unknown[]) => Promise<unknown>

/**
 * Returns the same store, which refuses keys that lead out of a root by their names or by symbolic links. The
 * root itself may be a link, which is resolved once. Keys beside the root, such as sidecars, stay in its
 * folder. Nothing behind a link below the root is removed or moved, wherever the link leads. If another
 * process replaces a folder with a link between the check and the use, this is not noticed.
 * @param options `followLinks`: whether to read and write behind links that lead out of the root
 */
export function confined(
  store: Store,
  root: string,
  { followLinks = false }: { readonly followLinks?: boolean | undefined } = {},
): Store {
  const realPath = followLinks ? undefined : store.realPath?.bind(store)
  const lastSeparator = (path: string): number =>
    Math.max(path.lastIndexOf('/'), store.windowsNames ? path.lastIndexOf('\\') : -1)
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
    const names = method === 'list' && !key.endsWith('/') ? name.slice(0, Math.max(0, name.lastIndexOf('/'))) : name
    // References may name files by absolute paths below a relative root. Only the real path decides about
    // these.
    const isOtherForm = store.realPath !== undefined && path.startsWith('/') !== base.startsWith('/')
    const isFree = isOtherForm || names === ''
    const wrong = isFree ? undefined : path.startsWith(start) ? wrongKey(names, store.windowsNames) : 'it is elsewhere'
    if (wrong !== undefined) refuse(key, `this leads out of the place that was given: ${wrong}`)
    if (removes(method) && path.startsWith(start)) await checkUnlinked(store, start, key)
    if (realPath === undefined) return
    const real = await boundary(start === below ? base || '.' : start || '.')
    const own = await realPath(actsOnLink(method) ? folderAt(path) || '.' : path)
    if (own === real || own.startsWith(/[/\\]$/.test(real) ? real : `${real}${store.windowsNames ? '\\' : '/'}`)) return
    refuse(key, 'a symbolic link leads out of the place that was given; name the place that it leads to, or pass --follow-links')
  }
  const guarded = guardedStore(store, check)
  recordConfined(guarded, store)
  return guarded
}

/** Whether a method removes or moves objects. Moves are checked as removals of both keys. */
const removes = (method: string): boolean => method !== 'isLink' && ON_LINKS.includes(method)

/** Whether a method acts on a link itself instead of its target. */
export const actsOnLink = (method: string): boolean => ON_LINKS.includes(method)

/**
 * Returns the same store for one operation, which writes, removes and moves nothing behind a link below a
 * root. Reads follow links. Each folder is tested once.
 */
export function unlinked(store: Store, root: string): Store {
  if (store.isLink === undefined) return store
  const tested: TestedFolders = new Map()
  return guardedStore(store, async (key, method) => {
    if (removes(method) || WRITING.includes(method)) await checkUnlinked(store, root, key, tested)
  })
}

/**
 * Returns the same store, which checks each key before use.
 * @param check called with the key and the name of the method; throws to refuse it
 */
export function guardedStore(store: Store, check: (key: string, method: string) => Promise<void>): Store {
  const guarded = (name: string, method: Method): Method => {
    return async (key, ...rest) => {
      await check(key, name)
      return method(key, ...rest)
    }
  }
  const stage = async (near: string): Promise<Stage> => {
    await check(near, 'stage')
    return bound(await store.stage!(near), (name, method) => (name === 'publish' ? guarded(name, method) : method))
  }
  return bound(store, (name, method) => {
    if (name === 'stage') return stage
    if (MOVING.includes(name))
      return async (from: string, to: unknown, ...rest: unknown[]): Promise<unknown> => {
        for (const key of [from, String(to)]) await check(key, 'delete')
        return method(from, to, ...rest)
      }
    return FOLLOWING.includes(name) || ON_LINKS.includes(name) ? guarded(name, method) : method
  })
}

/** Returns an object with replaced methods. All other members are those of the original. */
const bound = <T extends object>(original: T, replace: (name: string, method: Method) => unknown): T =>
  new Proxy(original, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? replace(String(name), value.bind(target) as Method) : value
    },
  })
