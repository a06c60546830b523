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
  const options = { windowsNames: store.files?.windowsNames, file: store.describe(root) }
  const joined = keys.map((key) => joinForeignKey(root, key, options))
  if (store.files === undefined) return joined
  const first = clashIn(keys, { case: true, unicode: true })
  // Only a place that treats some names as equal needs this test, which writes to it.
  const clash = first && (first.isFolder ? first : clashIn(keys, await store.files.foldedNames(joined[0]!)))
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

/** An object or a folder of the keys. */
interface Entry {
  /** First key that has this entry in its path. */
  readonly key: string
  readonly name: string
  readonly isObject: boolean
  /** Entries of a folder, by their folded names. */
  entries?: Map<string, Entry>
}

/** Finds two keys, or folders of them, that are equal under these rules. */
function clashIn(keys: readonly string[], folds: FoldedNames): Clash | undefined {
  const root = new Map<string, Entry>()
  for (const key of new Set(keys)) {
    const names = key.split('/')
    let entries = root
    for (const [depth, name] of names.entries()) {
      const folded = foldedName(name, folds)
      const known = entries.get(folded)
      if (known !== undefined && known.name !== name)
        return { keys: [pathTo(known.key, depth), pathTo(key, depth)], isFolder: false }
      const isObject = depth === names.length - 1
      const entry: Entry = known ?? { key, name, isObject }
      if (isObject ? entry.entries !== undefined : entry.isObject)
        return { keys: isObject ? [key, entry.key] : [entry.key, key], isFolder: true }
      if (known === undefined) entries.set(folded, entry)
      if (!isObject) entries = entry.entries ??= new Map()
    }
  }
  return undefined
}

/** Returns the beginning of a key to the name at a depth. */
const pathTo = (key: string, depth: number): string =>
  key
    .split('/')
    .slice(0, depth + 1)
    .join('/')

function foldedName(name: string, { case: foldsCase, unicode }: FoldedNames): string {
  const composed = unicode ? name.normalize('NFKD') : name
  if (!foldsCase) return composed
  const folded = composed.toUpperCase().toLowerCase()
  return unicode ? folded.normalize('NFKD') : folded
}
