import { HyperslabError } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import type { Layer } from './layer.ts'
import { type NamedFile, OPENINGS } from './opening.ts'
import type { Paths } from './paths.ts'

/** The files of a stack, and the number of its newest layer. */
interface Opened {
  readonly base: Layer
  readonly sidecars: readonly Layer[]
  readonly beside: readonly NamedFile[]
  readonly top: number
}

/** Returns the message for a layer that a file of footer version 6 has replaced. */
export const lostText = ({ file, number }: NamedFile, top: number): string =>
  `layer ${number} is lost: ${file}, a file of footer version 6, took its place, and layers up to ${top} lie over it; ` +
  `put the layer back, or move ${file} elsewhere to read the container without it`

/**
 * Whether uncertain layers are unchanged since they were read. A layer that names no base does not prove
 * which base it was read with. A dead layer may have been replaced by a live one before a higher number was
 * read. Live layers are cleaned up only after the base was replaced, so the base is checked last.
 * @param uncertain numbers of such layers
 * @throws FormatError for a layer that was replaced by a file of footer version 6, while those above it count
 */
export async function areUnchanged(
  store: Store,
  paths: Paths,
  uncertain: readonly number[],
  { base, sidecars, beside, top }: Opened,
  options: StoreOptions,
): Promise<boolean> {
  const known = new Map([base, ...sidecars, ...beside].map((file) => [file.number, file]))
  const isAsBefore = async (number: number, key: string): Promise<boolean> =>
    (await store.stat(key, options))?.etag === known.get(number)?.info?.etag
  let settled = true
  await forEachLimited(uncertain, OPENINGS, async (number) => {
    if (!(await isAsBefore(number, paths.sidecar(number)))) settled = false
  })
  if (!settled || !(await isAsBefore(0, paths.base))) return false
  const lost = beside.find(({ number }) => number < top)
  if (lost === undefined) return true
  throw new HyperslabError('FormatError', lostText(lost, top), { file: store.describe(paths.base), actual: lost.number })
}
