import { type Command, Option } from 'commander'
import { within } from '../core/errors.ts'
import type { Variable } from '../dataset/variable.ts'
import { readExcerpt, readResult } from './excerpt.ts'
import { UsageError } from './failure.ts'
import { checkFormat, type OutputFormat, printResult, printTable, type Result } from './format.ts'
import { formatOf, formatOption } from './get.ts'
import { type RawOption, rawOption, selectArray, shownAs } from './labelled.ts'
import { addLabelOptions, type LabelOptions } from './labels.ts'
import { openPlace } from './open-place.ts'
import {
  addPlaceOptions,
  integerBetween,
  type JsonOption,
  jsonOption,
  PLACE,
  type PlaceOptions,
  parseNumbers,
  parseRange,
} from './options.ts'
import { addQueuedOptions, isQueued, type QueuedOptions } from './queued-job.ts'
import { performByQueue, printDryRun } from './queued-reduce.ts'
import {
  callOf,
  checkReductionOptions,
  countsOf,
  isTable,
  OPS,
  type Op,
  performHere,
  type ReductionOptions,
  reduced,
} from './reductions.ts'
import { parseAxes } from './selection.ts'

interface Options extends PlaceOptions, LabelOptions, RawOption, QueuedOptions, ReductionOptions, JsonOption {
  readonly op: Op
  readonly axis?: string
  readonly keepMissing?: boolean
  readonly format?: OutputFormat
  readonly full?: boolean
}

export function addReduce(program: Command): void {
  const command = program
    .command('reduce')
    .description('compute the mean, extremes, quantiles and other reductions of an array, or along its dimensions')
    .argument('<file>', PLACE)
    .argument('<array>', 'name of an array; in a Zarr store its path')
    .addOption(new Option('--op <op>', 'what to compute').choices(OPS).makeOptionMandatory())
    .option('--q <shares>', 'with --op quantile: shares from 0 to 1, e.g. 0.5 or 0.1,0.9', parseNumbers)
    .option('--bins <number>', 'with --op histogram: how many (default: 10)', integerBetween(1, 1_000_000))
    .option('--range <ends>', 'with --op histogram: the bounds of the bins, e.g. 250,310 (default: the extremes)', parseRange)
    .option('--axis <axes>', 'dimensions to reduce, by name or number, e.g. lat,lon or 0,-1 (default: all)')
    .option(
      '--keep-missing',
      'do not leave out missing elements: results that they go into are missing; with --raw, they are values like others',
    )
  addLabelOptions(command)
    .addOption(formatOption())
    .addOption(jsonOption())
    .option('--full', 'print all elements as text, even more than 1000')
    .addOption(rawOption())
  addPlaceOptions(addQueuedOptions(command))
    .addHelpText(
      'after',
      `
Example: the mean of each month
  $ hyperslab reduce climate.af tas --op mean --axis lat,lon

Example: the place of the warmest element, and how values are spread
  $ hyperslab reduce climate.af tas --op argmax
  $ hyperslab reduce climate.af tas --op histogram --bins 20 --range 220,320

Example: the mean of a region in one of them
  $ hyperslab reduce climate.af tas --op mean --sel time=1998-01 lat=35:70 lon=-10:30

Example: by many machines, on each of which hyperslab work runs
  $ hyperslab reduce s3://bucket/x.zarr tas --op mean --axis time --queue redis://host --scratch s3://bucket/scratch`,
    )
    .action(async (path: string, name: string, options: Options) => {
      const { op, axis, keepMissing = false, full = false } = options
      const format = formatOf(options)
      checkReductionOptions(op, options, axis)
      const axes = axis === undefined ? undefined : parseAxes(axis)
      await using place = await openPlace(path, options)
      const placed = await place.array(name)
      const part = await selectArray(place, placed, '', options)
      const { variable, dims } = part
      await within({ file: place.location, array: placed.name }, async () => {
        const how = { ...(axes && { axis: axes.map((each) => nameOf(each, dims)) }), skipMissing: !keepMissing }
        const queued = { location: path, placed, part, options }
        if (isQueued(options) && op === 'mean' && variable.array.dtype === 'timestamp_ns')
          throw new UsageError('workers of a queue do not compute means of times')
        if (options.dryRun) return printDryRun(queued, callOf(variable, op, how, options), op)
        const perform = isQueued(options) ? performByQueue(queued) : performHere(variable.array)
        if (isTable(op))
          return printTable(format, await countsOf(variable, op, how, options, shownAs(variable, options), perform))
        const cells = await reduced(variable, op, how, options, perform)
        checkFormat(format, cells.array.dtype)
        const result = await (format === 'text' && !full ? readExcerpt : readResult)(cells.array, [])
        await printResult(format, { ...result, ...shown(variable, cells, op, options) })
      })
    })
}

/** Resolves an axis to its dimension. Numbers count the axes of the whole array. */
const nameOf = (axis: string | number, dims: readonly string[]): string =>
  typeof axis === 'string' ? axis : (dims.at(axis) ?? String(axis))

/** Reductions of times whose result is a time. */
const KEEPS_TIMES: readonly Op[] = ['min', 'max', 'mean', 'median', 'quantile']

function shown(whole: Variable, reduced: Variable, op: Op, { raw }: RawOption): Pick<Result, 'isMissing' | 'dates'> {
  // -1 means no position.
  if (op === 'argmin' || op === 'argmax') return { isMissing: (element) => element === -1 }
  const { dates, ...rest } = shownAs(reduced, raw === undefined ? {} : { raw })
  const isTime = reduced.array.dtype === 'timestamp_ns' || (KEEPS_TIMES.includes(op) && whole.array.dtype !== 'timestamp_ns')
  return { ...rest, ...(isTime && dates && { dates }) }
}
