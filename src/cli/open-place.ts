import { openContainer } from './container.ts'
import { UsageError } from './failure.ts'
import { formatAt } from './found.ts'
import type { PlaceOptions } from './options.ts'
import type { Place } from './place.ts'
import { openStore } from './zarr-store.ts'

/** Opens what is at a place for reading. */
export async function openPlace(location: string, options: PlaceOptions): Promise<Place> {
  const format = await formatAt(location)
  if (format === 'container') {
    checkContainerOptions(location, options)
    return openContainer(location, options.layer)
  }
  checkStoreOptions(location, options)
  return openStore(location, format, options.names)
}

/** @throws UsageError for options of other formats */
export function checkContainerOptions(location: string, { names }: PlaceOptions): void {
  if (names !== undefined) throw new UsageError(`--names is for Zarr stores, and ${location} is a container`)
}

/** @throws UsageError for options of other formats */
export function checkStoreOptions(location: string, options: PlaceOptions & { readonly deep?: boolean }): void {
  for (const name of ['layer', 'deep'] as const)
    if (options[name] !== undefined) throw new UsageError(`--${name} is for containers, and ${location} is a Zarr store`)
}
