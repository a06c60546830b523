import { type Command, InvalidArgumentError, Option } from 'commander'
import { between, type LabelLike } from '../dataset/between.ts'
import type { Coords } from '../dataset/coords.ts'
import type { LabelIndex } from '../dataset/label-index.ts'
import { takenByLabel } from '../dataset/label-selection.ts'
import type { LabelSelector, SelOptions, Taken } from '../dataset/label-selectors.ts'
import type { Label } from '../dataset/label-values.ts'
import { UsageError } from './failure.ts'

/** Labels of dimensions, as written on the command line. */
export type LabelTexts = ReadonlyMap<string, string>

/** Options of commands that select by labels. */
export interface LabelOptions {
  readonly sel?: LabelTexts
  readonly method?: NonNullable<SelOptions['method']>
  readonly tolerance?: string
}

export const addLabelOptions = (command: Command): Command =>
  command
    .option(
      '--sel <labels...>',
      'what to take by labels of dimensions: one (time=1998-01, which is all of the month), a range, both ends included (lat=35:70), or a list (level=500,850)',
      parseLabels,
    )
    .addOption(
      new Option(
        '--method <method>',
        'what to take where there is no such label: the nearest, the next lower (pad) or the next higher (backfill)',
      ).choices(['nearest', 'pad', 'backfill']),
    )
    .option('--tolerance <distance>', 'with --method: largest distance of that label, e.g. 0.5, or 6h or 1D for times')

/** Parses `dimension=labels`, and adds it to the previous ones. */
function parseLabels(text: string, previous: LabelTexts = new Map()): LabelTexts {
  const [, dim = '', labels = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? []
  if (dim === '') throw new InvalidArgumentError('It must be like time=1998-01 or lat=35:70.')
  if (previous.has(dim)) throw new InvalidArgumentError(`It has ${dim} twice.`)
  return new Map([...previous, [dim, labels]])
}

/** @throws UsageError for options that require others */
export function checkLabelOptions({ sel, method, tolerance }: LabelOptions): void {
  if (method !== undefined && sel === undefined) throw new UsageError('--method requires --sel')
  if (tolerance !== undefined && method === undefined) throw new UsageError('--tolerance requires --method')
}

/**
 * Selects by labels. A method applies to single labels and lists, but not to ranges.
 * @throws errors of `sel` of labelled arrays
 */
export function takenByLabels(
  coords: Coords,
  dims: readonly string[],
  { sel = new Map(), method, tolerance }: LabelOptions,
): Map<string, Taken> {
  const taken = new Map<string, Taken>()
  const isNumber = tolerance !== undefined && tolerance.trim() !== '' && Number.isFinite(Number(tolerance))
  const near = {
    ...(method && { method }),
    ...(tolerance !== undefined && { tolerance: isNumber ? Number(tolerance) : tolerance }),
  }
  for (const [dim, text] of sel) {
    const index = coords.get(dim)?.index
    const range = index && rangeOf(index, text)
    const selector = index === undefined ? text : (range ?? listOf(index, dim, text))
    const found = takenByLabel({ [dim]: selector }, coords, dims, range === undefined ? near : {})
    taken.set(dim, found.get(dim)!)
  }
  return taken
}

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
    const label = (end: string, open: Label): LabelLike => (end === '' ? open : isTime ? end : numberOf(index, end))
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

function listOf(index: LabelIndex, dim: string, text: string): LabelSelector {
  const labels = text.split(',').map((each) => labelOf(index, dim, each.trim()))
  return labels.length === 1 ? labels[0]! : labels
}

const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?$/i
/** Pattern of ISO 8601 that is strict about colons only. Parsing the label reports other mistakes. */
const TIME = /^[-+]?\d+(-\d+(-\d+([T ]\d+(:\d\d(:\d\d([.,]\d+)?)?)?(Z|[-+]\d\d(:?\d\d)?)?)?)?)?$/i

function labelOf(index: LabelIndex, dim: string, text: string): LabelLike {
  const isText = typeof index.values[0] === 'string' || index.kind.calendar !== undefined
  if (isText) return text
  if (NUMBER.test(text)) return numberOf(index, text)
  throw new UsageError(`--sel ${dim}: '${text}' is no number, as labels along ${dim} are, nor a range of two`)
}

const numberOf = ({ values }: LabelIndex, text: string): number | bigint =>
  typeof values[0] === 'bigint' && /^[-+]?\d+$/.test(text) ? BigInt(text) : Number(text)
