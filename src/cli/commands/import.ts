import { type Command, Option } from 'commander'
import { type ConcatDatasetsOptions, openDataset, openDatasets } from '../../runtime/dataset.ts'
import { isHyperslabError } from '../../runtime/index.ts'
import { formatToWrite, type ImportPlaceOptions, importPlace, type PlaceImportResult, shareMemory } from '../../runtime/tree.ts'
import { interruptible, oneLine, RESUMABLE, UsageError } from '../show/failure.ts'
import { progressLine } from '../show/progress.ts'
import { count, printError, printResult, showBytes } from '../show/text.ts'
import { chooseVariables, type Written, writeArrays } from './export.ts'
import { addWritingOptions, bytesBetween, checkCodecOptions, namesOption, type WritingOptions } from './options.ts'
import { addQueuedOptions, copyByQueue, isQueued, type QueuedOptions } from './queue.ts'

/** Options of commands that join files. */
export interface JoinOptions extends Pick<ConcatDatasetsOptions, 'overlap' | 'gaps' | 'compat'> {
  readonly dim?: string
}

/**
 * Writes the variables of one or several places with their labels, here or through a queue. Several places
 * are joined.
 */
async function importDataset(
  inputs: readonly string[],
  output: string,
  isZarr: boolean,
  options: WritingOptions & QueuedOptions & JoinOptions & { readonly blockBytes?: number },
): Promise<void> {
  const { chunks, shards, codec, level, blockBytes, overwrite = false, immutable, variables, memory } = options
  const { dim, overlap, gaps, compat } = options
  const join = { ...(dim && { dim }), ...(overlap && { overlap }), ...(gaps && { gaps }), ...(compat && { compat }) }
  const [only, ...others] = inputs
  const dataset = others.length === 0 ? only! : inputs
  const at = options.notFound === undefined ? {} : { notFound: options.notFound }
  if (isQueued(options)) return copyByQueue({ dataset, ...at, ...join, ...(variables && { variables }) }, output, options)
  const { pool, budget, maxBytes } = shareMemory(memory)
  await using _ = pool
  const write = async (signal: AbortSignal): Promise<Written> => {
    const reading = { pool, budget, signal, ...at }
    await using ds =
      typeof dataset === 'string' ? await openDataset(dataset, reading) : await openDatasets(dataset, { ...reading, ...join })
    const chosen = chooseVariables(ds, variables)
    const writing = { chunks, shards, codec: codec ?? (isZarr ? undefined : 'lz4'), level, blockBytes, overwrite, immutable }
    const given = Object.fromEntries(Object.entries(writing).filter(([, value]) => value !== undefined))
    if (!isZarr) return await writeArrays('importing', chosen, output, given, signal)
    const resume = JSON.stringify([inputs, await ds.version(), join])
    return await writeArrays('importing', chosen, output, { ...given, sources: inputs, maxBytes, resume }, signal)
  }
  const [result, summary] = await interruptible(write, isZarr ? RESUMABLE : '')
  await printResult(result, [summary])
}

interface Options extends WritingOptions, QueuedOptions, JoinOptions {
  readonly output?: string
  readonly chunkBytes?: number
  readonly blockBytes?: number
  readonly names?: readonly string[]
}

/** Codecs; those of containers come first. */
const CODECS = ['lz4', 'zstd', 'none', 'gzip', 'zlib', 'blosc'] as const
const OF_CONTAINERS: readonly string[] = CODECS.slice(0, 3)

export function addImport(program: Command): void {
  const command = program
    .command('import')
    .description('copy NetCDF, HDF5, TIFF, a Zarr store or a container into a container or into Zarr; several places are joined')
    .argument(
      '<places...>',
      'NetCDF, HDF5, a Zarr group or array, or a container: paths, or URLs of http, https or s3; then the output',
    )
    .option('-o, --output <place>', 'the output, a container (.af) or Zarr (.zarr), instead of the last argument')
    .addOption(
      new Option(
        '--codec <codec>',
        'how data are compressed: lz4, zstd or none; in Zarr any (default: lz4; in Zarr zstd)',
      ).choices(CODECS),
    )
  addWritingOptions(command)
    .option(
      '--chunk-bytes <bytes>',
      'size that chunks of a container should have, e.g. 64KiB (default: 128KiB)',
      bytesBetween(1, 2 ** 30),
    )
    .option(
      '--block-bytes <bytes>',
      'size that blocks of chunks should have, in a container (default: 256KiB)',
      bytesBetween(1, 2 ** 30),
    )
    .addOption(namesOption())
    .option('--dim <name>', 'the dimension that files are joined along (default: the only one along which labels differ)')
    .addOption(
      new Option('--overlap <rule>', 'where several files have a label (default: error)').choices(['error', 'first', 'last']),
    )
    .addOption(
      new Option('--gaps <rule>', 'where labels between two files are missing (default: error)').choices(['error', 'keep']),
    )
    .addOption(
      new Option(
        '--compat <rule>',
        'variables without that dimension: they have to be equal in all files, or those of the first file are taken (default: equals)',
      ).choices(['equals', 'override']),
    )
  addQueuedOptions(command)
    .addHelpText(
      'after',
      `
Example: small chunks, for reading single points
  $ hyperslab import tas.nc climate.af --chunk-bytes 16KiB

Example: a file of footer version 6 as a container that can be changed
  $ hyperslab import sealed.af climate.af

Example: many files as one Zarr store, by many machines, on each of which hyperslab work runs
  $ hyperslab import tas_*.nc -o s3://bucket/tas.zarr --chunks time=100,lat=90,lon=90 --queue redis://host

With --queue, a container is written as hyperslab export writes it.`,
    )
    .action(importPlaces)
}

async function importPlaces(places: string[], { output: given, ...options }: Options): Promise<void> {
  const output = given ?? places.at(-1)!
  const inputs = given === undefined ? places.slice(0, -1) : places
  if (inputs.length === 0) throw new UsageError(`what comes of ${output}? Give the output as the last argument, or as --output`)
  const target = formatToWrite(output)
  if (target?.writing.isShared !== true) throw new UsageError(`the name of the output ends in .af or .zarr, '${output}' does not`)
  const isZarr = !target.writing.isFile
  checkTargetOptions(isZarr ? 'Zarr' : 'a container', inputs, options)
  if (isZarr || inputs.length > 1 || isQueued(options)) return importDataset(inputs, output, isZarr, options)
  return importOne('importing', inputs[0]!, output, options)
}

/** Copies one place into a container, and prints the result. */
async function importOne(doing: string, input: string, output: string, options: Options): Promise<void> {
  const { codec = 'lz4', level, chunks, variables, overwrite = false, immutable } = options
  const { chunkBytes, blockBytes, names, notFound } = options
  const line = progressLine(doing, 'chunks')
  const { arrays, sourceBytes, bytes, warnings } = await interruptible((signal) =>
    importInto(input, output, {
      ...{ codec, overwrite, ...(immutable && { immutable }), signal, onProgress: line.update },
      ...{ level, chunks, variables, chunkBytes, blockBytes, names, notFound },
    } as ImportPlaceOptions),
  ).finally(line.end)
  for (const warning of warnings) printError(`warning: ${oneLine(warning)}`)
  const source = sourceBytes === undefined ? `from ${input}` : `${input}: ${showBytes(sourceBytes)}`
  const summary = `${output}: ${count(arrays.length, 'array')}, ${showBytes(bytes)} (${source})`
  await printResult({ output, arrays, bytes, sourceBytes, warnings }, [summary])
}

/** Copies one place into a container, like `hyperslab import` without a queue. */
export function rechunkInto(input: string, output: string, options: WritingOptions & Pick<Options, 'names'>): Promise<void> {
  checkTargetOptions('a container', [input], options as Options)
  return importOne('copying', input, output, options as Options)
}

/** @throws UsageError for options that do not fit the output or the inputs */
function checkTargetOptions(kind: 'Zarr' | 'a container', inputs: readonly string[], options: Options): void {
  const { codec = 'lz4', level, shards, memory, immutable, chunkBytes, blockBytes, names } = options
  const { dim, overlap, gaps, compat } = options
  const refuse = (given: Readonly<Record<string, unknown>>, text: string): void => {
    for (const [option, value] of Object.entries(given))
      if (value !== undefined) throw new UsageError(`--${option} is for ${text}`)
  }
  if (kind === 'Zarr') refuse({ 'block-bytes': blockBytes, immutable }, 'containers, and the output is Zarr')
  else {
    refuse({ shards, memory }, 'Zarr, and the output is a container')
    if (!OF_CONTAINERS.includes(codec))
      throw new UsageError(`--codec ${codec} is for Zarr; containers have ${OF_CONTAINERS.join(', ')}`)
    checkCodecOptions({ codec, ...(level !== undefined && { level }) })
  }
  if (kind === 'Zarr' || inputs.length > 1) refuse({ 'chunk-bytes': chunkBytes, names }, 'one input that becomes a container')
  if (inputs.length === 1) refuse({ dim, overlap, gaps, compat }, 'several inputs, which are joined')
}

/** Copies a place of any format into a container. */
async function importInto(input: string, output: string, options: ImportPlaceOptions): Promise<PlaceImportResult> {
  try {
    return await importPlace(input, output, options)
  } catch (error) {
    if (!isHyperslabError(error, 'InvalidArgumentError') || error.details.actual !== 'names') throw error
    throw new UsageError(`--names is for Zarr stores, which ${input} is not`)
  }
}
