import { type Command, Option } from 'commander'
import type { DataArray } from '../../runtime/dataset.ts'
import type { DiskArray } from '../../runtime/index.ts'
import {
  type Counts,
  countWith,
  type MethodCall,
  type Perform,
  type ReduceWithKind,
  type ReduceWithOptions,
  reduceWith,
  reductionCall,
} from '../../runtime/tree.ts'
import { checkFormat, type OutputFormat, printArray, printTable, type Result } from '../show/elements.ts'
import { naming, UsageError } from '../show/failure.ts'
import { chooseFormat, formatOption, fullOption } from './get.ts'
import {
  addPlaceOptions,
  integerBetween,
  type JsonOption,
  PLACE,
  type PlaceOptions,
  parseAxes,
  parseNumbers,
  parseRange,
  pyramidLevelOption,
} from './options.ts'
import { openPlace } from './place.ts'
import { addQueuedOptions, isQueued, performByQueue, printDryRun, type QueuedOptions } from './queue.ts'
import { addLabelOptions, type LabelOptions, type RawOption, rawOption, selectArray, shownAs } from './select.ts'

/** Operations by the kinds of reductions. The last two return tables over all elements. */
const KINDS = {
  sum: 'sum',
  mean: 'mean',
  min: 'min',
  max: 'max',
  prod: 'prod',
  variance: 'variance',
  std: 'std',
  count: 'count',
  median: 'median',
  countnonzero: 'countNonzero',
  quantile: 'quantile',
  any: 'any',
  all: 'all',
  argmin: 'argMin',
  argmax: 'argMax',
  histogram: 'histogram',
  unique: 'unique',
} as const satisfies Record<string, ReduceWithKind | 'histogram' | 'unique'>

type Op = keyof typeof KINDS
type TableOp = 'histogram' | 'unique'

export const OPS = Object.keys(KINDS) as readonly Op[]

interface ReductionOptions {
  /** Shares of quantiles. */
  readonly q?: readonly number[]
  /** Number of bins of a histogram. */
  readonly bins?: number
  /** First and last edge of the bins. */
  readonly range?: readonly [number, number]
}

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
  addLabelOptions(command).addOption(formatOption()).addOption(fullOption()).addOption(rawOption())
  addPlaceOptions(addQueuedOptions(command))
    .addOption(pyramidLevelOption())
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
    .action(reduceArray)
}

async function reduceArray(path: string, name: string, options: Options): Promise<void> {
  const { op, axis, keepMissing = false, full } = options
  const format = chooseFormat(options)
  checkOptions(op, options, axis)
  const axes = axis === undefined ? undefined : parseAxes(axis)
  await using place = await openPlace(path, options)
  const placed = await place.array(name)
  const part = await selectArray(place, placed, '', options)
  const { variable, dims } = part
  await naming({ file: place.location, array: placed.name }, async () => {
    const how = { ...(axes && { axis: axes.map((each) => nameOf(each, dims)) }), skipMissing: !keepMissing }
    const given = givenOptions(options)
    const queued = { location: path, placed, part, options }
    if (isQueued(options) && op === 'mean' && variable.array.dtype === 'timestamp_ns')
      throw new UsageError('workers of a queue do not compute means of times')
    if (options.dryRun) return printDryRun(queued, createCall(variable, op, { ...how, ...given }), op)
    const perform = isQueued(options) ? performByQueue(queued) : performHere(variable.array)
    if (isTable(op)) {
      const counts = await countWith(variable, op, { ...how, ...given }, perform)
      return printTable(format, formatColumns(counts, variable, options))
    }
    const cells = await reduceWith(variable, KINDS[op], { ...how, ...given }, perform)
    checkFormat(format, cells.array.dtype)
    await printArray(format, cells.array, shown(variable, cells, op, options), full)
  })
}

/** Resolves an axis to its dimension. Numbers count the axes of the whole array. */
const nameOf = (axis: string | number, dims: readonly string[]): string =>
  typeof axis === 'string' ? axis : (dims.at(axis) ?? String(axis))

/** @throws UsageError for options of other reductions, and for missing ones */
function checkOptions(op: Op, { q, bins, range }: ReductionOptions, axis: string | undefined): void {
  if (q !== undefined && op !== 'quantile') throw new UsageError(`--q is for --op quantile, not ${op}`)
  if (q === undefined && op === 'quantile') throw new UsageError('--op quantile needs --q, e.g. --q 0.1,0.9')
  for (const [name, value] of Object.entries({ bins, range }))
    if (value !== undefined && op !== 'histogram') throw new UsageError(`--${name} is for --op histogram, not ${op}`)
  if (isTable(op) && axis !== undefined) throw new UsageError(`--axis is not for --op ${op}, which takes all elements together`)
}

export const isTable = (op: Op): op is TableOp => op === 'histogram' || op === 'unique'

/** Returns the options of a reduction that were given. One share yields no dimension of quantiles. */
const givenOptions = ({ q, bins, range }: ReductionOptions): ReduceWithOptions => ({
  ...(q !== undefined && { q: q.length === 1 ? q[0]! : q }),
  ...(bins !== undefined && { bins }),
  ...(range !== undefined && { range }),
})

/** Returns the method call of an operation. */
export const createCall = (variable: DataArray, op: Op, options: ReduceWithOptions): MethodCall =>
  reductionCall(variable, KINDS[op], options)

/** Returns a function that runs reductions of an array in this process. */
export const performHere =
  (array: DiskArray): Perform =>
  ({ method, args, options }) =>
    (array[method] as (...given: unknown[]) => Promise<unknown>).call(array, ...args, options)

/** Returns counts as columns of a table. Edges are one more than the counts. */
function formatColumns(counted: Counts, variable: DataArray, { raw }: RawOption): Readonly<Record<string, Result>> {
  const shown = shownAs(variable, raw === undefined ? {} : { raw })
  const counts: Result = { dtype: 'float64', tensor: counted.counts }
  if ('values' in counted) return { values: { dtype: variable.dtype, tensor: counted.values, ...shown }, counts }
  return { edges: { dtype: 'float64', tensor: counted.edges, ...(shown.dates && { dates: shown.dates }) }, counts }
}

/** Reductions of times whose result is a time. */
const KEEPS_TIMES: readonly Op[] = ['min', 'max', 'mean', 'median', 'quantile']

function shown(whole: DataArray, reduced: DataArray, op: Op, { raw }: RawOption): Pick<Result, 'isMissing' | 'dates'> {
  // -1 means no position.
  if (op === 'argmin' || op === 'argmax') return { isMissing: (element) => element === -1 }
  const { dates, ...rest } = shownAs(reduced, raw === undefined ? {} : { raw })
  const isTime = reduced.array.dtype === 'timestamp_ns' || (KEEPS_TIMES.includes(op) && whole.array.dtype !== 'timestamp_ns')
  return { ...rest, ...(isTime && dates && { dates }) }
}
