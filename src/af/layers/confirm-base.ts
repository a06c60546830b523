import type { Store } from '../../store/store.ts'
import type { Layer } from './layer.ts'
import { type Opening, openBase } from './opening.ts'
import type { Paths } from './paths.ts'

/**
 * Returns the base as it is after the layers were read: the one that was read before them, if its version is
 * still there. Otherwise reads the base again.
 * @param early the base that was read before the layers
 * @throws what {@link openBase} throws; StoreError for absences that the server does not prove, if the base
 *   cannot be read any more
 */
export async function confirmBase(store: Store, paths: Paths, early: Layer, options: Opening): Promise<Layer> {
  const { absences, last, room, signal } = options
  // Without layers the base is the whole state.
  if (last === 0) return early
  const isDoubtful = absences?.doubt !== undefined
  // The base was read first, so it is the known object that is read again here.
  if (isDoubtful) await absences!.begin()(signal)
  const { etag } = early.info
  // An uncertain version may belong to other bytes, too.
  const isCertain = store.identify === undefined || store.identify(paths.base, etag) !== undefined
  if (isCertain && (isDoubtful || (await store.stat(paths.base, options))?.etag === etag)) return early
  room.bytes += early.footerBytes
  return openBase(store, paths, options)
}
