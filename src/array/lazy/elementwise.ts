import type { DType } from '../../core/dtype.ts'
import type { BlockSource, PartStats } from '../source.ts'
import { type DerivedSource, deriveSource, type Kind } from './derive.ts'

/** From one element to another, both as they are stored. */
export type Convert = (element: never) => unknown

const body = () => import('./converted.ts')

/**
 * What happens to missing elements. `spare`: they become what is missing in the result. `convert`: the same
 * as to others. `distinguish`: so, too, but an element that would become equal to one of them is refused.
 */
export type Treatment = 'spare' | 'convert' | 'distinguish'

export interface ElementwiseOptions {
  /** From an element above to one below, so that the array can be written. */
  readonly back?: Convert | undefined
  /** `convert` when left out. */
  readonly treatment?: Treatment
  /** What is known of elements, from what is known of those they are made of; nothing when left out. */
  readonly statsOf?: ((below: PartStats) => PartStats | undefined) | undefined
}

/** What an array is made of whose elements are made of others. */
export interface Conversion extends ElementwiseOptions {
  readonly source: BlockSource
  readonly kind: Kind<DType>
  readonly forth: Convert
}

/** An array whose elements are made of those below, one by one. */
export function elementwise<D extends DType>(
  source: BlockSource,
  kind: Kind<D>,
  forth: Convert,
  options: ElementwiseOptions = {},
): BlockSource<D> {
  const conversion: Conversion = { source, kind, forth, ...options }
  const layer: DerivedSource<D> = {
    // What lies between written elements must not go forth and back.
    capabilities: { steps: true },
    bulk: {
      requests: async (boxes) => (await body()).requestsOfConverted(conversion, boxes),
      ...(source.bulk?.visit !== undefined &&
        source.capabilities?.steps && {
          visit: async function* (...asked) {
            yield* (await body()).visitConverted(conversion, ...asked)
          },
        }),
    },
    readBlock: async (...asked) => (await body()).readConverted(conversion, ...asked),
    ...(options.back !== undefined &&
      source.writeBlock !== undefined && {
        writeBlock: async (...asked) => (await body()).writeConverted(conversion, ...asked),
      }),
  }
  return deriveSource(source, layer, kind)
}
