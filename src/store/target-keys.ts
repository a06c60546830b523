import { HyperslabError } from '../core/errors.ts'
import { joinForeignKey } from '../core/foreign-key.ts'
import type { FoldedNames, Store } from './store.ts'

/**
 * Joins a root and the keys of all objects that are about to be written below it, and checks them together.
 * @returns the joined keys, in the given order
 * @throws FormatError for keys that lead out of the root, and for keys that the place cannot hold together:
 *   names that it treats as equal, or an object with the name of a folder
 */
export async function targetKeys(store: Store, root: string, keys: readonly string[]): Promise<string[]> {
  const options = { windowsNames: store.windowsNames, file: store.describe(root) }
  const joined = keys.map((key) => joinForeignKey(root, key, options))
  if (store.foldedNames === undefined) return joined
  const first = clashIn(keys, { case: true, unicode: true })
  // Only a place that treats some names as equal needs this test, which writes to it.
  const clash = first && (first.isFolder ? first : clashIn(keys, await store.foldedNames(joined[0]!)))
  if (clash === undefined) return joined
  const [a, b] = clash.keys.map((key) => JSON.stringify(key))
  const text = clash.isFolder
    ? `${a} cannot be a file and the folder of ${b}`
    : `the file system takes ${a} and ${b} for one name, so that one would replace the other`
  throw new HyperslabError('FormatError', `${text}; rename one of them, or write to another place`, {
    file: options.file,
    actual: clash.keys,
  })
}

interface Clash {
  readonly keys: readonly [string, string]
  /** Whether one of them is an object with the name of the other's folder. */
  readonly isFolder: boolean
}

/** Finds two keys, or folders of them, that are equal under these rules. */
function clashIn(keys: readonly string[], folds: FoldedNames): Clash | undefined {
  const known = new Map<string, string>()
  const folders = new Set<string>()
  const objects = new Set(keys)
  for (const key of objects) {
    for (let path = key; path !== '' && !folders.has(path); path = path.slice(0, Math.max(0, path.lastIndexOf('/')))) {
      if (path !== key) {
        folders.add(path)
        if (objects.has(path)) return { keys: [path, key], isFolder: true }
      }
      const folded = foldedName(path, folds)
      const other = known.get(folded)
      if (other !== undefined && other !== path) return { keys: [other, path], isFolder: false }
      known.set(folded, path)
    }
  }
  return undefined
}

function foldedName(name: string, { case: foldsCase, unicode }: FoldedNames): string {
  const composed = unicode ? name.normalize('NFKD') : name
  if (!foldsCase) return composed
  const folded = composed.toUpperCase().toLowerCase()
  return unicode ? folded.normalize('NFKD') : folded
}
