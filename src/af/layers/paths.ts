import { HyperslabError } from '../../core/errors.ts'
import { checkValue } from '../../core/options.ts'
import type { Store, StoreOptions } from '../../store/store.ts'
import type { Limits } from '../format/limits.ts'

const EXTENSION = '.af'
/** `name.7.af` belongs to `name.af`; numbers are decimal without leading zeros or signs. */
export const SIDECAR = /\.([1-9]\d*)\.af$/

/** The names of the files that make up one container: `{stem}.af`, `{stem}.1.af`, …, `{stem}.stats`. */
export class Paths {
  readonly base: string
  readonly stats: string
  readonly #stem: string

  /** @throws InvalidArgumentError unless the name ends in `.af` */
  constructor(base: string) {
    checkValue('open', 'path', base, 'string')
    if (!base.endsWith(EXTENSION) || base.length === EXTENSION.length) {
      throw new HyperslabError('InvalidArgumentError', "the name of a container must end in '.af'", { file: base, actual: base })
    }
    this.base = base
    this.#stem = base.slice(0, -EXTENSION.length)
    this.stats = `${this.#stem}.stats`
  }

  sidecar(number: number): string {
    return `${this.#stem}.${number}${EXTENSION}`
  }

  /** Whether other containers take this one for a sidecar of theirs. */
  get isSidecar(): boolean {
    return SIDECAR.test(this.base)
  }
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

/** @throws TooLargeError for more sidecars, or a higher number of one, than `limits.layers` */
export function checkLayerCount(count: number, { layers }: Required<Limits>, file: string): void {
  if (count <= layers) return
  const text = `there are more than limits.layers, ${layers}, sidecars; compact the container, or raise the limit`
  throw new HyperslabError('TooLargeError', text, { file, actual: count, expected: layers, limit: 'limits.layers' })
}
