import { forEachLimited } from '../../core/limiter.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import type { Layer } from './layer.ts'
import { OPENINGS } from './opening.ts'
import type { Paths } from './paths.ts'

/**
 * Whether uncertain layers are unchanged since they were read. A layer that names no base does not prove
 * which base it was read with. A dead layer may have been replaced by a live one before a higher number was
 * read. Live layers are cleaned up only after the base was replaced, so the base is checked last.
 * @param uncertain numbers of such layers
 * @param files the files that were read, including the base
 */
export async function areUnchanged(
  store: Store,
  paths: Paths,
  uncertain: readonly number[],
  files: readonly Layer[],
  options: StoreOptions,
): Promise<boolean> {
  const known = new Map(files.map((layer) => [layer.number, layer]))
  const isAsBefore = async (number: number, key: string): Promise<boolean> =>
    (await store.stat(key, options))?.etag === known.get(number)?.info.etag
  let settled = true
  await forEachLimited(uncertain, OPENINGS, async (number) => {
    if (!(await isAsBefore(number, paths.sidecar(number)))) settled = false
  })
  return settled && isAsBefore(0, paths.base)
}
