import { HyperslabError } from '../../core/errors.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import type { Limits } from '../format/limits.ts'
import type { Paths } from './paths.ts'

/**
 * Opens a sidecar of a place that cannot be listed; `undefined` when there is none. Some servers answer every
 * name with a page: single-page applications, development servers of bundlers. So what is no container, or by
 * its footer another sidecar, counts as missing when a name that nothing has gets the very same answer, and
 * only then: a damaged sidecar is an error.
 * @throws what `open` throws
 */
export async function probe<T extends { readonly footer: { readonly overlayIndex: number } }>(
  store: Store,
  paths: Paths,
  number: number,
  open: (key: string) => Promise<T | undefined>,
  options: StoreOptions = {},
): Promise<T | undefined> {
  const key = paths.sidecar(number)
  let failure: unknown
  const layer = await open(key).catch((error: unknown) => {
    failure = error
  })
  if (failure === undefined && (!layer || layer.footer.overlayIndex === number)) return layer || undefined
  if (store.answersAlike !== undefined) {
    const { isAnsweredAlike } = await import('./pages.ts')
    if (await isAnsweredAlike(store, key, failure, options)) return undefined
  }
  if (failure !== undefined) throw failure
  return layer || undefined
}

/** @throws TooLargeError for more sidecars than `limits.layers` */
export function checkLayerCount(count: number, { layers }: Required<Limits>, file: string): void {
  if (count <= layers) return
  const text = `there are more than limits.layers, ${layers}, sidecars; compact the container, or raise the limit`
  throw new HyperslabError('TooLargeError', text, { file, actual: count, expected: layers, limit: 'limits.layers' })
}
