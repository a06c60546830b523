import { forEachLimited } from '../../core/limiter.ts'
import type { Signal } from '../../core/signal.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import { confirmBase } from './confirm-base.ts'
import type { Layer } from './layer.ts'
import { checkLayerCount } from './layer-count.ts'
import { type NamedFile, OPENINGS, type OpenedFiles, type Opening, openBase, sumFooterBytes } from './opening.ts'
import { type Paths, SIDECAR } from './paths.ts'
import { besideAt, openSidecar } from './sidecar.ts'

/** The layers of a state that was opened before. */
interface Known {
  readonly layers: readonly Layer[]
}

/** Returns the numbers of the sidecars that a store lists, ascending. */
export async function listSidecars(store: Store, paths: Paths, signal?: Signal): Promise<number[]> {
  const keys = new Set(await store.list?.(paths.base.slice(0, -2), { signal }))
  const numbers = [...keys].map((key) => Number(SIDECAR.exec(key)?.[1] ?? 0))
  return numbers.filter((number) => number > 0 && keys.has(paths.sidecar(number))).sort((a, b) => a - b)
}

/**
 * Opens the layers that a store lists; returns `undefined` if one of them has disappeared, because the base
 * was replaced then. Reads the base while the store lists, because a file of footer version 6 needs nothing
 * else.
 * @param known a state that was opened before, whose base takes layers
 */
export async function openListed(
  store: Store,
  paths: Paths,
  options: Opening,
  known: Known | undefined,
): Promise<OpenedFiles | undefined> {
  const listing = listSidecars(store, paths, options.signal)
  // A failed listing is reported only if the list is needed.
  listing.catch(() => undefined)
  const early = known === undefined ? await openBase(store, paths, options) : undefined
  if (early?.immutable) {
    const others = await listing.catch(() => [])
    options.signal?.throwIfAborted()
    return { layers: [early], beside: others.map((number) => ({ number, file: store.describe(paths.sidecar(number)) })) }
  }
  const listed = (await listing).filter((number) => number <= options.last)
  const beside: NamedFile[] = []
  // The highest number counts, because each lower number is looked up.
  const [numbers, far] = [
    listed.filter((each) => each <= options.limits.layers),
    listed.filter((each) => each > options.limits.layers),
  ]
  await forEachLimited(far.reverse(), OPENINGS, async (number) => {
    const found = await besideAt(store, paths, number, options)
    if (found === undefined) checkLayerCount(number, options.limits, store.describe(paths.base))
    else beside.push(found)
  })
  const kept = known === undefined ? [] : known.layers.slice(1).filter(({ number }) => numbers.includes(number))
  if (known !== undefined && kept.length < known.layers.length - 1) return undefined
  const opened = new Map(kept.map((layer) => [layer.number, layer]))
  if (known !== undefined) options.room.bytes -= sumFooterBytes([known.layers[0]!, ...kept])
  let gone = false
  await forEachLimited(
    numbers.filter((number) => !opened.has(number)),
    OPENINGS,
    async (number) => {
      const found = await openSidecar(store, paths, number, options)
      if (found === undefined) gone = true
      else if ('layer' in found) opened.set(number, found.layer)
      else beside.push(found.beside)
    },
  )
  if (gone) return undefined
  const base = early ? await confirmBase(store, paths, early, options) : await unchanged(store, known!, options)
  const layers = numbers.map((number) => opened.get(number)).filter((layer) => layer !== undefined)
  return base && { layers: [base, ...layers], beside: beside.sort((a, b) => a.number - b.number) }
}

/**
 * Returns the base of a state that was opened before if it is unchanged; its layers are then unchanged, too.
 * Also compares the newest layer, in case another program wrote a base with the same bytes, which has the
 * same version in some stores.
 */
async function unchanged(store: Store, { layers }: Known, options: StoreOptions): Promise<Layer | undefined> {
  for (const { key, info } of new Set([layers.at(-1)!, layers[0]!])) {
    if ((await store.stat(key, options))?.etag !== info.etag) return undefined
  }
  return layers[0]
}
