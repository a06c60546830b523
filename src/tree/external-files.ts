import type { FollowedFolder } from '../adapters/hdf5/open-file.ts'
import { HyperslabError } from '../core/errors.ts'
import { checkOptions } from '../core/options.ts'
import { withoutEndings } from '../core/text.ts'
import { confined } from '../store/confined.ts'
import type { StoredAt } from '../store/store.ts'
import { type Location, type LocationOptions, resolveLocation } from './location.ts'

/** Option of opening HDF5 files. */
export interface ExternalOptions {
  /**
   * Whether a file is followed to the files that its external links, external raw data and virtual arrays
   * name. `true` follows names in the folder of the file or below it; `root` names another folder. Absolute
   * paths, `..`, URLs, and symbolic links that leave the folder are refused. Default: no file is followed,
   * and `unreadable()` says where links lead.
   */
  readonly external?: boolean | { readonly root: Location } | undefined
}

export const EXTERNAL_CHECKS = { external: 'boolean or object' } as const

/** Returns the folder that the option names for a file; undefined if no file is followed. */
export async function resolveExternal(
  place: StoredAt,
  { external }: ExternalOptions,
  { notFound, headers, fetch, cache }: Omit<LocationOptions, 'allowUrl'>,
): Promise<FollowedFolder | undefined> {
  if (!external) return undefined
  if (external === true) {
    const { findFolder } = await import('../adapters/hdf5/other-files.ts')
    const path = findFolder(place)
    return { store: confined(place.store, path), path, isOwn: true }
  }
  checkOptions('external', external, { root: 'value' })
  if (external.root === undefined)
    throw new HyperslabError('InvalidArgumentError', '`external` is true, or has a root, which names a folder')
  const { store, path: named } = await resolveLocation(external.root, { notFound, headers, fetch, cache })
  const path = withoutEndings(named, '/') || named
  return { store: confined(store, path), path, isOwn: false }
}
