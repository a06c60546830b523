import type { Command } from 'commander'
import { isHyperslabError } from '../../runtime/index.ts'
import { formatToWrite, rechunkTree, shareMemory } from '../../runtime/tree.ts'
import { interruptible, oneLine, RESUMABLE, UsageError } from '../show/failure.ts'
import { progressLine } from '../show/progress.ts'
import { count, printError, printResult } from '../show/text.ts'
import { rechunkInto } from './import.ts'
import { addPlaceOptions, addWritingOptions, notFoundAt, PLACE, type PlaceOptions, type WritingOptions } from './options.ts'
import { openPlace } from './place.ts'
import { addQueuedOptions, copyByQueue, isQueued, loadCluster, type QueuedOptions, refuseOwn } from './queue.ts'

type Options = PlaceOptions & WritingOptions & QueuedOptions

export function addRechunk(program: Command): void {
  const command = program
    .command('rechunk')
    .description('copy arrays as they are stored into Zarr or a container with other chunks, in bounded memory')
    .argument('<input>', PLACE)
    .argument('<output>', 'the Zarr store to write, out.zarr, or a container, out.af')
    .option(
      '--codec <codec>',
      'how chunks are compressed: zstd, gzip, zlib, lz4, blosc, none (default: zstd); of containers lz4 (default), zstd, none',
    )
  addPlaceOptions(addQueuedOptions(addWritingOptions(command)))
    .addHelpText(
      'after',
      `
Values stay as they are stored, with attributes, fill values and names of dimensions. Ended early, the same command goes
on where it was; an output that is complete is left as it is. A container appears when it is complete, and is written as
hyperslab import writes it.

Example: time steps become series
  $ hyperslab rechunk climate.zarr series.zarr --chunks time=10000,lat=10,lon=10 --memory 512MiB

Example: by many machines, on each of which hyperslab work runs
  $ hyperslab rechunk s3://bucket/x.zarr s3://bucket/series.zarr --chunks time=10000 --queue redis://host`,
    )
    .action(async (input: string, output: string, options: Options) => {
      const target = formatToWrite(output)
      if (target?.writing.isShared !== true)
        throw new UsageError(`the name of the output ends in .zarr or .af, '${output}' does not`)
      if (!target.writing.isFile && options.immutable)
        throw new UsageError('--immutable is for containers, and the output is Zarr')
      if (!target.writing.isFile)
        return isQueued(options) ? rechunkByQueue(input, output, options) : rechunkToZarr(input, output, options)
      const { layer, group } = options
      for (const [name, value] of Object.entries({ layer, group }))
        if (value !== undefined) throw new UsageError(`--${name} is for an output in Zarr`)
      return isQueued(options) ? rechunkByQueue(input, output, options, true) : rechunkInto(input, output, options)
    })
}

async function rechunkToZarr(input: string, output: string, options: Options): Promise<void> {
  const { chunks, shards, codec, level, overwrite, variables, memory } = options
  const { pool, budget, maxBytes } = shareMemory(memory)
  await using _ = pool
  await using place = await openPlace(input, options, { pool, budget })
  const line = progressLine('copying', 'chunks')
  const given = {
    ...{ ...(chunks && { chunks }), ...(shards && { shards }), ...(codec && { codec }), ...(level !== undefined && { level }) },
    ...{ ...(overwrite && { overwrite }), ...(variables && { variables }) },
  }
  const { arrays, unchanged } = await interruptible(
    (signal) =>
      rechunkTree(place, output, {
        ...{ ...given, maxBytes, sources: [input], command: 'hyperslab rechunk … --overwrite' },
        ...{ onWarning: printWarning, signal, onProgress: line.update },
      }),
    RESUMABLE,
  ).finally(line.end)
  await printResult({ output, arrays, unchanged }, [
    `${output}: ${count(arrays.length, 'array')}${unchanged ? ', complete already' : ''}`,
  ])
}

const printWarning = (text: string): void => printError(`warning: ${oneLine(text)}`)

/**
 * Copies arrays through a queue: into Zarr, or those of a container into another one.
 * @throws UsageError for other inputs, and for attributes of the file that would lose their types
 */
async function rechunkByQueue(input: string, output: string, options: Options, toContainer = false): Promise<void> {
  const { layer, names, variables } = options
  refuseOwn(toContainer ? { names } : { layer, names })
  await using place = await openPlace(input, options)
  if (toContainer && place.tree.layers.length === 0) {
    const text = `${input} is no container: hyperslab import and hyperslab export copy it into one with --queue`
    throw new UsageError(`--queue rechunks containers into containers, and anything into Zarr; ${text}`)
  }
  const { treeSource } = await loadCluster()
  const given = { ...notFoundAt(input, options), ...(variables && { variables }), toContainer, onWarning: printWarning }
  try {
    await copyByQueue(await treeSource(place, input, given), output, options)
  } catch (error) {
    if (!isHyperslabError(error, 'UnsupportedError') || error.details.expected !== 'type') throw error
    throw new UsageError(`${error.text}; hyperslab rechunk keeps it without --queue, and hyperslab import with it`)
  }
}
