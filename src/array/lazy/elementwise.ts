import type { DType } from '../../core/dtype.ts'
import type { BlockSource } from '../source.ts'
import type { Conversion, Converting, Loading } from './converted.ts'
import { type DerivedSource, deriveSource, type Kind } from './derive.ts'

const body = () => import('./converted.ts')

/** Creates an array whose elements are converted from those of a source, one by one. */
export function elementwise<D extends DType>(
  source: BlockSource,
  kind: Kind<D>,
  converting: Converting | Loading,
): BlockSource<D> {
  const conversion: Conversion = { source, kind, converting }
  const layer: DerivedSource<D> = {
    // Elements between written ones must not be converted there and back.
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
    write: converting.back && (async (...asked) => (await body()).writeConverted(conversion, ...asked)),
  }
  const { dtype, fillValue, missing, attrs } = kind
  // Computed elements may be missing, and the convention of a format does not apply to them.
  const named = missing?.implied === undefined ? missing : { values: missing.values, nan: missing.nan }
  return deriveSource(source, layer, { dtype, fillValue, missing: named, attrs })
}
