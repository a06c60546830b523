import type { Store, StoreOptions } from '../../store/store.ts'
import { confirmBase } from './confirm-base.ts'
import { Layer } from './layer.ts'
import { checkLayerCount } from './layer-count.ts'
import { type FirstSidecar, type NamedFile, type OpenedFiles, type Opening, openBase } from './opening.ts'
import type { Paths } from './paths.ts'
import { openSidecar } from './sidecar.ts'

/**
 * Opens the layers of a container that cannot be listed.
 * @param early the base and the first sidecar, if they were requested before; otherwise the base is read
 *   after the sidecars
 */
export async function openLayers(
  store: Store,
  paths: Paths,
  options: Opening,
  early?: { readonly base: Layer; readonly first: FirstSidecar | undefined },
): Promise<OpenedFiles> {
  const { layers, beside } = await probeSidecars(store, paths, options, early?.first)
  const base = early ? await confirmBase(store, paths, early.base, options) : await openBase(store, paths, options)
  return { layers: [base, ...layers], beside }
}

/** Opens sidecars by number until one is missing. */
async function probeSidecars(
  store: Store,
  paths: Paths,
  options: Opening,
  first: FirstSidecar | undefined,
): Promise<{ layers: Layer[]; beside: NamedFile[] }> {
  const layers: Layer[] = []
  const beside: NamedFile[] = []
  const open = (key: string, number: number, each: Opening) => Layer.open(store, key, number, options.limits, each)
  const openFirst = async (key: string, each: Opening): Promise<Layer | undefined> => {
    const layer = await first!.layer
    for (const absence of first!.unproved) options.onUnproved?.(absence)
    // Its footer counts in addition to that of the base.
    if (layer === undefined || layer.footerBytes > options.room.bytes) return layer && open(key, 1, each)
    options.room.bytes -= layer.footerBytes
    return layer
  }
  for (let number = 1; number <= options.last; number++) {
    const isFirst = number === 1 && first !== undefined
    const found = await openSidecar(store, paths, number, options, (each) =>
      probe(store, paths, number, (key) => (isFirst ? openFirst(key, each) : open(key, number, each)), options),
    )
    if (found === undefined) break
    if ('layer' in found) {
      checkLayerCount(number, options.limits, store.describe(paths.base))
      layers.push(found.layer)
    } else {
      beside.push(found.beside)
      // No layer has a higher number.
      if (number > options.limits.layers) break
    }
  }
  return { layers, beside }
}

/**
 * Opens a sidecar of a container that cannot be listed; returns `undefined` if it does not exist. Some
 * servers answer every name with a page, such as single-page applications and development servers of
 * bundlers. A file that is no container, or another sidecar by its footer, therefore counts as missing if an
 * unused name gets the same answer. Otherwise it is a damaged sidecar, and an error.
 * @throws the errors of `open`
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
