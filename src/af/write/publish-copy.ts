import { HyperslabError, messageOf } from '../../core/errors.ts'
import type { Store } from '../../store/store.ts'
import type { Paths } from '../layers/paths.ts'
import type { ContainerFiles } from './container-files.ts'
import { publishStaged } from './create.ts'

const PIECE_BYTES = 8 * 1024 * 1024

/**
 * Publishes the bytes of a container of a single file under another name, with its statistics. Readers of
 * that name see the whole container or none.
 * @returns what went wrong after that
 * @throws AlreadyExistsError when there is a container, sidecars alone included, and `overwrite` is not set
 */
export async function publishCopy(from: Paths, to: ContainerFiles, overwrite: boolean): Promise<string[]> {
  const { store, paths } = to
  const gone = (): never => {
    throw new HyperslabError('ConflictError', 'what was written has been removed before it was published')
  }
  const { size, etag } = (await store.stat(from.base)) ?? gone()
  const stage = await store.stage!(paths.base)
  try {
    for (let at = 0; at < size; at += PIECE_BYTES) {
      const length = Math.min(PIECE_BYTES, size - at)
      await stage.append((await store.getRange(from.base, at, length, { ifMatch: etag })) ?? gone())
    }
    await publishStaged(to, stage, overwrite)
  } finally {
    await stage.discard()
  }
  try {
    await copyStatistics(store, from.stats, paths.stats)
    return []
  } catch (error) {
    // The container is complete without them.
    return [`statistics could not be stored, and are computed when someone asks: ${messageOf(error)}`]
  }
}

async function copyStatistics(store: Store, from: string, to: string): Promise<void> {
  const info = await store.stat(from)
  const bytes = info && (await store.getRange(from, 0, info.size, { ifMatch: info.etag }))
  if (bytes !== undefined) await store.put?.(to, bytes)
}
