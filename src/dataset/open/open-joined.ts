import { invalidArgument } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import type { Store, StoredAt } from '../../store/store.ts'
import { type Location, resolveLocation } from '../../tree/location.ts'
import { isRemote } from '../../tree/not-found.ts'
import { CONCAT_DATASETS_CHECKS, type ConcatDatasetsOptions } from '../concat-options.ts'
import type { Dataset, VariableTypes } from '../dataset.ts'
import { OPEN_DATASET_CHECKS } from './open-checks.ts'
import { type OpenDatasetOptions, openDataset } from './open-dataset.ts'

/**
 * Options of `openDatasets`: those of `openDataset` for each file, and those of joining. `onProgress`
 * receives the number of opened files, of all.
 */
export interface OpenDatasetsOptions<V extends VariableTypes = VariableTypes>
  extends OpenDatasetOptions<V>,
    ConcatDatasetsOptions {
  /** Dimension along which files are joined. Default: the only dimension with differing labels. */
  readonly dim?: string
}

const CHECKS: Checks<OpenDatasetsOptions> = {
  ...OPEN_DATASET_CHECKS,
  ...CONCAT_DATASETS_CHECKS,
  dim: 'string',
}

/** Number of files that are opened at once. */
const OPENED_AT_A_TIME = 8

/** Opens the files of a series and joins them; as `openDatasets`. */
export async function openJoined(
  places: readonly Location[] | string | StoredAt,
  options: OpenDatasetsOptions,
): Promise<Dataset> {
  checkOptions('openDatasets', options, CHECKS)
  const locations = await listed(places, options)
  const { dim, overlap, gaps, compat, labels, onProgress, ...each } = options
  const opened = new Map<number, Dataset>()
  try {
    const sharing = sharedFiles()
    await forEachLimited(locations.entries(), OPENED_AT_A_TIME, async ([at, location]) => {
      opened.set(at, await openDataset(await sharing(location), each))
      onProgress?.({ done: opened.size, total: locations.length })
    })
    const rule = {
      ...(overlap && { overlap }),
      ...(gaps && { gaps }),
      ...(compat && { compat }),
      ...(labels && { labels }),
      signal: options.signal,
    }
    const { concatenated } = await import('../concat.ts')
    return await concatenated(
      locations.map((_, at) => opened.get(at)!),
      dim,
      rule,
    )
  } catch (error) {
    // The first error says more than a failure to close.
    await Promise.allSettled([...opened.values()].map((ds) => ds.close()))
    throw error
  }
}

/** Returns the locations of a list or a pattern. */
async function listed(
  places: readonly Location[] | string | StoredAt,
  { signal, notFound, headers, fetch }: OpenDatasetsOptions,
): Promise<readonly Location[]> {
  if (typeof places === 'string' || Object(places).store !== undefined) {
    const { expandPattern } = await import('../../tree/expand-pattern.ts')
    return expandPattern(places as string | StoredAt, { signal, notFound, headers, fetch })
  }
  if (Array.isArray(places) && places.length > 0) return places
  return invalidArgument('openDatasets takes a list of locations, of one at least, or a pattern such as data/*.nc', places)
}

/** Opens local files through one store, which limits the number of open ones. */
function sharedFiles(): (location: Location) => Promise<Location> {
  let files: Store | undefined
  return async (location) => {
    if (isRemote(location) || (typeof location !== 'string' && !('href' in Object(location)))) return location
    const { store, path } = await resolveLocation(location)
    if (store.files?.localPath === undefined) return { store, path }
    files ??= store
    return { store: files, path }
  }
}
