import type { CreateZarrOptions } from '../adapters/zarr/create.ts'
import type { ZarrGroup } from '../adapters/zarr/group.ts'
import { invalidArgument } from '../core/errors.ts'
import { formatOfName } from '../tree/formats.ts'
import { type Location, resolveLocation } from '../tree/location.ts'

/**
 * Creates an empty group of version 3 at a location, and opens it for writing with `createArray` and
 * `createGroup`. Each written object is visible to other processes at once.
 * @throws AlreadyExistsError if a Zarr array or group exists, unless `overwrite` is set, which replaces it
 *   with all its content; ReadOnlyError for locations that cannot be written to; InvalidArgumentError for
 *   invalid options
 * @example
 * const place = { store: new MemoryStore(), path: 'new.zarr' }
 * const group = await createZarr(place, { attributes: { title: 'Rain' } })
 * const pr = await group.createArray('pr', { dtype: 'float32', shape: [2, 3] })
 * await pr.set(null, [1, 2, 3, 4, 5, 6])
 * console.log(await (await openZarr(place, { kind: 'group' })).arrays()) // [ 'pr' ]
 */
export async function createZarr(location: Location, options: CreateZarrOptions = {}): Promise<ZarrGroup> {
  // Loaded lazily, so that programs that only read do not load the code for writing.
  const { createNode } = await import('../adapters/zarr/create.ts')
  const { store, path } = await resolveLocation(location)
  try {
    const { zarrIn, isFolder } = formatOfName(path) ?? {}
    if (zarrIn !== undefined && !isFolder)
      invalidArgument(`archives and references are not written: '${path}' must be a folder`, path)
    return await createNode(store, path, options, async (root, write) => {
      const { replaceZarr } = await import('./replace/zarr.ts')
      const { signal } = options
      await replaceZarr({ store, path: root }, [], { command: 'createZarr with overwrite', signal }, write)
    })
  } catch (error) {
    await store.close?.()
    throw error
  }
}
