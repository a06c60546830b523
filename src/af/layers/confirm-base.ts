import type { Store } from '../../store/store.ts'
import type { Layer } from './layer.ts'
import { type Opening, openBase } from './opening.ts'
import type { Paths } from './paths.ts'

/**
 * Returns the base after the layers were read. Returns `early` if its version is still in the store,
 * otherwise reads the base again.
 * @param early the base that was read before the layers
 * @throws the errors of {@link openBase}; StoreError for absences that the server does not prove, if the base
 *   can no longer be read
 */
export async function confirmBase(store: Store, paths: Paths, early: Layer, options: Opening): Promise<Layer> {
  const { absences, last, room, signal } = options
  // Without layers, the base is the whole state.
  if (last === 0) return early
  const isDoubtful = absences?.doubt !== undefined
  // The base was read first, so it is the known object, and reading it here confirms the absences.
  if (isDoubtful) await absences!.begin()(signal)
  const { etag } = early.info
  // If the store cannot vouch for a version, other bytes may have the same one.
  const isCertain = store.identify === undefined || store.identify(paths.base, etag) !== undefined
  if (isCertain && (isDoubtful || (await store.stat(paths.base, options))?.etag === etag)) return early
  room.bytes += early.footerBytes
  return openBase(store, paths, options)
}
