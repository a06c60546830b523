import { type DType, readElement, type ScalarOf } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { Pace } from '../../core/pace.ts'
import { sameShape, showShape } from '../../core/shape.ts'
import { READ_BYTES } from '../../grid/chunks.ts'
import { type BlockOptions, type BlockSource, bytesOf } from '../source.ts'

/**
 * Yields the elements of several arrays at each position, in C order, whatever their chunks. Holds some MiB
 * at a time.
 * @throws InvalidArgumentError if shapes differ or there is no array
 */
export function zipElements<D extends readonly DType[]>(
  sources: readonly BlockSource[],
  options: BlockOptions = {},
): AsyncGenerator<{ [K in keyof D]: ScalarOf<D[K]> }, void> {
  const [first] = sources
  const other = sources.find(({ shape }) => !sameShape(shape, first!.shape))
  if (first !== undefined && other === undefined) return elements(sources, first, options) as never
  const shapes = sources.map(({ shape }) => showShape(shape)).join(', ')
  throw new HyperslabError('InvalidArgumentError', `arrays of one shape are zipped, got ${shapes || 'none'}`, {
    ...other?.label,
    actual: other?.shape,
    expected: first?.shape,
  })
}

async function* elements(
  sources: readonly BlockSource[],
  first: BlockSource,
  options: BlockOptions,
): AsyncGenerator<unknown[], void> {
  const { ELEMENTS_AT_ONCE, arrayOrder, zipped } = await import('../iteration.ts')
  const share = bytesOf(first.dtype) / sources.reduce((sum, { dtype }) => sum + bytesOf(dtype), 0)
  const pace = new Pace(options.signal)
  for await (const { data } of zipped(sources, arrayOrder(first, READ_BYTES * share), options)) {
    for (let i = 0; i < data[0]!.data.length; i++) {
      if (i % ELEMENTS_AT_ONCE === 0 && pace.due()) await pace.turn()
      yield data.map((tensor, k) => readElement(sources[k]!.dtype, tensor.data, i))
    }
  }
}
