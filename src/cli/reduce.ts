import { type Command, Option } from 'commander'
import { within } from '../core/errors.ts'
import { reduceAlong } from '../dataset/reductions.ts'
import type { Variable } from '../dataset/variable.ts'
import { readExcerpt, readResult } from './excerpt.ts'
import { checkFormat, type Format, printResult, type Result } from './format.ts'
import { formatOption } from './get.ts'
import { PROGRESS } from './job-progress.ts'
import { type RawOption, rawOption, selectArray, shownAs } from './labelled.ts'
import { addLabelOptions, type LabelOptions } from './labels.ts'
import { openPlace } from './open-place.ts'
import { addPlaceOptions, integerBetween, numberFrom, PLACE, type PlaceOptions } from './options.ts'
import { prefixOption, queueOption } from './queue.ts'
import { DryRun, type QueuedOptions, reduceByQueue } from './queued-reduce.ts'
import { parseAxes } from './selection.ts'

const OPS = ['sum', 'min', 'max', 'mean'] as const
type Op = (typeof OPS)[number]

interface Options extends PlaceOptions, LabelOptions, RawOption, QueuedOptions {
  readonly op: Op
  readonly axis?: string
  readonly keepMissing?: boolean
  readonly format: Format
  readonly full?: boolean
}

export function addReduce(program: Command): void {
  const command = program
    .command('reduce')
    .description('sum, minimum, maximum or mean of an array, of everything or along dimensions')
    .argument('<file>', PLACE)
    .argument('<array>', 'name of an array; in a Zarr store its path')
    .addOption(new Option('--op <op>', 'what to compute').choices(OPS).makeOptionMandatory())
    .option('--axis <axes>', 'dimensions to reduce, by name or number, e.g. lat,lon or 0,-1 (default: all)')
    .option(
      '--keep-missing',
      'do not leave out missing elements: what they are in is missing then, or, with --raw, they are values like others',
    )
  addLabelOptions(command)
    .addOption(formatOption())
    .option('--full', 'print everything as text, also of more than 1000 elements')
    .addOption(rawOption())
    .addOption(queueOption())
    .addOption(prefixOption())
    .option('--task-bytes <bytes>', 'with --queue: about how much a task reads (default: 256 MiB)', integerBetween(1, 2 ** 40))
    .option('--scratch <folder>', 'with --queue: where workers keep what is too large for it, e.g. s3://bucket/scratch')
    .option('--dry-run', 'print the tasks that a queue would have, and do nothing')
    .addOption(
      new Option('--progress <kind>', 'with --queue: what to show meanwhile, on stderr').choices(PROGRESS).default('bar'),
    )
    .option('--request-price <price>', 'with --dry-run: the price of 1000 requests', numberFrom(0))
    .option('--gb-price <price>', 'with --dry-run: the price of a gigabyte', numberFrom(0))
  addPlaceOptions(command)
    .addHelpText(
      'after',
      `
Example: the mean of each month
  $ hyperslab reduce climate.af tas --op mean --axis lat,lon

Example: the mean of a region in one of them
  $ hyperslab reduce climate.af tas --op mean --sel time=1998-01 lat=35:70 lon=-10:30

Example: by many machines, on each of which hyperslab work runs
  $ hyperslab reduce s3://bucket/x.zarr tas --op mean --axis time --queue redis://host --scratch s3://bucket/scratch`,
    )
    .action(async (path: string, name: string, options: Options) => {
      const { op, axis, keepMissing = false, format, full = false } = options
      const axes = axis === undefined ? undefined : parseAxes(axis)
      await using place = await openPlace(path, options)
      const placed = await place.array(name)
      const part = await selectArray(place, placed, '', options)
      const { variable, dims } = part
      await within({ file: place.location, array: placed.name }, async () => {
        const isQueued = options.queue !== undefined || options.dryRun === true
        const how = { ...(axes && { axis: axes.map((each) => nameOf(each, dims)) }), skipMissing: !keepMissing }
        const reduce = isQueued ? reduceByQueue({ location: path, placed, part, method: op, options }) : undefined
        const { variable: reduced } = reduceAlong({ variable, coordinates: new Map() }, op, how, reduce)
        checkFormat(format, reduced.array.dtype)
        const result = await (format === 'text' && !full ? readExcerpt : readResult)(reduced.array, [])
        await printResult(format, { ...result, ...shown(variable, reduced, op, options) })
      }).catch((error: unknown) => {
        if (!(error instanceof DryRun)) throw error
      })
    })
}

/** Numbers count the axes of the whole array. */
const nameOf = (axis: string | number, dims: readonly string[]): string =>
  typeof axis === 'string' ? axis : (dims.at(axis) ?? String(axis))

/** A sum of times is none, nor is what was counted in other units. */
function shown(whole: Variable, reduced: Variable, op: Op, { raw }: RawOption): Pick<Result, 'isMissing' | 'dates'> {
  const { dates, ...rest } = shownAs(reduced, raw === undefined ? {} : { raw })
  const isTime = reduced.array.dtype === 'timestamp_ns' || (op !== 'sum' && whole.array.dtype !== 'timestamp_ns')
  return { ...rest, ...(isTime && dates && { dates }) }
}
