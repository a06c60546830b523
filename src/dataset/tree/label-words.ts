import { resolveFor, type SliceSelection } from '../../array/excerpt.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { Between, between, type LabelLike } from '../between.ts'
import { takeCoords } from '../coords.ts'
import { DataArray } from '../data-array.ts'
import type { LabelIndex } from '../label-index.ts'
import { SEL_CHECKS, takenByLabel } from '../label-selection.ts'
import type { LabelSelector, SelOptions, Taken } from '../label-selectors.ts'
import type { Label } from '../label-values.ts'

/** Options of `selectInWords`. A method applies to single labels and lists, but not to ranges. */
export interface SelectInWordsOptions extends SelOptions {
  /** Selection by position of leading axes, with integers and slices. Default: everything. */
  readonly positions?: SliceSelection
  /**
   * Labels by dimension: one (`1998-01`, which is all of the month), a range, both ends included (`35:70`),
   * or a list (`500,850`).
   */
  readonly labels?: Readonly<Record<string, string>>
}

const CHECKS: Checks<SelectInWordsOptions> = { positions: 'list', labels: 'plain object', ...SEL_CHECKS }

/** A selected part of an array. */
export interface SelectedPart {
  /** Selected values. */
  readonly variable: DataArray
  /** Dimensions of the whole array. */
  readonly dims: readonly string[]
  /**
   * Selected positions of each dimension that is selected: one, which drops the dimension, or parts, with a
   * shift of the labels of each.
   */
  readonly taken: ReadonlyMap<string, Taken>
}

/** Details of the error for words that are no labels. */
const EXPECTED = 'a number, a range or a list'

/**
 * Selects a part of an array by labels as users write them, and by positions.
 * @throws InvalidSelectionError; InvalidArgumentError for words that are no labels, for a dimension that is
 *   selected twice, and as `sel`
 * @example
 * const coords = { lat: [50, 52.5, 55] }
 * const t = new Dataset({ t: { dims: ['lat'], data: [281, 285, 290] } }, { coords }).get('t')
 * const { variable, taken } = selectInWords(t, { labels: { lat: '52:' } })
 * console.log(await variable.values(), variable.shape) // Float64Array(2) [ 285, 290 ] [ 2 ]
 */
export function selectInWords(whole: DataArray, options: SelectInWordsOptions = {}): SelectedPart {
  checkOptions('selectInWords', options, CHECKS, { array: whole.name })
  const { positions = [], labels = {}, ...near } = options
  const { dims } = whole
  const taken = new Map<string, Taken>()
  for (const [axis, { start, step, length, keep }] of resolveFor(whole.array, positions).entries()) {
    const dim = dims[axis]!
    if ((positions[axis] ?? null) === null) continue
    if (Object.hasOwn(labels, dim)) throw wrongWords(`${dim} is selected twice: by labels, and by position`, dim)
    taken.set(dim, keep ? { parts: [{ positions: { start, step, length }, shift: 0 }] } : { position: start })
  }
  for (const [dim, text] of Object.entries(labels)) {
    const index = whole.coordinates.get(dim)?.index
    const selector = index === undefined ? text : parseLabels(index, dim, text)
    const how = selector instanceof Between ? {} : near
    taken.set(dim, takenByLabel({ [dim]: selector }, whole.coordinates, dims, how).get(dim)!)
  }
  return { variable: takePart(whole, taken), dims, taken }
}

const takePart = ({ variable, coordinates }: DataArray, taken: ReadonlyMap<string, Taken>): DataArray =>
  new DataArray(variable.take(taken), takeCoords(coordinates, taken))

const wrongWords = (text: string, actual: string): HyperslabError =>
  new HyperslabError('InvalidArgumentError', text, { actual, expected: EXPECTED })

/** Whether an error means that a user's words are no labels. */
export const isWrongWords = ({ details }: HyperslabError): boolean => details.expected === EXPECTED

/** Parses labels of a dimension. */
const parseLabels = (index: LabelIndex, dim: string, text: string): LabelSelector =>
  rangeOf(index, text) ?? parseLabelList(index, dim, text)

/**
 * Parses a range of labels. Times contain colons, so only a colon beside or between complete times separates
 * a range.
 */
function rangeOf(index: LabelIndex, text: string): LabelSelector | undefined {
  if (typeof index.values[0] === 'string' || !text.includes(':')) return undefined
  const isTime = index.kind.calendar !== undefined
  const isLabel = isTime ? TIME : NUMBER
  if (isLabel.test(text)) return undefined
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) {
    const [low, high] = [text.slice(0, at).trim(), text.slice(at + 1).trim()]
    if (![low, high].every((end) => end === '' || isLabel.test(end))) continue
    const [least, greatest] = ends(index)
    const label = (end: string, open: Label): LabelLike => (end === '' ? open : isTime ? end : parseNumber(index, end))
    return between(label(low, least), label(high, greatest))
  }
  return undefined
}

/** Returns the smallest and the greatest label. */
function ends({ values }: LabelIndex): [Label, Label] {
  let [least, greatest] = [values[0]!, values[0]!]
  for (let i = 1; i < values.length; i++) {
    if (values[i]! < least) least = values[i]!
    if (values[i]! > greatest) greatest = values[i]!
  }
  return [least, greatest]
}

function parseLabelList(index: LabelIndex, dim: string, text: string): LabelSelector {
  const labels = text.split(',').map((each) => labelOf(index, dim, each.trim()))
  return labels.length === 1 ? labels[0]! : labels
}

const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i
/** Pattern of ISO 8601 that is strict about colons only. Parsing the label reports other mistakes. */
const TIME = /^[-+]?\d+(-\d+(-\d+([T ]\d+(:\d\d(:\d\d([.,]\d+)?)?)?(Z|[-+]\d\d(:?\d\d)?)?)?)?)?$/i

function labelOf(index: LabelIndex, dim: string, text: string): LabelLike {
  const isText = typeof index.values[0] === 'string' || index.kind.calendar !== undefined
  if (isText) return text
  if (NUMBER.test(text)) return parseNumber(index, text)
  throw wrongWords(`${dim}: '${text}' is no number, as labels along ${dim} are, nor a range of two`, text)
}

const parseNumber = ({ values }: LabelIndex, text: string): number | bigint =>
  typeof values[0] === 'bigint' && /^[-+]?\d+$/.test(text) ? BigInt(text) : Number(text)
