import { type Command, InvalidArgumentError, Option } from 'commander'
import type { DataArray } from '../../runtime/dataset.ts'
import { HyperslabError, isHyperslabError } from '../../runtime/index.ts'
import {
  type ElementFormat,
  elementFormat,
  isWrongWords,
  type LabelledTree,
  type SelectedPart,
  selectInWords,
  type TreeArray,
} from '../../runtime/tree.ts'
import { UsageError } from '../show/failure.ts'
import { parseSelection } from './options.ts'

/** Labels of dimensions, as written on the command line. */
type LabelTexts = ReadonlyMap<string, string>

/** Options of commands that select by labels. */
export interface LabelOptions {
  readonly sel?: LabelTexts
  readonly method?: 'nearest' | 'pad' | 'backfill'
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
function checkLabelOptions({ sel, method, tolerance }: LabelOptions): void {
  if (method !== undefined && sel === undefined) throw new UsageError('--method requires --sel')
  if (tolerance !== undefined && method === undefined) throw new UsageError('--tolerance requires --method')
}

/** Options of commands that show values. */
export interface RawOption {
  readonly raw?: boolean
}

export const rawOption = () =>
  new Option('--raw', 'values as they are stored: the CF conventions for missing values, scaling and times are not applied')

/**
 * Selects a part of an array for display.
 * @param text positions, as in `get`
 * @throws UsageError for an axis that is selected twice; errors of decoding, which name the option that shows
 *   stored values
 */
export async function selectArray(
  place: LabelledTree,
  placed: TreeArray,
  text: string,
  { raw = false, ...options }: LabelOptions & RawOption,
): Promise<SelectedPart> {
  checkLabelOptions(options)
  const { sel, method, tolerance } = options
  const label = { file: place.location, array: placed.name }
  const positions = parseSelection(text, placed.array.shape.length)
  const whole = await advisingRaw(() => place.dataArray(placed, { raw, ...(sel && { coordinates: 'own' }) }))
  for (const [axis, selector] of positions.entries())
    if (selector !== null && sel?.has(whole.dims[axis]!))
      throw new UsageError(`${whole.dims[axis]} is selected twice: by --sel, and by position, of which : takes all`)
  const isNumber = tolerance !== undefined && tolerance.trim() !== '' && Number.isFinite(Number(tolerance))
  const near = {
    ...(method && { method }),
    ...(tolerance !== undefined && { tolerance: isNumber ? Number(tolerance) : tolerance }),
  }
  try {
    const part = selectInWords(whole, { positions, ...(sel && { labels: Object.fromEntries(sel) }), ...near })
    return part
  } catch (error) {
    if (!isHyperslabError(error)) throw error
    throw isWrongWords(error) ? new UsageError(`--sel ${error.text}`) : error.within(label)
  }
}

/** Runs work. Names the option that helps if an array cannot be decoded. */
export async function advisingRaw<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isHyperslabError(error) || error.details.expected !== 'raw') throw error
    throw new HyperslabError(error.tag, `${error.message}; --raw shows the stored values`, { cause: error })
  }
}

/** Returns the formats of the elements of an array. Stored elements (`raw`) have none. */
export const shownAs = (variable: DataArray, { raw = false }: RawOption): ElementFormat => (raw ? {} : elementFormat(variable))
