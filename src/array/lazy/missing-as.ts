import { type DataOf, type DType, readElement, toElement } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Element, isAnyMissing, missingElement, missingElements } from '../missing.ts'
import { missingTest, sameMissing } from '../missing-test.ts'
import { isBetween, restateFill } from '../part-stats.ts'
import type { BlockSource, PartStats } from '../source.ts'
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
  const fillBelow = source.fillValue === undefined ? undefined : toElement(source.dtype, source.fillValue)
  const statsOf = (stats: PartStats): PartStats | undefined => {
    const isStill = fillBelow !== undefined && wasMissing(fillBelow)
    const of = isStill ? stats : restateFill(stats, source, { dtype: source.dtype })
    if (of === undefined) return undefined
    // Missing elements other than the fill value are not counted apart.
    const others =
      (known.nan && !Number.isNaN(fillBelow)) || known.values.some((each) => each !== fillBelow && isBetween(of, each))
    return {
      ...of,
      fillCount: others ? Number.POSITIVE_INFINITY : of.fillCount,
      exact: of.exact && !others && !isBetween(of, value),
    }
  }
  return elementwise(
    source,
    { dtype: source.dtype, fillValue, missing: { values: missing.nan ? [] : [fillValue], nan: missing.nan } },
    forth,
    { back, statsOf },
  )
}

/**
 * A source as it is to be copied to another of its type: missing elements become the missing value of the
 * target. Where none are, or the same are in both, nothing is looked at.
 * @throws reading, InvalidArgumentError for missing elements where the target has no value for them (but NaN,
 *   which stays), and for elements that would become missing
 */
export function copiedTo(source: BlockSource, target: BlockSource): BlockSource {
  const [known, wanted] = [missingElements(source), missingElements(target)]
  if (!isAnyMissing(known) || sameMissing(known, wanted)) return source
  const value = missingElement(wanted)
  const wasMissing = missingTest(known)!
  const isMissing = missingTest(wanted) ?? (() => false)
  const refuse = (element: Element): never => {
    const { file, array } = target.label ?? {}
    const where = array === undefined ? 'the target' : `array '${array}'${file === undefined ? '' : ` of ${file}`}`
    const why = wasMissing(element)
      ? `is missing, and ${where} has no value for missing elements: give it a fill value`
      : `is not missing, and would be in ${where}: choose another fill value`
    throw new HyperslabError('InvalidArgumentError', `an element is ${String(element)}, which ${why}`, {
      actual: element,
      expected: value,
    })
  }
  return elementwise(source, source, (element: Element) => {
    if (wasMissing(element) === isMissing(element)) return element
    if (isMissing(element)) return refuse(element)
    return value ?? (Number.isNaN(element) ? element : refuse(element))
  })
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
