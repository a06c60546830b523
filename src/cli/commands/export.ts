import { type Command, InvalidArgumentError, Option } from 'commander'
import { type Dataset, openDataset, type WriteDatasetOptions } from '../../runtime/dataset.ts'
import { formatToWrite, shareMemory, type WrittenFormat, writeNewFile } from '../../runtime/tree.ts'
import { interruptible, oneLine, RESUMABLE, UsageError } from '../show/failure.ts'
import { progressLine } from '../show/progress.ts'

import { count, printError, printResult, showBytes } from '../show/text.ts'
import {
  addWritingOptions,
  integerBetween,
  type JsonOption,
  namesOption,
  notFoundAt,
  PLACE,
  parseNames,
  pyramidLevelOption,
  type WritingOptions,
} from './options.ts'
import { addQueuedOptions, copyByQueue, isQueued, type QueuedOptions } from './queue.ts'

interface Options extends WritingOptions, QueuedOptions, JsonOption {
  readonly names?: readonly string[]
  readonly pyramidLevel?: number
  readonly group?: string
  readonly levels?: number
  readonly kind?: 1 | 2 | 5
  readonly unlimited?: readonly string[]
}

/** Parses a version of NetCDF, one of the choices. */
function parseKind(text: string): number {
  if (!['1', '2', '5'].includes(text)) throw new InvalidArgumentError('It must be 1, 2 or 5.')
  return Number(text)
}

/** Name of a table. */
const TABLE = /\.csv$/i

export function addExport(program: Command): void {
  const command = program
    .command('export')
    .description('write the variables of a place with their labels as Zarr, as a container, as classic NetCDF or as a table')
    .argument('<input>', PLACE)
    .argument('<output>', 'the output: out.zarr, out.af, out.nc or out.csv')
    .option('--codec <codec>', 'codec of chunks: zstd, gzip, zlib, lz4, blosc, none; for containers lz4, zstd, none')
    .option('--levels <number>', 'for Zarr: number of levels of a pyramid, each at half the resolution', integerBetween(1, 32))
    .addOption(
      new Option('--kind <number>', 'for NetCDF: CDF-1, CDF-2 or CDF-5 (default: the first that holds the data)').argParser(
        parseKind,
      ),
    )
    .addOption(new Option('--unlimited <dims>', 'for NetCDF: unlimited dimensions, e.g. time').argParser(parseNames))
    .option('--group <path>', 'group to write; / is the root alone, without the groups in it')
    .addOption(namesOption())
    .addOption(pyramidLevelOption())
  addQueuedOptions(addWritingOptions(command))
    .addHelpText(
      'after',
      `
Values are encoded as they were (packed, as numbers of units of time); what cannot be decoded is left out with a warning.
Zarr and NetCDF are written in bounded memory. Zarr that ended early goes on where it was with the same command.

Examples
  $ hyperslab export climate.af climate.zarr --chunks time=1,lat=90,lon=90 --shards time=30,lat=180,lon=360
  $ hyperslab export climate.af map.zarr --levels 5
  $ hyperslab export climate.zarr climate.nc --unlimited time
  $ hyperslab export climate.af tas.csv --variables tas`,
    )
    .action(exportPlace)
}

async function exportPlace(input: string, output: string, options: Options): Promise<void> {
  const isTable = TABLE.test(output)
  const target = isTable ? undefined : formatToWrite(output)
  if (!isTable && target === undefined)
    throw new UsageError(`the name of the output ends in .zarr, .af, .nc or .csv, '${output}' does not`)
  const { variables, group, names, pyramidLevel: level, memory, notFound: _notFound, ...more } = options
  const { queue, prefix, taskBytes, scratch, dryRun, progress, json, ...rest } = more
  const writing = { ...rest, sources: [input] }
  const at = notFoundAt(input, options)
  if (isQueued(options)) {
    if (names !== undefined || level !== undefined)
      throw new UsageError('--names and --pyramid-level are not for --queue, whose workers open whole groups')
    if (target?.writing.isShared !== true)
      throw new UsageError(`--queue is for Zarr and containers, and ${output} is ${target?.noun ?? 'a table'}`)
    const source = {
      dataset: input,
      ...at,
      ...(group !== undefined && { group }),
      ...(variables !== undefined && { variables }),
    }
    return copyByQueue(source, output, options)
  }
  if (target !== undefined) checkWriting(target, output, options)
  const isBounded = target?.writing.options.includes('maxBytes') === true
  const isResumed = target?.writing.options.includes('resume') === true
  if (memory !== undefined && !isBounded) throw new UsageError(`--memory is for Zarr and NetCDF, and ${output} is another format`)
  const held = isBounded ? shareMemory(memory) : undefined
  await using _ = held?.pool
  const reading = held && { pool: held.pool, budget: held.budget }
  const chosenGroup = { ...(group !== undefined && { group }), ...(level !== undefined && { level }), names }
  await using ds = await openDataset(input, { ...reading, ...at, ...chosenGroup })
  const chosen = chooseVariables(ds, variables)
  const write = async (signal: AbortSignal): Promise<Written> => {
    if (isTable) return writeTable(chosen, output, writing, signal)
    if (held === undefined) return writeArrays('exporting', chosen, output, writing, signal)
    if (!isResumed) return writeArrays('exporting', chosen, output, { ...writing, maxBytes: held.maxBytes }, signal)
    const resume = JSON.stringify([await ds.version(), group, level])
    return writeArrays('exporting', chosen, output, { ...writing, maxBytes: held.maxBytes, resume }, signal)
  }
  const [result, line] = await interruptible(write, isResumed ? RESUMABLE : undefined)
  await printResult(result, [line])
}

/** Formats that the command writes. */
const FORMATS = ['x.zarr', 'x.af', 'x.nc'].map((name) => formatToWrite(name)!)

/** @throws UsageError for an option of writing that the format of the output does not take */
function checkWriting({ noun, writing }: WrittenFormat, output: string, options: Options): void {
  for (const name of ['codec', 'level', 'levels', 'chunks', 'shards', 'kind', 'unlimited', 'immutable'] as const) {
    if (options[name] === undefined || writing.options.includes(name)) continue
    const owners = FORMATS.filter((each) => each.writing.options.includes(name)).map(({ plural }) => plural)
    throw new UsageError(`--${name} is for ${owners.join(' and ')}, and ${output} is ${noun}`)
  }
}

/**
 * Returns a dataset with some variables; with all unless they are named.
 * @throws UnknownArrayError
 */
export function chooseVariables(ds: Dataset, names: readonly string[] | undefined): Dataset {
  if (names === undefined) return ds
  for (const name of names) ds.get(name)
  return ds.drop(...Object.keys(ds.variables).filter((name) => !names.includes(name)))
}

type Writing = Omit<
  Options,
  'variables' | 'group' | 'names' | 'pyramidLevel' | 'memory' | keyof JsonOption | keyof QueuedOptions
> &
  Pick<WriteDatasetOptions, 'maxBytes' | 'resume' | 'blockBytes'> & { readonly sources?: readonly string[] }

/** Result of a write, for programs and as a line. */
export type Written = readonly [result: object, line: string]

/** Writes a dataset, and returns the result to print. */
export async function writeArrays(
  doing: string,
  ds: Dataset,
  output: string,
  options: Writing,
  signal: AbortSignal,
): Promise<Written> {
  const line = progressLine(doing, 'chunks')
  const { arrays, bytes, warnings, unchanged } = await ds
    .write(output, { ...options, signal, onProgress: line.update })
    .finally(line.end)
  for (const warning of warnings) printError(`warning: ${oneLine(warning)}`)
  const size = bytes === undefined ? '' : `, ${showBytes(bytes)}`
  const summary = `${output}: ${count(arrays.length, 'array')}${size}${unchanged ? ', complete already' : ''}`
  return [{ output, arrays, bytes, unchanged, warnings }, summary]
}

async function writeTable(
  ds: Dataset,
  output: string,
  { overwrite = false, sources = [], ...options }: Writing,
  signal: AbortSignal,
): Promise<Written> {
  const [other] = Object.keys(options)
  if (other !== undefined) throw new UsageError(`--${other} is for arrays, and ${output} is a table`)
  const utf8 = new TextEncoder()
  const pieces = async function* () {
    for await (const piece of ds.toCSV({ signal })) yield utf8.encode(piece)
  }
  const bytes = await writeNewFile(output, pieces(), { kind: 'text', overwrite, sources })
  return [{ output, bytes }, `${output}: ${showBytes(bytes)}`]
}
