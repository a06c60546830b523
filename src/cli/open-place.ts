import { resolveTarget } from '../tree/target.ts'
import { openContainer } from './container.ts'
import { UsageError } from './failure.ts'
import { formatAt } from './found.ts'
import { openNetcdfFile } from './netcdf-file.ts'
import { notFoundAt, type PlaceOptions, type ReadingOptions } from './options.ts'
import type { Place } from './place.ts'
import { openStore } from './zarr-store.ts'

/**
 * Opens a place for reading.
 * @param isConfined whether to refuse links and references that lead out of the place, because other users
 *   will read its content
 */
export async function openPlace(
  location: string,
  options: PlaceOptions,
  reading: ReadingOptions = {},
  isConfined = false,
): Promise<Place> {
  const format = await formatAt(location)
  const at = notFoundAt(location, options)
  if (format === 'container') {
    checkContainerOptions(location, options)
    if (isConfined) return openContainer(await resolveTarget(location, at), options.layer, reading)
    return openContainer(location, options.layer, { ...reading, ...at })
  }
  if (format === 'netcdf') {
    checkNetcdfOptions(location, options)
    return openNetcdfFile(location, { ...reading, ...at })
  }
  checkStoreOptions(location, options)
  return openStore(location, format, options, reading, isConfined)
}

/** @throws UsageError for options of other formats */
function checkNetcdfOptions(location: string, options: PlaceOptions): void {
  const [name] = (['layer', 'names', 'group'] as const).filter((each) => options[each] !== undefined)
  if (name !== undefined)
    throw new UsageError(`--${name} is for ${name === 'layer' ? 'containers' : 'Zarr stores'}, and ${location} is a NetCDF file`)
}

/** @throws UsageError for options of other formats */
export function checkContainerOptions(location: string, options: PlaceOptions): void {
  for (const name of ['names', 'group'] as const)
    if (options[name] !== undefined) throw new UsageError(`--${name} is for Zarr stores, and ${location} is a container`)
}

/** @throws UsageError for options of other formats */
export function checkStoreOptions(location: string, options: PlaceOptions & { readonly deep?: boolean }): void {
  for (const name of ['layer', 'deep'] as const)
    if (options[name] !== undefined) throw new UsageError(`--${name} is for containers, and ${location} is a Zarr store`)
}
