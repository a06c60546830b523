import { invalidArgument } from '../../core/errors.ts'
import { lazily } from '../../core/lazily.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import type { Signal } from '../../core/signal.ts'
import type { ReadableStore } from './readable.ts'
import type { ArrayStore, NamedArrays } from './write/array-store.ts'

/** Options of `asZarrStore`. */
export interface AsZarrStoreOptions {
  /** Attributes of the root group. */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** Attributes of groups below it, by path. Cannot be combined with `levels`. */
  readonly groups?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /**
   * Number of levels of a pyramid, including the arrays themselves. Default: no pyramid; arrays have the
   * paths under which they are given.
   */
  readonly levels?: number
}

const CHECKS: Checks<AsZarrStoreOptions> = { attributes: 'plain object', groups: 'plain object', levels: 'integer from 1 to 32' }

/** A store whose objects are created on request. */
export interface ZarrStoreOfArrays extends Required<ReadableStore> {
  /** Returns the keys of all metadata, without the leading slash. */
  metadataKeys(): Promise<string[]>
}

/**
 * Presents arrays of any kind, lazy ones included, as a read-only Zarr store of version 3, with the interface
 * that zarrita and map libraries use. Nothing is read before a chunk is requested, and then only its
 * elements. Names are paths in the store, and attributes are those of the arrays. Chunks are similar to those
 * of the arrays, and uncompressed. The metadata are consolidated. Missing elements are declared by
 * `_FillValue`. NaN and infinities in attributes become texts, because JSON has no such numbers.
 *
 * With `levels`, each level has half the resolution of the one before along the last two dimensions. Its
 * elements are means of the elements that are neither missing nor NaN; for flags, texts, times, booleans and
 * integers of 64 bits, it takes every second element. One array becomes an image of OME-NGFF 0.5 (`0`, `1`,
 * …). Several arrays become groups (`0/tas`, `0/lat`, …) under Zarr's convention `multiscales`.
 * @throws InvalidArgumentError for values that are not arrays, for names that cannot be paths, and for arrays
 *   without levels. Reads throw the errors of reading the arrays
 * @example
 * const ramp = generate((i, j) => 10 * i + j, { dtype: 'int16', shape: [4, 6], dimensionNames: ['y', 'x'] })
 * const store = asZarrStore({ ramp }, { attributes: { title: 'Ramp' } })
 * const group = await openZarr(store, { kind: 'group' })
 * console.log(await (await group.array('ramp')).get([3, 5])) // 35
 */
export function asZarrStore(arrays: NamedArrays, options: AsZarrStoreOptions = {}): ZarrStoreOfArrays {
  checkValue('asZarrStore', 'arrays', arrays, 'plain object')
  checkOptions('asZarrStore', options, CHECKS)
  for (const [name, array] of Object.entries(arrays)) checkValue('asZarrStore', name, array, 'DiskArray')
  const { groups = {}, levels } = options
  for (const [path, own] of Object.entries(groups)) checkValue('asZarrStore', `groups.${path}`, own, 'plain object')
  if (levels !== undefined && Object.keys(groups).length > 0) invalidArgument('asZarrStore takes either groups or levels', groups)
  const load = lazily(() => made(arrays, options))
  const get: ZarrStoreOfArrays['get'] = async (key, { signal } = {}) =>
    (await load()).get(key.replace(/^\//, ''), signal as Signal | undefined)
  return {
    get,
    async getRange(key, range, options) {
      const bytes = await get(key, options)
      if (bytes === undefined) return undefined
      if ('suffixLength' in range) return bytes.subarray(Math.max(0, bytes.length - range.suffixLength))
      return bytes.subarray(range.offset, range.offset + range.length)
    },
    metadataKeys: async () => (await load()).metadataKeys(),
  }
}

async function made(arrays: NamedArrays, { attributes = {}, groups = {}, levels }: AsZarrStoreOptions): Promise<ArrayStore> {
  const { ArrayStore } = await import('./write/array-store.ts')
  if (levels === undefined) return new ArrayStore(arrays, { ...groups, '': attributes })
  const { pyramidMetadata } = await import('./write/pyramid.ts')
  const pyramid = await pyramidMetadata(arrays, levels, attributes)
  return new ArrayStore(pyramid.arrays, pyramid.groups)
}
