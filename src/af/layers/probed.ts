import type { ReadOptions, Store, StoreOptions, UnprovedAbsence } from '../../store/store.ts'
import { confirmBase } from './confirm-base.ts'
import { Layer } from './layer.ts'
import { checkLayerCount } from './layer-count.ts'
import { type OpenedFiles, type Opening, openBase } from './opening.ts'
import type { Paths } from './paths.ts'

/**
 * Opens the layers of a place that cannot be listed.
 * @param early the base, if it was read before; otherwise it is read after the sidecars
 */
export async function openLayers(store: Store, paths: Paths, options: Opening, early: Layer | undefined): Promise<OpenedFiles> {
  const sidecars = await probeSidecars(store, paths, options, early ? 2 : 1)
  const base = early ? await confirmBase(store, paths, early, options) : await openBase(store, paths, options)
  return { layers: [base, ...sidecars] }
}

/**
 * Opens sidecars by number until one is missing.
 * @param atOnce how many to probe first: two together save the round trip that confirms the base
 */
async function probeSidecars(store: Store, paths: Paths, options: Opening, atOnce: 1 | 2): Promise<Layer[]> {
  const sidecars: Layer[] = []
  const open = (number: number, asking: ReadOptions): Promise<Layer | undefined> => {
    const opening = { ...options, ...asking }
    return probe(store, paths, number, (key) => Layer.open(store, key, number, options.limits, opening), opening)
  }
  // The absence of the second counts only if there is a first.
  const unproved: UnprovedAbsence[] = []
  const asking = [{}, { onUnproved: (absence: UnprovedAbsence) => void unproved.push(absence) }]
  const together = await Promise.allSettled(asking.slice(0, Math.min(atOnce, options.last)).map((each, i) => open(i + 1, each)))
  for (let number = 1; number <= options.last; number++) {
    const probed = together[number - 1] ?? { status: 'fulfilled', value: await open(number, {}) }
    if (probed.status === 'rejected') throw probed.reason
    if (number === 2) for (const absence of unproved) options.onUnproved?.(absence)
    if (probed.value === undefined) break
    checkLayerCount(number, options.limits, store.describe(paths.base))
    sidecars.push(probed.value)
  }
  return sidecars
}

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
