import { type DataOf, type DType, readElement } from '../../core/dtype.js'
import { HyperslabError } from '../../core/errors.js'
import { type Element, missingElement, missingElements } from '../missing.js'
import { missingTest } from '../missing-test.js'
import type { BlockSource } from '../source.js'
import { elementwise } from './elementwise.js'

/**
 * The same elements, but for the missing ones, which become `value`. Writing goes back, to the missing value of the source.
 * @param value as stored; from there on the only one that is missing
 * @param options.taken whether other elements that have this value shall be missing, too; unless it is set, reading or writing one is refused
 * @throws reading and writing, InvalidArgumentError for elements that would become missing, or cease to be so
 */
export function missingAs<D extends DType>(
  source: BlockSource<D>,
  value: Element,
  { taken = false }: { readonly taken?: boolean } = {},
): BlockSource<D> {
  const known = missingElements(source)
  const own = missingElement(known)
  const wasMissing = missingTest(known) ?? (() => false)
  const missing = Number.isNaN(value) ? { values: [], nan: true } : { values: [value], nan: false }
  const isMissing = missingTest(missing)!
  const free = taken || wasMissing(value)
  const refuse = (element: unknown): never => {
    const text = `an element is ${String(element)}, which stands for missing elements here: choose another fill value`
    throw new HyperslabError('InvalidArgumentError', text, { actual: element, expected: value })
  }
  const forth = (element: Element): Element => {
    if (wasMissing(element)) return value
    return free || !isMissing(element) ? element : refuse(element)
  }
  const back = (element: Element): Element => {
    if (isMissing(element)) return own ?? (taken ? element : refuse(element))
    return wasMissing(element) ? refuse(element) : element
  }
  const fillValue = readElement(source.dtype, [value] as unknown as DataOf<D>, 0)
  return elementwise(
    source,
    { dtype: source.dtype, fillValue, missing: { values: missing.nan ? [] : [fillValue], nan: missing.nan } },
    forth,
    back,
  )
}

/**
 * A source that has one missing value at most, and then, of floats, NaN besides: what kernels and loops pass over.
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
