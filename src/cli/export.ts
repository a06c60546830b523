import type { Command } from 'commander'
import { shareMemory } from '../copy/memory-bound.ts'
import type { Dataset } from '../dataset/dataset.ts'
import { onlyVariables } from '../dataset/out/export.ts'
import { openDataset, type WriteDatasetOptions } from '../runtime/dataset.ts'
import { isContainerName } from '../tree/formats.ts'
import { sourceVersion } from '../tree/source-version.ts'
import { targetFormat } from '../tree/written-formats.ts'
import { interruptible, oneLine, RESUMABLE, UsageError } from './failure.ts'
import { writeNewFile } from './new-file.ts'
import { addWritingOptions, integerBetween, notFoundAt, PLACE, type WritingOptions } from './options.ts'
import { count, printError, printLines, showBytes } from './output.ts'
import { progressLine } from './progress.ts'
import { copyByQueue } from './queued-copy.ts'
import { addQueuedOptions, isQueued, type QueuedOptions } from './queued-job.ts'

interface Options extends WritingOptions, QueuedOptions {
  readonly group?: string
  readonly levels?: number
}

/** Returns the format of an output by the ending of its name. */
const outputFormat = (name: string): 'zarr' | 'af' | 'csv' | undefined =>
  /\.csv$/i.test(name) ? 'csv' : isContainerName(name) ? 'af' : targetFormat(name) === 'zarr' ? 'zarr' : undefined

export function addExport(program: Command): void {
  const command = program
    .command('export')
    .description('write the variables of a place with their labels as Zarr, as a container or as a table')
    .argument('<input>', PLACE)
    .argument('<output>', 'the output: out.zarr, out.af or out.csv')
    .option('--codec <codec>', 'codec of chunks: zstd, gzip, zlib, lz4, blosc, none; for containers lz4, zstd, none')
    .option('--levels <number>', 'for Zarr: number of levels of a pyramid, each at half the resolution', integerBetween(1, 32))
    .option('--group <path>', 'group of a Zarr store to write')
  addQueuedOptions(addWritingOptions(command))
    .addHelpText(
      'after',
      `
Values are encoded as they were (packed, as numbers of units of time); what cannot be decoded is left out with a warning.
Zarr is written in bounded memory: ended early, the same command goes on where it was.

Examples
  $ hyperslab export climate.af climate.zarr --chunks time=1,lat=90,lon=90 --shards time=30,lat=180,lon=360
  $ hyperslab export climate.af map.zarr --levels 5
  $ hyperslab export climate.af tas.csv --variables tas`,
    )
    .action(async (input: string, output: string, options: Options) => {
      const format = outputFormat(output)
      if (format === undefined) throw new UsageError(`the name of the output ends in .zarr, .af or .csv, '${output}' does not`)
      const {
        variables,
        group,
        memory,
        queue,
        prefix,
        taskBytes,
        scratch,
        dryRun,
        progress,
        notFound: _notFound,
        ...rest
      } = options
      const writing = { ...rest, sources: [input] }
      const at = notFoundAt(input, options)
      if (isQueued(options)) {
        if (format === 'csv') throw new UsageError(`--queue is for Zarr and containers, and ${output} is a table`)
        const source = {
          dataset: input,
          ...at,
          ...(group !== undefined && { group }),
          ...(variables !== undefined && { variables }),
        }
        return copyByQueue(source, output, options)
      }
      if (memory !== undefined && format !== 'zarr') throw new UsageError(`--memory is for Zarr, and ${output} is another format`)
      const held = format === 'zarr' ? shareMemory(memory) : undefined
      await using _ = held?.pool
      const reading = held && { pool: held.pool, budget: held.budget }
      await using ds = await openDataset(input, { ...reading, ...at, ...(group !== undefined && { group }) })
      const chosen = variables === undefined ? ds : onlyVariables(ds, variables)
      const write = async (signal: AbortSignal): Promise<string[]> => {
        if (format === 'csv') return writeTable(chosen, output, writing, signal)
        if (held === undefined) return writeArrays('exporting', chosen, output, writing, signal)
        const names = [...Object.keys(ds.variables), ...Object.keys(ds.coords), ''].map((name) => joined(group, name))
        const resume = JSON.stringify([await sourceVersion(input, names, { signal, ...at }), group])
        return writeArrays('exporting', chosen, output, { ...writing, maxBytes: held.maxBytes, resume }, signal)
      }
      await printLines(await interruptible(write, held && RESUMABLE))
    })
}

const joined = (...parts: (string | undefined)[]): string =>
  parts
    .flatMap((part) => part?.split('/') ?? [])
    .filter(Boolean)
    .join('/')

type Writing = Omit<Options, 'variables' | 'group' | 'memory' | keyof QueuedOptions> &
  Pick<WriteDatasetOptions, 'maxBytes' | 'resume' | 'blockBytes'> & { readonly sources?: readonly string[] }

/** Writes a dataset, and returns the lines to print. */
export async function writeArrays(
  doing: string,
  ds: Dataset,
  output: string,
  options: Writing,
  signal: AbortSignal,
): Promise<string[]> {
  const line = progressLine(doing, 'chunks')
  const { arrays, bytes, warnings, unchanged } = await ds
    .write(output, { ...options, signal, onProgress: line.update })
    .finally(line.end)
  for (const warning of warnings) printError(`warning: ${oneLine(warning)}`)
  const size = bytes === undefined ? '' : `, ${showBytes(bytes)}`
  return [`${output}: ${count(arrays.length, 'array')}${size}${unchanged ? ', complete already' : ''}`]
}

async function writeTable(
  ds: Dataset,
  output: string,
  { overwrite = false, sources = [], ...options }: Writing,
  signal: AbortSignal,
): Promise<string[]> {
  const [other] = Object.keys(options)
  if (other !== undefined) throw new UsageError(`--${other} is for arrays, and ${output} is a table`)
  const utf8 = new TextEncoder()
  const pieces = async function* () {
    for await (const piece of ds.toCSV({ signal })) yield utf8.encode(piece)
  }
  return [`${output}: ${showBytes(await writeNewFile(output, pieces(), { kind: 'text', overwrite, sources }))}`]
}
