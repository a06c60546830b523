import type { DType } from '../../core/dtype.ts'
import { viewOf } from '../../grid/range.ts'
import type { BlockSource } from '../source.ts'
import { type DerivedSource, deriveSource, type Kind } from './layer.ts'
import { requestsThrough } from './picks.ts'

/** From one element to another, both as they are stored. */
export type Convert = (element: never) => unknown

const body = () => import('./converted.ts')

/**
 * What happens to missing elements. `spare`: they become what is missing in the result. `convert`: the same
 * as to others. `distinguish`: so, too, but an element that would become equal to one of them is refused.
 */
export type Treatment = 'spare' | 'convert' | 'distinguish'

/**
 * An array whose elements are made of those below, one by one; it can be written when there is a way `back`.
 */
export function elementwise<D extends DType>(
  source: BlockSource,
  kind: Kind<D>,
  forth: Convert,
  back?: Convert,
  treatment: Treatment = 'convert',
): BlockSource<D> {
  const layer: DerivedSource<D> = {
    // What lies between written elements must not go forth and back.
    capabilities: { steps: true },
    bulk: {
      requests: (boxes) =>
        requestsThrough(
          source,
          boxes.map((box) => box.map(viewOf)),
        ),
    },
    readBlock: async (box, out, options) => {
      const { readConverted, treating } = await body()
      await readConverted(source, treating(treatment, source, kind, forth), box, out, options)
    },
    ...(back !== undefined &&
      source.writeBlock !== undefined && {
        writeBlock: async (box, values, options) => {
          const { treating, writeConverted } = await body()
          await writeConverted(source, treating(treatment, kind, source, back), box, values, options)
        },
      }),
  }
  return deriveSource(source, layer, kind)
}
