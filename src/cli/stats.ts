import type { Command } from 'commander'
import { deviations, Moments } from '../aggregate/moments.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import { checkFoldable } from '../array/reductions/fold-kinds.ts'
import { type DType, isFixed } from '../core/dtype.ts'
import { isHyperslabError } from '../core/errors.ts'
import { skipping } from '../dataset/reductions.ts'
import type { Variable } from '../dataset/variable.ts'
import { zipBlocks } from '../runtime/index.ts'
import type { ArrayDescription } from './description.ts'
import { EXIT, oneLine, UsageError } from './failure.ts'
import { elementJson, elementText, type Result } from './format.ts'
import { arraysOf } from './head.ts'
import { type RawOption, rawOption, type Shown, selectArray, shownAs } from './labelled.ts'
import { addLabelOptions, type LabelOptions } from './labels.ts'
import { openPlace } from './open-place.ts'
import { addPlaceOptions, type JsonOption, jsonOption, PLACE, type PlaceOptions } from './options.ts'
import { print, printError, printLines, table } from './output.ts'

interface Options extends PlaceOptions, LabelOptions, RawOption, JsonOption {
  readonly quick?: boolean
}

export function addStats(program: Command): void {
  const command = program
    .command('stats')
    .description('print extremes, mean and standard deviation of arrays, and how many elements are missing')
    .argument('<file>', PLACE)
    .argument('[arrays...]', 'names of arrays (default: all that hold numbers)')
    .option(
      '--quick',
      'leave out the standard deviation, so that statistics that a container stores can be used instead of reading',
    )
  addLabelOptions(command).addOption(jsonOption()).addOption(rawOption())
  addPlaceOptions(command)
    .addHelpText('after', '\nExample:\n  $ hyperslab stats climate.af tas --sel lat=35:70 lon=-10:30')
    .action(async (path: string, names: string[], { json = false, quick = false, ...options }: Options) => {
      await using place = await openPlace(path, options)
      if (quick && options.sel !== undefined) throw new UsageError('--quick is for whole arrays, of which statistics are stored')
      const stored = quick ? (await place.describe(options)).arrays : []
      const rows: string[][] = []
      const objects: string[] = []
      for (const placed of await arraysOf(place, names)) {
        if (names.length === 0 && !isFixed(placed.array.dtype)) continue
        try {
          const { variable } = await selectArray(place, placed, '', options)
          const known = stored.find(({ name }) => name === placed.name)
          const { std, ...summary } = (known && (await storedSummary(variable, known))) ?? (await summaryOf(variable, options))
          const cells = cellsOf({ ...summary, ...(!quick && { std }) }, variable, shownAs(variable, options))
          const members = Object.entries(cells).map(([name, { json }]) => `"${name}":${json}`)
          if (json) objects.push(`${JSON.stringify(placed.name)}:{${members.join(',')}}`)
          else rows.push([placed.name, ...COLUMNS.map((column) => cells[column]?.text ?? '')])
        } catch (error) {
          if (!isHyperslabError(error)) throw error
          const { message } = error.within({ file: place.location, array: placed.name })
          printError(oneLine(message))
          process.exitCode = EXIT.failed
        }
      }
      const titles = COLUMNS.map((title) => ({ title, align: 'right' as const }))
      if (json) await print([`{${objects.join(',\n')}}\n`])
      else await printLines(table([{ title: 'name' }, ...titles], rows, ''))
    })
}

const COLUMNS = ['min', 'max', 'mean', 'std', 'count', 'missing'] as const
type Column = (typeof COLUMNS)[number]

/** A number as text and as JSON. */
interface Cell {
  readonly text: string
  readonly json: string
}

const NONE: Cell = { text: '-', json: 'null' }

/** Extremes are of the type of the array, what is computed of them are numbers; of times a mean is a time. */
function cellsOf({ min, max, mean, std, count, missing }: Summary, { array }: Variable, { dates }: Shown): Record<Column, Cell> {
  const cell = (dtype: DType, value: unknown, own: Pick<Result, 'dates'> = {}): Cell => {
    if (value === undefined || Number.isNaN(value)) return NONE
    if (typeof value === 'string') return { text: value, json: JSON.stringify(value) }
    return { text: elementText({ dtype, ...own }, value), json: elementJson({ dtype, ...own }, value) }
  }
  const shown = dates && { dates }
  return {
    min: cell(array.dtype, min, shown),
    max: cell(array.dtype, max, shown),
    mean: cell('float64', mean, shown),
    std: cell('float64', std),
    count: cell('float64', count),
    missing: cell('float64', missing),
  }
}

/** Of the elements of an array that are there; what nothing is known of is left out. */
interface Summary {
  readonly min?: unknown
  readonly max?: unknown
  readonly mean?: number | undefined
  readonly std?: number | undefined
  readonly count: number
  readonly missing: number
}

/** What is stored of a whole array; undefined where that is not enough. */
async function storedSummary({ array }: Variable, { statistics }: ArrayDescription): Promise<Summary | undefined> {
  if (statistics === undefined || !isFixed(array.dtype)) return undefined
  const { min, max, nullCount, nanCount = 0, rowCount } = statistics
  const missing = nullCount + nanCount
  const hasMean = missing < rowCount && array.dtype !== 'timestamp_ns'
  return { min, max, ...(hasMean && { mean: await array.mean(skipping(array)) }), count: rowCount - missing, missing }
}

/**
 * What one passage through the elements tells, of which some chunks are in memory at a time.
 * @throws UnsupportedError for texts and bytes
 */
async function summaryOf({ array }: Variable, { raw = false }: RawOption): Promise<Summary> {
  const { dtype } = array
  checkFoldable('mean', dtype === 'timestamp_ns' ? 'int64' : dtype)
  const isMissing = raw ? undefined : missingTest(missingElements(array.source))
  const moments = new Moments(1)
  let [min, max]: (number | bigint | undefined)[] = []
  for await (const { data } of zipBlocks([array])) {
    const elements = data[0]!.data as ArrayLike<number | bigint>
    // NaN is no value, either.
    const isValue = (element: number | bigint): boolean => !Number.isNaN(element) && !isMissing?.(element)
    let [count, sum, squares] = [0, 0, 0]
    for (let i = 0; i < elements.length; i++) {
      const element = elements[i]!
      if (!isValue(element)) continue
      if (min === undefined || element < min) min = element
      if (max === undefined || element > max) max = element
      sum += Number(element)
      count++
    }
    const mean = sum / count
    for (let i = 0; i < elements.length; i++) if (isValue(elements[i]!)) squares += (Number(elements[i]) - mean) ** 2
    moments.merge(0, count, mean, squares)
  }
  const count = moments.counts[0]!
  const isNumber = count > 0 && dtype !== 'timestamp_ns'
  const value = (extreme: number | bigint): unknown => (dtype === 'bool' ? extreme !== 0 : extreme)
  return {
    ...(count > 0 && { min: value(min!), max: value(max!) }),
    ...(isNumber && { mean: moments.means[0]!, std: deviations('std', moments.squares, moments.counts, 0)[0]! }),
    count,
    missing: array.size - count,
  }
}
