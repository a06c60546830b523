import { type DataOf, type DType, readElement } from '../../core/dtype.ts'
import { lazily } from '../../core/lazily.ts'
import { type Element, missingElements } from '../missing.ts'
import type { BlockSource } from '../source.ts'
import { elementwise } from './elementwise.ts'

/**
 * The same elements, but for the missing ones, which become `value`. Writing goes back, to the missing value
 * of the source.
 * @param value as stored; from there on the only one that is missing
 * @param options.taken whether other elements that have this value shall be missing, too; unless it is set,
 *   reading or writing one is refused
 * @throws reading and writing, InvalidArgumentError for elements that would become missing, or cease to be so
 */
export function missingAs<D extends DType>(
  source: BlockSource<D>,
  value: Element,
  { taken = false }: { readonly taken?: boolean } = {},
): BlockSource<D> {
  const { dtype } = source
  const fillValue = readElement(dtype, [value] as unknown as DataOf<D>, 0)
  const nan = Number.isNaN(value)
  const load = lazily(async () => (await import('./missing-restated.ts')).restated(source, value, taken))
  const kind = { dtype, fillValue, missing: { values: nan ? [] : [fillValue], nan } }
  return elementwise(source, kind, { load, back: true })
}

/**
 * A source that has one missing value at most, and then, of floats, NaN besides: what kernels and loops pass
 * over.
 * @param options.skipMissing false where nothing is passed over, so that nothing has to change
 */
export function withOneMissing<D extends DType>(
  source: BlockSource<D>,
  { skipMissing = true }: { readonly skipMissing?: boolean | undefined } = {},
): BlockSource<D> {
  if (!skipMissing) return source
  const { values } = missingElements(source)
  // Binaries are compared by identity from here on.
  return values.length > 1 || values[0] instanceof Uint8Array ? missingAs(source, values[0]!) : source
}
