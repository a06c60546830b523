import { HyperslabError } from '../core/errors.ts'
import type { Signal } from '../core/signal.ts'
import type { Store } from '../store/store.ts'

/** Names of metadata of a Zarr array or group, directly in a folder. */
const METADATA = /^(zarr\.json|\.z(group|array|metadata|attrs))$/

/**
 * Whether a name is one that macOS adds to folders and archives. Such files are not part of the data. All
 * files in the folder `__MACOSX` have such names.
 */
export const isOfMacos = (key: string): boolean => /^(\._.*|\.DS_Store)$/s.test(key.slice(key.lastIndexOf('/') + 1))
/**
 * Finds the Zarr store in a zip archive: at its root, or in the only folder that contains one. Many archives
 * contain the folder itself, and macOS adds a second folder beside it.
 * @throws InvalidArgumentError if several folders contain one
 */
export async function zarrInArchive(
  { store, path }: { readonly store: Store; readonly path: string },
  signal: Signal | undefined,
): Promise<{ readonly store: Store; readonly path: string }> {
  const { ZipStore } = await import('../store/zip/zip.ts')
  const archive = new ZipStore({ store, path })
  const keys = (await archive.list('', { deep: true, signal })).filter((key) => !isOfMacos(key))
  for (let root = ''; ; ) {
    const below = new Set<string>()
    const stores = new Set<string>()
    let isStore = false
    let isOnly = true
    for (const key of keys) {
      if (!key.startsWith(root)) continue
      const [top, next] = key.slice(root.length).split('/', 2) as [string, string?]
      if (next === undefined) {
        isStore ||= METADATA.test(top)
        isOnly = false
      } else {
        below.add(top)
        if (METADATA.test(next)) stores.add(top)
      }
    }
    if (isStore) return { store: archive, path: root }
    if (stores.size > 1) {
      const names = [...stores].sort().map((name) => `'${root}${name}'`)
      const text = `the archive holds ${stores.size} Zarr stores, ${names.slice(0, 5).join(', ')}${names.length > 5 ? ', …' : ''}; \
open one of them by { store: new ZipStore({ store, path }), path: ${names[0]} }`
      throw new HyperslabError('InvalidArgumentError', text, { file: store.describe(path), actual: names })
    }
    const [only] = stores.size === 1 ? stores : isOnly && below.size === 1 ? below : []
    if (only === undefined) return { store: archive, path: '' }
    root = `${root}${only}/`
  }
}
