import { forEachLimited } from '../../core/limiter.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import type { Layer } from './layer.ts'
import { OPENINGS } from './opening.ts'
import type { Paths } from './paths.ts'

/**
 * Whether what is not certain by itself is as it was when it was looked at: a layer that names no base says
 * nothing of the base that it was read with, and a number that held nothing live may have been appended to
 * before a higher one was. What was appended is cleaned up only after the base was replaced, which is
 * therefore looked at last.
 * @param uncertain the numbers of such layers
 * @param files those that were read, the base included
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
