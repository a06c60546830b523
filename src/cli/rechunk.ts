import type { Command } from 'commander'
import { attributeKey } from '../af/format/attribute-key.ts'
import type { AttributeValue } from '../af/format/footer.ts'
import { Attributes } from '../af/layers/attributes.ts'
import { exportZarr } from '../copy/export-zarr.ts'
import { importOf } from '../copy/import-arrays.ts'
import { shareMemory } from '../copy/memory-bound.ts'
import { arrayAsStored, groupAttributes, type ZarrExport } from '../copy/stored-arrays.ts'
import { groupDocuments } from '../copy/zarr-target.ts'
import { withoutSlashes } from '../core/text.ts'
import type { TypedValues } from '../dataset/attributes.ts'
import type { CopiedArrays, StoredArrayRecipe } from '../runtime/cluster.ts'
import { targetFormat } from '../tree/written-formats.ts'
import { interruptible, oneLine, RESUMABLE, UsageError } from './failure.ts'
import { rechunkInto } from './import.ts'
import { openPlace } from './open-place.ts'
import { addPlaceOptions, addWritingOptions, notFoundAt, PLACE, type PlaceOptions, type WritingOptions } from './options.ts'
import { count, printError, printLines } from './output.ts'
import type { PlaceContents } from './place.ts'
import { progressLine } from './progress.ts'
import { copyByQueue } from './queued-copy.ts'
import { addQueuedOptions, isQueued, type QueuedOptions, refuseOwn } from './queued-job.ts'

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
    .action(async (input: string, output: string, { chunks, shards, codec, level, overwrite, ...options }: Options) => {
      const target = targetFormat(output)
      const isContainer = target === 'container'
      if (target === undefined) throw new UsageError(`the name of the output ends in .zarr or .af, '${output}' does not`)
      if (!isContainer && options.immutable) throw new UsageError('--immutable is for containers, and the output is Zarr')
      if (isContainer) {
        const { layer, group } = options
        for (const [name, value] of Object.entries({ layer, group }))
          if (value !== undefined) throw new UsageError(`--${name} is for an output in Zarr`)
        const writing = { chunks, shards, codec, level, overwrite, ...options }
        if (isQueued(options)) return rechunkByQueue(input, output, writing as Options)
        return rechunkInto(input, output, writing as Options)
      }
      const { layer, names, variables, memory } = options
      if (isQueued(options)) refuseOwn({ layer, names })
      const { pool, budget, maxBytes } = shareMemory(memory)
      await using _ = pool
      await using place = await openPlace(input, options, { pool, budget })
      const found = await place.contents()
      for (const each of found.leftOut) printError(`warning: left out: ${oneLine(each)}`)
      const contents = await chosen(found, variables, (name) => place.array(name))
      const { arrays } = contents
      if (isQueued(options)) {
        const writing = { chunks, shards, codec, level, overwrite, ...options }
        return await copyByQueue(
          recipesOf({ location: input, ...notFoundAt(input, options) }, contents, options.group),
          output,
          writing as Options,
        )
      }
      const below = options.group === undefined ? '' : `${withoutSlashes(options.group)}/`
      const nodes = [...arrays.map(({ name }) => name), ...contents.groups.keys()].map((path) =>
        (below + path).replace(/\/$/, ''),
      )
      const line = progressLine('copying', 'chunks')
      const isWritten = await interruptible(async (signal) => {
        const resume = JSON.stringify([await place.tree.version(nodes), options.layer, options.group])
        const command = 'hyperslab rechunk … --overwrite'
        const own = { sources: [input], command, maxBytes, resume, signal, onProgress: line.update }
        const writing = { chunks, shards, codec, level, overwrite, ...own }
        return exportZarr(asStored(contents), output, writing)
      }, RESUMABLE).finally(line.end)
      await printLines([`${output}: ${count(arrays.length, 'array')}${isWritten ? '' : ', complete already'}`])
    })
}

/**
 * Copies arrays of a container into another one through a queue.
 * @throws UsageError for other inputs, and for attributes of the file that would lose their types
 */
async function rechunkByQueue(input: string, output: string, options: Options): Promise<void> {
  refuseOwn({ names: options.names })
  await using place = await openPlace(input, options)
  if (place.tree.layers.length === 0) {
    const text = `${input} is no container: hyperslab import and hyperslab export copy it into one with --queue`
    throw new UsageError(`--queue rechunks containers into containers, and anything into Zarr; ${text}`)
  }
  const found = await place.contents()
  for (const each of found.leftOut) printError(`warning: left out: ${oneLine(each)}`)
  const contents = await chosen(found, options.variables, (name) => place.array(name))
  const source = recipesOf({ location: input, ...notFoundAt(input, options) }, contents, undefined)
  const changed = changedAttribute(contents.groups.get('') as TypedValues, source)
  if (changed === undefined) return await copyByQueue(source, output, options)
  const text = `the attribute '${changed}' of the file would change its type on the way to workers`
  throw new UsageError(`${text}; hyperslab rechunk keeps it without --queue, and hyperslab import with it`)
}

/** Returns the name of an attribute of the file that a job would change; undefined if there is none. */
function changedAttribute(values: TypedValues, { groups = {} }: CopiedArrays): string | undefined {
  const map = new Map<string, AttributeValue>()
  const kept = new Attributes(() => map, () => map) // biome-ignore format: one line
  const { attributes } = importOf({ attributes: groupAttributes(groups['']!, ''), arrays: [] })
  for (const [name, value] of attributes) kept.set(name, value)
  return [...values.keys()].find((name) => {
    const [written, own] = [map.get(name), values.typed!(name) as AttributeValue]
    return written === undefined || attributeKey(written) !== attributeKey(own)
  })
}

async function chosen(
  contents: PlaceContents,
  names: readonly string[] | undefined,
  find: (name: string) => Promise<unknown>,
): Promise<PlaceContents> {
  if (names === undefined) return contents
  // `find` throws an error that lists the known names.
  for (const name of names) if (!contents.arrays.some((each) => each.name === name)) await find(name)
  return { ...contents, arrays: contents.arrays.filter(({ name }) => names.includes(name)) }
}

/** Returns arrays with all metadata that are stored with them. */
function asStored({ arrays, groups }: PlaceContents): ZarrExport {
  const attributes = (values: TypedValues | undefined): ReadonlyMap<string, unknown> => {
    const named = Array.from(values?.keys() ?? [], (name): [string, unknown] => [name, values!.get(name)])
    return Object.assign(new Map(named), { typed: (name: string) => values?.typed?.(name) })
  }
  return {
    attributes: attributes(groups.get('')),
    groups: new Map([...groups].filter(([path]) => path !== '').map(([path, values]) => [path, attributes(values)])),
    // A place without groups is a single array.
    arrays: arrays.map(({ name, array }) => arrayAsStored(groups.size === 0 ? '' : name, array)),
  }
}

/** Returns the recipes by which workers open the arrays. */
function recipesOf(
  at: Pick<StoredArrayRecipe, 'location' | 'notFound'>,
  contents: PlaceContents,
  group: string | undefined,
): CopiedArrays {
  const below = group === undefined ? '' : `${withoutSlashes(group)}/`
  const isGroup = contents.groups.size > 0
  const recipes = contents.arrays.map(({ name }) =>
    isGroup ? [name, { ...at, array: below + name }] : ['', { ...at, ...(group !== undefined && { array: group }) }],
  )
  // As text, attributes keep integers beyond 2^53 and whole floats.
  const groups = groupDocuments(asStored(contents))
  return { arrays: Object.fromEntries(recipes), ...(isGroup && { groups: Object.fromEntries(groups) }) }
}
