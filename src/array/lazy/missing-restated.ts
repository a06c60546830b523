import { toElement } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Element, isAnyMissing, missingElement, missingElements } from '../missing.ts'
import { missingTest, sameMissing } from '../missing-test.ts'
import { isBetween, restateFill } from '../part-stats.ts'
import type { BlockSource, PartStats } from '../source.ts'
import type { Converting } from './converted.ts'
import { elementwise } from './elementwise.ts'

/** Returns the conversion that replaces the missing elements of a source by one value, and its reverse. */
export function restated(source: BlockSource, value: Element, taken: boolean): Converting {
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
  const fillBelow = source.fillValue === undefined ? undefined : toElement(source.dtype, source.fillValue)
  const statsOf = (stats: PartStats): PartStats | undefined => {
    const isStill = fillBelow !== undefined && wasMissing(fillBelow)
    const of = isStill ? stats : restateFill(stats, source, { dtype: source.dtype })
    if (of === undefined) return undefined
    // Missing elements other than the fill value are not counted separately.
    const others =
      (known.nan && !Number.isNaN(fillBelow)) || known.values.some((each) => each !== fillBelow && isBetween(of, each))
    return {
      ...of,
      fillCount: others ? Number.POSITIVE_INFINITY : of.fillCount,
      exact: of.exact && !others && !isBetween(of, value),
    }
  }
  return { forth, back, statsOf }
}

/**
 * Prepares a source for copying to another of its type: missing elements become the missing value of the
 * target. If there are none, or both mark the same elements, the source is returned unchanged.
 * @throws when read, InvalidArgumentError for missing elements if the target has no missing value (except
 *   NaN, which stays), and for elements that would become missing
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
  const forth = (element: Element): Element => {
    if (wasMissing(element) === isMissing(element)) return element
    if (isMissing(element)) return refuse(element)
    return value ?? (Number.isNaN(element) ? element : refuse(element))
  }
  return elementwise(source, source, { forth })
}
