import { type CreateZarrOptions, createNode } from '../adapters/zarr/create.ts'
import type { ZarrGroup } from '../adapters/zarr/group.ts'
import { invalidArgument } from '../core/errors.ts'
import { formatOfName } from '../tree/formats.ts'
import { type Location, resolveLocation } from '../tree/location.ts'

/** Creates a group at a location, and opens it. */
export async function createLocation(location: Location, options: CreateZarrOptions): Promise<ZarrGroup> {
  const { store, path } = await resolveLocation(location)
  try {
    const { zarrIn, isFolder } = formatOfName(path) ?? {}
    if (zarrIn !== undefined && !isFolder)
      invalidArgument(`archives and references are not written: '${path}' must be a folder`, path)
    return await createNode(store, path, options, async (root, write) => {
      const { replaceZarr } = await import('../copy/replace/zarr.ts')
      const { signal } = options
      await replaceZarr({ store, path: root }, [], { command: 'createZarr with overwrite', signal }, write)
    })
  } catch (error) {
    await store.close?.()
    throw error
  }
}
