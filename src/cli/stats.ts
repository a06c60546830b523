import type { Command } from 'commander'
import { deviations, Moments } from '../aggregate/moments.ts'
import { missingElements } from '../array/missing.ts'
import { missingTest } from '../array/missing-test.ts'
import { checkFoldable } from '../array/reductions/fold-kinds.ts'
import { type DType, isFixed, isFloat } from '../core/dtype.ts'
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
import { addQueuedOptions, isQueued, type QueuedOptions } from './queued-job.ts'
import { performByQueue, printDryRun } from './queued-reduce.ts'
import type { MethodCall, Perform } from './reductions.ts'

interface Options extends PlaceOptions, LabelOptions, RawOption, JsonOption, QueuedOptions {
  readonly quick?: boolean
}

export function addStats(program: Command): void {
  const command = program
    .command('stats')
    .description('print extremes, mean and standard deviation of arrays, and how many elements are missing')
    .argument('<file>', PLACE)
    .argument('[arrays...]', 'names of arrays (default: all arrays of numbers)')
    .option(
      '--quick',
      'leave out the standard deviation, so that statistics that a container stores can be used instead of reading',
    )
  addLabelOptions(command).addOption(jsonOption()).addOption(rawOption())
  addPlaceOptions(addQueuedOptions(command))
    .addHelpText(
      'after',
      `
Example
  $ hyperslab stats climate.af tas --sel lat=35:70 lon=-10:30

Example: by many machines, on each of which hyperslab work runs
  $ hyperslab stats s3://bucket/x.zarr tas --queue redis://host`,
    )
    .action(async (path: string, names: string[], { json = false, quick = false, ...options }: Options) => {
      await using place = await openPlace(path, options)
      const byQueue = isQueued(options)
      if (quick && byQueue) throw new UsageError('--quick reads only stored statistics, so it cannot be combined with --queue')
      if (quick && options.sel !== undefined)
        throw new UsageError('--quick reads only stored statistics of whole arrays, so it cannot be combined with --sel')
      const stored = quick ? (await place.describe(options)).arrays : []
      const rows: string[][] = []
      const objects: string[] = []
      for (const placed of await arraysOf(place, names)) {
        if (names.length === 0 && !isFixed(placed.array.dtype)) continue
        try {
          const part = await selectArray(place, placed, '', options)
          const { variable } = part
          if (options.dryRun) {
            await printDryRun({ location: path, placed, part, options }, 'std', callsOf(variable, options).std)
            await printLines([`${JOBS} jobs like this one for '${placed.name}'`])
            continue
          }
          const perform = byQueue ? performByQueue({ location: path, placed, part, options }) : undefined
          const known = stored.find(({ name }) => name === placed.name)
          const { std, ...summary } =
            (known && (await storedSummary(variable, known))) ??
            (await (perform === undefined ? summaryOf(variable, options) : summaryBy(perform, variable, options)))
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
      if (options.dryRun) return
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

/**
 * Formats a summary. Extremes have the type of the array, and computed members are numbers. The mean of times
 * is a time.
 */
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

/** Statistics of the elements that are not missing. Unknown members are undefined. */
interface Summary {
  readonly min?: unknown
  readonly max?: unknown
  readonly mean?: number | undefined
  readonly std?: number | undefined
  readonly count: number
  readonly missing: number
}

/** Returns the stored statistics of a whole array; undefined if they are insufficient. */
async function storedSummary({ array }: Variable, { statistics }: ArrayDescription): Promise<Summary | undefined> {
  if (statistics === undefined || !isFixed(array.dtype)) return undefined
  const { min, max, nullCount, nanCount = 0, rowCount } = statistics
  const missing = nullCount + nanCount
  const hasMean = missing < rowCount && array.dtype !== 'timestamp_ns'
  return { min, max, ...(hasMean && { mean: await array.mean(skipping(array)) }), count: rowCount - missing, missing }
}

type Calls = Readonly<Record<'count' | 'extrema' | 'mean' | 'std', MethodCall>>

/** Number of jobs that compute all statistics of an array. */
const JOBS = 4

/** Returns the reductions behind the statistics, without missing elements and NaN. */
function callsOf({ array }: Variable, { raw = false }: RawOption): Calls {
  const skip = { ...skipping(array, !raw), ...(isFloat(array.dtype) && { skipNaN: true }) }
  const call = (method: keyof Calls, options: MethodCall['options'] = skip): MethodCall => ({ method, args: [], options })
  return { count: call('count'), extrema: call('extrema'), mean: call('mean'), std: call('std') }
}

/**
 * Computes a summary by reductions that run elsewhere, one job each.
 * @throws UnsupportedError for texts and bytes
 */
async function summaryBy(perform: Perform, variable: Variable, options: RawOption): Promise<Summary> {
  const { dtype, size } = variable.array
  checkFoldable('mean', dtype === 'timestamp_ns' ? 'int64' : dtype)
  const calls = callsOf(variable, options)
  const count = Number(await perform(calls.count))
  const missing = size - count
  if (count === 0) return { count, missing }
  const { min, max } = (await perform(calls.extrema)) as { min: unknown; max: unknown }
  if (dtype === 'timestamp_ns') return { min, max, count, missing }
  const [mean, std] = [await perform(calls.mean), await perform(calls.std)]
  return { min, max, mean: mean as number, std: std as number, count, missing }
}

/**
 * Computes a summary in one pass over the elements, with some chunks in memory at a time.
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
    // NaN counts as missing.
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
