import { IMPORT_CHECKS, type ImportOptions, type ImportResult } from '../../copy/import-arrays.ts'
import { importContainer } from '../../copy/import-container.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { checkUrlOptions, type Location } from '../../tree/location.ts'
import { type FoundTree, findTree } from '../../tree/open-tree.ts'
import type { NotFoundOptions } from '../../tree/url-options.ts'
import { importZarr } from './import-zarr.ts'
import { importTree } from './tree-source.ts'

/** Options of `importPlace`. */
export interface ImportPlaceOptions extends ImportOptions, NotFoundOptions {
  /** Paths of arrays and groups, for Zarr stores that cannot be listed and have no consolidated metadata. */
  readonly names?: readonly string[] | undefined
}

/** Result of `importPlace`. */
export interface PlaceImportResult extends ImportResult {
  /** Size of a source that is one file, in bytes. */
  readonly sourceBytes?: number
}

const CHECKS: Checks<ImportPlaceOptions> = { ...IMPORT_CHECKS, names: 'list of strings', notFound: 'list of integers' }
const CALL = 'importPlace'

/**
 * Copies a place of any format into a container of a single file. Arrays of containers are copied as they
 * are stored, unless options of chunks are given. Zarr is copied as by `importZarr`. The container appears
 * when it is complete.
 * @throws AlreadyExistsError unless `overwrite` is set; InvalidArgumentError for options of other formats;
 *   errors of opening the source; ReadOnlyError
 */
export async function importPlace(
  source: Location,
  target: Location,
  options: ImportPlaceOptions = {},
): Promise<PlaceImportResult> {
  checkOptions(CALL, options, CHECKS)
  await checkUrlOptions(CALL, source, options)
  const { names, notFound, ...importing } = options
  const { signal } = importing
  const found = await findTree(source, { notFound, signal })
  await found.checkOptions(CALL, { names })
  await found.settleFormat(signal)
  const { format, place } = found
  if (format.zarrIn !== undefined) return importFound(found, target, { names, ...importing })
  if (format.hasSidecars) {
    try {
      return await importContainer(place, target, importing)
    } finally {
      await found.close()
    }
  }
  try {
    const sourceBytes = (await place.store.stat(place.path, { signal }))?.size
    const result = await importTree(CALL, () => found.open({ signal }), target, importing)
    return { ...result, ...(sourceBytes !== undefined && { sourceBytes }) }
  } finally {
    await found.close()
  }
}

/** Copies the Zarr store that a place is or holds. */
async function importFound(
  found: FoundTree,
  target: Location,
  { names, ...options }: Omit<ImportPlaceOptions, 'notFound'>,
): Promise<ImportResult> {
  const { signal } = options
  try {
    const inside = await found.format.zarrIn!(found.place, { signal }).catch(async (error: unknown) => {
      // Elsewhere than on this machine, the name alone may have told the format.
      if (!(await found.correctFormat(signal))) throw error
      return found.place
    })
    return await importZarr(inside, target, { ...options, ...(names && { names }) })
  } catch (error) {
    throw await found.reasonOf(error)
  }
}
