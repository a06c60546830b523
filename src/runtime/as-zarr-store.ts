import type { ReadableStore } from '../adapters/zarr/readable.ts'
import type { ArrayStore, NamedArrays } from '../adapters/zarr/write/array-store.ts'
import { invalidArgument } from '../core/errors.ts'
import { lazily } from '../core/lazily.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'

/** Options of `asZarrStore`. */
export interface AsZarrStoreOptions {
  /** Attributes of the root group. */
  readonly attributes?: Readonly<Record<string, unknown>>
  /** Attributes of groups below it, by path; not together with `levels`. */
  readonly groups?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /**
   * Makes a pyramid of so many levels, the arrays themselves among them. Without it there is none, and arrays
   * have the paths they are given under.
   */
  readonly levels?: number
}

const CHECKS: Checks<AsZarrStoreOptions> = { attributes: 'plain object', groups: 'plain object', levels: 'integer from 1 to 32' }

/** A store whose objects are made when they are asked for. */
export interface ZarrStoreOfArrays extends Required<ReadableStore> {
  /** The keys of all metadata, without the slash before them. */
  metadataKeys(): Promise<string[]>
}

/**
 * Arrays of any kind, lazy ones too, as a read-only Zarr store of version 3 in the shape that zarrita, and
 * what draws maps with it, takes: nothing is read before a chunk is asked for, and then its elements alone.
 * Names are paths in the store, attributes those of the arrays, chunks nearly theirs, and not compressed; the
 * metadata are consolidated. What says that elements are missing becomes `_FillValue`. Attributes that JSON
 * has no numbers for, NaN and infinities, become texts.
 *
 * With `levels` each level is half as fine as the one before along the last two dimensions, by means of what
 * is neither missing nor NaN; flags, texts, times, booleans and integers of 64 bits give every second
 * element. One array is an image of OME-NGFF 0.5 then (`0`, `1`, …), several are groups (`0/tas`, `0/lat`, …)
 * under Zarr's convention `multiscales`.
 * @throws InvalidArgumentError for what is no array, for names that cannot be paths, and for arrays that
 *   levels cannot be made of. Reading throws what reading the arrays does
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
  const { ArrayStore } = await import('../adapters/zarr/write/array-store.ts')
  if (levels === undefined) return new ArrayStore(arrays, { ...groups, '': attributes })
  const { pyramidOf } = await import('../adapters/zarr/write/pyramid.ts')
  const pyramid = await pyramidOf(arrays, levels, attributes)
  return new ArrayStore(pyramid.arrays, pyramid.groups)
}
