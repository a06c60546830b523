import { forEachLimited } from '../../core/limiter.ts'
import type { Signal } from '../../core/signal.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import { confirmBase } from './confirm-base.ts'
import { Layer } from './layer.ts'
import { checkLayerCount } from './layer-count.ts'
import { footerBytesOf, OPENINGS, type OpenedFiles, type Opening, openBase } from './opening.ts'
import { type Paths, SIDECAR } from './paths.ts'

/** The layers of a state that was open before. */
interface Known {
  readonly layers: readonly Layer[]
}

/** The numbers of the sidecars that a store lists, ascending. */
export async function listSidecars(store: Store, paths: Paths, signal?: Signal): Promise<number[]> {
  const keys = new Set(await store.list?.(paths.base.slice(0, -2), { signal }))
  const numbers = [...keys].map((key) => Number(SIDECAR.exec(key)?.[1] ?? 0))
  return numbers.filter((number) => number > 0 && keys.has(paths.sidecar(number))).sort((a, b) => a - b)
}

/**
 * Opens the layers that a store lists; `undefined` when one of them is gone: then the base was replaced
 * meanwhile. Reads the base while the store lists, because a file of footer version 6 needs nothing else.
 */
export async function openListed(
  store: Store,
  paths: Paths,
  options: Opening,
  known: Known | undefined,
): Promise<OpenedFiles | undefined> {
  const listing = listSidecars(store, paths, options.signal)
  // A failure counts only where the list is needed.
  listing.catch(() => undefined)
  const early = known === undefined ? await openBase(store, paths, options) : undefined
  if (early?.immutable) {
    const beside = await listing.catch(() => [])
    options.signal?.throwIfAborted()
    const unread = beside.map((number) => ({ number, file: store.describe(paths.sidecar(number)) }))
    return { layers: [early], unread }
  }
  const numbers = (await listing).filter((number) => number <= options.last)
  // By the highest number, since each one below it is looked at.
  checkLayerCount(numbers.at(-1) ?? 0, options.limits, store.describe(paths.base))
  const kept = known === undefined ? [] : known.layers.slice(1).filter(({ number }) => numbers.includes(number))
  if (known !== undefined && kept.length < known.layers.length - 1) return undefined
  const opened = new Map(kept.map((layer) => [layer.number, layer]))
  if (known !== undefined) options.room.bytes -= footerBytesOf([known.layers[0]!, ...kept])
  let gone = false
  await forEachLimited(
    numbers.filter((number) => !opened.has(number)),
    OPENINGS,
    async (number) => {
      const layer = await Layer.open(store, paths.sidecar(number), number, options.limits, options)
      if (layer === undefined) gone = true
      else opened.set(number, layer)
    },
  )
  if (gone) return undefined
  const base = early ? await confirmBase(store, paths, early, options) : await unchanged(store, known!, options)
  return base && { layers: [base, ...numbers.map((number) => opened.get(number)!)] }
}

/**
 * The base of a state that was open before, if it is the same still; its layers are then, too. Should another
 * program have made a base with the bytes, and so in some stores the version, of the one before, the newest
 * layer tells.
 */
async function unchanged(store: Store, { layers }: Known, options: StoreOptions): Promise<Layer | undefined> {
  for (const { key, info } of new Set([layers.at(-1)!, layers[0]!])) {
    if ((await store.stat(key, options))?.etag !== info.etag) return undefined
  }
  return layers[0]
}
