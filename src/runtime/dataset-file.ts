import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { Signal } from '../core/signal.ts'
import { plainAttrs } from '../dataset/attributes.ts'
import type { DatasetFile, DecodeOptions } from '../dataset/dataset-file.ts'
import type { WorkerPool } from '../pool/task.ts'
import { type PlaceFormat, recognise, type StoredAt, unknownPlace, zarrIn } from '../tree/formats.ts'
import { type Location, type NotFoundOptions, resolveLocation } from '../tree/location.ts'
import type { OpenStoredOptions } from '../tree/open-netcdf.ts'
import { variablesOfGroup } from './group-variables.ts'
import { variableOf } from './raw-variable.ts'

/** Options for opening the arrays of a dataset. */
export interface DatasetFileOptions extends NotFoundOptions {
  /** Threads that decode and reduce. */
  readonly pool?: WorkerPool
  /** Limit of the memory that reads take at once, shared with other files. */
  readonly budget?: MemoryBudget
  /** Path of the group in a Zarr store. Default: the root. */
  readonly group?: string
  /** Level of the pyramid in a Zarr group, from 0, which is usually the finest. */
  readonly level?: number
}

/**
 * Opens the arrays at a location, in any format. A separate module, so that it is loaded only for opening.
 */
export async function openDatasetFile(
  location: Location,
  { group, level, pool, budget, signal, notFound }: DatasetFileOptions & Pick<DecodeOptions, 'signal'>,
): Promise<DatasetFile> {
  const place = await resolveLocation(location, { notFound })
  const shared = { pool, budget, signal }
  let format: PlaceFormat | undefined
  try {
    const found = await recognise(place, signal)
    format = found.format
    const opened = { format: level === undefined ? format : 'level of a pyramid', path: place.store.describe(place.path), group }
    if (format !== 'container' && format !== 'netcdf') {
      const store = await zarrIn(place, format, { signal, notFound })
      return { ...(await openGroup(store, shared, { group, level })), warnings: await warningsAt(store, signal), opened }
    }
    if (group !== undefined || level !== undefined) {
      const text = `only Zarr stores have ${group === undefined ? 'levels' : 'groups'} to open`
      throw new HyperslabError('InvalidArgumentError', text, { file: place.store.describe(place.path), actual: group ?? level })
    }
    return {
      ...(await (format === 'netcdf'
        ? openClassic(place, { ...shared, start: found.start })
        : openFromContainer(place, { pool, budget }))),
      warnings: await warningsAt(place, signal),
      opened,
    }
  } catch (error) {
    const isUnknown = isHyperslabError(error, 'NotFoundError') && format === 'zarr' && group === undefined
    const reason = isUnknown ? await unknownPlace(place, KINDS, error) : error
    await place.store.close?.()
    throw reason
  }
}

const warningsAt = async ({ store, path }: StoredAt, signal: Signal | undefined): Promise<string[]> =>
  (await store.warnings?.(path, { signal })) ?? []

const KINDS = 'neither a container (.af), nor classic NetCDF, nor a Zarr group'

const openFromContainer = async ({ store, path }: StoredAt, options: object): Promise<DatasetFile> =>
  (await import('./container-dataset.ts')).containerDataset(store, path, options)

async function openClassic(place: StoredAt, options: OpenStoredOptions): Promise<DatasetFile> {
  const { openStored } = await import('../tree/open-netcdf.ts')
  const file = await openStored(place, options)
  const variables = file.variables.map((variable) => variableOf(variable.name, variable as never))
  return { variables, attrs: plainAttrs(file.attrs), close: () => file.close() }
}

async function openGroup(
  place: StoredAt,
  options: object,
  { group: path, level }: { readonly group: string | undefined; readonly level: number | undefined },
): Promise<DatasetFile> {
  const { openZarr } = await import('../tree/open-zarr.ts')
  const root = await openZarr(place, { ...options, kind: 'group' })
  const group = path === undefined ? root : await root.group(path)
  const close = (): Promise<void> => root.close()
  const isPyramid = group.attrs.get('multiscales') !== undefined || group.attrs.get('ome') !== undefined
  if (level === undefined && !isPyramid) return { ...(await variablesOfGroup(group)), close }
  const { checkNoLevels, variablesOfLevel } = await import('./level-variables.ts')
  const file = place.store.describe(place.path)
  if (level !== undefined) return { ...(await variablesOfLevel(group, level, file)), close }
  await checkNoLevels(group, file)
  return { ...(await variablesOfGroup(group)), close }
}
