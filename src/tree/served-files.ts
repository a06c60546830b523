import { METADATA_PATH } from '../adapters/zarr/metadata-names.ts'
import { withoutEndings } from '../core/text.ts'
import { encodeNames } from '../core/url-names.ts'
import type { Store, StoredAt } from '../store/store.ts'
import { FOLDER, type Format, withoutEnding } from './formats.ts'

/** The files of a place, by the names that a server gives them. */
export interface ServedFiles {
  /** Name of the place: of its file, or of its folder. */
  readonly name: string
  /** Store that has the files. */
  readonly store: Store
  /**
   * Returns the key of a file in the store, by the name of the place, and for folders the path below it.
   * Returns undefined for names of other files, such as neighbours of the place.
   */
  keyOf(path: string): Promise<string | undefined>
}

/** Returns the files of a place. References become a Zarr store of the referenced bytes. */
export async function servedFiles(place: StoredAt, format: Format): Promise<ServedFiles> {
  if (!format.isReference) return filesIn(place, format)
  const { servedReferences } = await import('./served-references.ts')
  const name = `${withoutEnding(nameOf(place.path, place.store.files?.windowsNames))}.zarr`
  const store = await servedReferences(place)
  const { keyOf } = filesIn({ store, path: '' }, FOLDER, name)
  return { name, store, keyOf }
}

/** @param name of the place. Default: the last name of its path */
function filesIn({ store, path }: StoredAt, format: Format, name?: string): ServedFiles {
  const root = withoutEndings(path, '/')
  const own = name ?? nameOf(root)
  const folder = root.slice(0, root.length - nameOf(root).length)
  return {
    name: own,
    store,
    keyOf: async (asked) => {
      if (format.isFolder) return keyBelow(asked, { own, root, urlNames: store.urlNames })
      if (asked === own) return root
      const key = folder + asked
      return !asked.includes('/') && (await format.isBeside?.(root, key)) ? key : undefined
    },
  }
}

/** Returns the key of a path below a folder; undefined for paths that lead out of it. */
function keyBelow(
  asked: string,
  { own, root, urlNames }: { readonly own: string; readonly root: string; readonly urlNames: boolean | undefined },
): string | undefined {
  if (!asked.startsWith(`${own}/`)) return undefined
  const inside = asked.slice(own.length + 1)
  const isPlain = inside.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\\'))
  if (!isPlain) return undefined
  // Metadata objects identify their folder.
  const folder = withoutEndings(root.replace(METADATA_PATH, ''), '/')
  const key = urlNames ? encodeNames(inside) : inside
  // An empty name is the current folder, not the root of the disk.
  return folder === '' ? key : `${folder}/${key}`
}

const nameOf = (path: string, windowsNames = false): string =>
  path.slice(Math.max(path.lastIndexOf('/'), windowsNames ? path.lastIndexOf('\\') : -1) + 1) || 'data'
