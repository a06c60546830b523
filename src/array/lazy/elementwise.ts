import type { DType, ScalarOf } from '../../core/dtype.js'
import type { BlockSource } from '../source.js'
import { overAs } from './layer.js'

/** From one element to another, both as they are stored. */
export type Convert = (element: never) => unknown

const body = () => import('./converted.js')

/** An array whose elements are made of those below, one by one; it can be written when there is a way `back`. */
export function elementwise<D extends DType>(
  source: BlockSource,
  dtype: D,
  fillValue: ScalarOf<D> | undefined,
  forth: Convert,
  back?: Convert,
): BlockSource<D> {
  return overAs(source, dtype, fillValue, {
    // What lies between written elements must not go forth and back.
    capabilities: { steps: true },
    readBlock: async (box, out, options) => (await body()).readConverted(source, forth, box, out, options),
    ...(back !== undefined &&
      source.writeBlock !== undefined && {
        writeBlock: async (box, values, options) => (await body()).writeConverted(source, back, box, values, options),
      }),
  })
}
