import type { Command } from 'commander'
import type { DataArray } from '../../runtime/dataset.ts'
import type { DescribeResult, DType } from '../../runtime/index.ts'
import { isHyperslabError } from '../../runtime/index.ts'
import type { ArrayDescription, ElementFormat, MethodCall } from '../../runtime/tree.ts'
import { elementJson, elementText, hasFixedWidth, isFloatType, type Result } from '../show/elements.ts'
import { EXIT, oneLine, UsageError } from '../show/failure.ts'
import { print, printError, printLines, table } from '../show/text.ts'
import { listArrays } from './head.ts'
import { addPlaceOptions, type JsonOption, PLACE, type PlaceOptions, pyramidLevelOption } from './options.ts'
import { openPlace } from './place.ts'
import { addQueuedOptions, isQueued, performByQueue, printDryRun, type QueuedOptions } from './queue.ts'
import { performHere } from './reduce.ts'
import { addLabelOptions, type LabelOptions, type RawOption, rawOption, selectArray, shownAs } from './select.ts'

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
  addLabelOptions(command).addOption(rawOption())
  addPlaceOptions(addQueuedOptions(command))
    .addOption(pyramidLevelOption())
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
      if (quick) checkQuick(options)
      const stored = quick ? (await place.describe({ raw: options.raw ?? false })).arrays : []
      const rows: string[][] = []
      const objects: string[] = []
      for (const placed of await listArrays(place, names)) {
        if (names.length === 0 && !hasFixedWidth(placed.array.dtype)) continue
        try {
          const part = await selectArray(place, placed, '', options)
          const { variable } = part
          const call = describing(variable, { quick, ...options })
          const queued = { location: path, placed, part, options }
          if (options.dryRun) {
            await printDryRun(queued, call)
            continue
          }
          const perform = byQueue ? performByQueue(queued) : performHere(variable.array)
          const known = stored.find(({ name }) => name === placed.name)
          const description = (known && storedTimes(variable, known)) ?? ((await perform(call)) as DescribeResult)
          const cells = formatCells(description, variable, shownAs(variable, options))
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

/** @throws UsageError for options that need elements */
function checkQuick(options: Options): void {
  if (isQueued(options)) throw new UsageError('--quick reads only stored statistics, so it cannot be combined with --queue')
  if (options.sel !== undefined)
    throw new UsageError('--quick reads only stored statistics of whole arrays, so it cannot be combined with --sel')
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
 * Formats a description. Extremes have the type of the array, and computed members are numbers. The mean of
 * times is a time.
 */
function formatCells(
  { min, max, mean, std, count, missing }: DescribeResult,
  { array }: DataArray,
  { dates }: ElementFormat,
): Record<Column, Cell> {
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

/**
 * Returns the stored statistics of a whole array of times, which `describe` would read; undefined without
 * them.
 */
function storedTimes({ array }: DataArray, { statistics }: ArrayDescription): DescribeResult | undefined {
  if (statistics === undefined || array.dtype !== 'timestamp_ns') return undefined
  const { min, max, nullCount, rowCount } = statistics
  return { min, max, mean: Number.NaN, std: Number.NaN, count: rowCount - nullCount, missing: nullCount }
}

/** Returns the call that describes an array without missing elements and NaN. */
function describing({ array }: DataArray, { raw = false, quick = false }: Options): MethodCall {
  const skip = { skipMissing: !raw, ...(isFloatType(array.dtype) && { skipNaN: true }) }
  return { method: 'describe', args: [], options: { ...skip, ...(quick && { std: false }) } }
}
