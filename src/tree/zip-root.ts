import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { StoredAt } from '../store/store.ts'

/** Names of metadata of a Zarr array or group, directly in a folder. */
const METADATA = /^(zarr\.json|\.z(group|array|metadata|attrs))$/

/**
 * Whether macOS adds files of this name to folders and archives. Such files are not part of the data. All
 * files in the folder `__MACOSX` have such names.
 */
export const isOfMacos = (key: string): boolean => /^(\._.*|\.DS_Store)$/s.test(key.slice(key.lastIndexOf('/') + 1))

/**
 * Finds the Zarr store in a zip archive: at its root, or in the only folder that contains one. Many archives
 * contain the folder itself, and macOS adds a second folder beside it.
 * @throws InvalidArgumentError if several folders contain one
 */
export async function zarrInArchive({ store, path }: StoredAt, signal: Signal | undefined): Promise<StoredAt> {
  const { ZipStore } = await import('../store/zip/zip.ts')
  const archive = new ZipStore({ store, path })
  const keys = (await archive.list('', { deep: true, signal })).filter((key) => !isOfMacos(key))
  const root = commonFolder(keys)
  const stores = new Set<string>()
  for (const key of keys) {
    const [top, next] = key.slice(root.length).split('/', 2) as [string, string?]
    if (next === undefined && METADATA.test(top)) return { store: archive, path: root }
    if (next !== undefined && METADATA.test(next)) stores.add(top)
  }
  if (stores.size > 1) {
    const names = [...stores].sort().map((name) => `'${root}${name}'`)
    const text = `the archive holds ${stores.size} Zarr stores, ${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}; \
open one of them by { store: new ZipStore({ store, path }), path: ${names[0]} }`
    throw new HyperslabError('InvalidArgumentError', text, { file: store.describe(path), actual: names })
  }
  const [only] = stores
  return { store: archive, path: only === undefined ? '' : `${root}${only}/` }
}

/** Returns the deepest folder that contains all keys, with a slash at its end; '' is the root. */
function commonFolder(keys: readonly string[]): string {
  let [common, length] = [keys[0] ?? '', keys[0]?.length ?? 0]
  for (const key of keys) {
    let same = 0
    while (same < length && key[same] === common[same]) same++
    length = same
  }
  common = common.slice(0, length)
  return common.slice(0, common.lastIndexOf('/') + 1)
}
