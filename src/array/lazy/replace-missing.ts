import { type DataOf, type DType, readElement } from '../../core/dtype.ts'
import { lazily } from '../../core/lazily.ts'
import { type Element, missingElements } from '../missing.ts'
import type { BlockSource } from '../source.ts'
import { elementwise } from './elementwise.ts'

/**
 * Returns the same elements with all missing ones replaced by `value`. Writing converts it back to the
 * missing value of the source.
 * @param value as stored; the only missing value of the result
 * @param options.taken whether other elements equal to this value become missing, too; otherwise reading or
 *   writing one is rejected
 * @throws when read or written, InvalidArgumentError for elements that would become missing, or cease to be
 *   so
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
 * Returns a source with at most one missing value, plus NaN for floats. Kernels and loops can skip no more.
 * @param options.skipMissing false if nothing is skipped, so that nothing has to change
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
