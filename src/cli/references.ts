import { basename, resolve } from 'node:path'
import type { Command } from 'commander'
import type { JsonObject } from '../adapters/zarr/document.ts'
import { attributesDocument } from '../adapters/zarr/write/document.ts'
import {
  type IndexedArray,
  joinReferences,
  type ReferencedArray,
  referenceArray,
  referenceDocument,
} from '../adapters/zarr/write/reference-list.ts'
import type { DiskArray } from '../array/disk-array.ts'
import { commonDivisor } from '../core/divisors.ts'
import { HyperslabError, isHyperslabError, within } from '../core/errors.ts'
import { writeJson } from '../core/json.ts'
import { schemeOf } from '../core/scheme.ts'
import { withoutEndings } from '../core/text.ts'
import { findTree } from '../tree/open-tree.ts'
import { pathOfFileUrl } from '../tree/other-location.ts'
import { UsageError } from './failure.ts'
import { writeNewFile } from './new-file.ts'
import { openFound } from './open-place.ts'
import { layerOption, type PlaceOptions } from './options.ts'
import { count, printError, printLines } from './output.ts'
import type { Place } from './place.ts'

interface Options extends Pick<PlaceOptions, 'layer'> {
  readonly dim?: string
  readonly base?: string
  readonly overwrite?: boolean
}

export function addReferences(program: Command): void {
  program
    .command('references')
    .description('write kerchunk references, with which Python reads NetCDF and containers in place, as Zarr')
    .argument('<output>', 'the JSON to write, in the format of kerchunk')
    .argument('<file...>', 'classic NetCDF, or containers (.af)')
    .option('--dim <name>', 'join several files along this dimension, in the order given')
    .option('--base <url>', 'future location of the files, instead of the current one')
    .option('--overwrite', 'replace an existing output')
    .addOption(layerOption())
    .addHelpText(
      'after',
      `
Example: in Python
  $ hyperslab references tas.json tas_1.nc tas_2.nc --dim time
  >>> xarray.open_dataset('reference://', engine='zarr', storage_options={'fo': 'tas.json'}, consolidated=False)`,
    )
    .action(async (output: string, files: string[], options: Options) => {
      if (files.length === 1 && options.dim !== undefined) throw new UsageError('--dim joins several files')
      if (files.length > 1 && options.dim === undefined)
        throw new UsageError('--dim says along which dimension several files are joined')
      const { document, arrays, chunks } = await withPlaces(files, options, (places) => listReferences(places, options))
      await writeNewFile(output, [new TextEncoder().encode(writeJson(document))], {
        kind: 'references',
        overwrite: options.overwrite === true,
        sources: files,
      })
      await printLines([`${output}: ${count(arrays, 'array')}, ${count(chunks, 'chunk')} of ${count(files.length, 'file')}`])
    })
}

async function withPlaces<T>(
  files: readonly string[],
  options: PlaceOptions,
  work: (places: readonly Place[]) => Promise<T>,
): Promise<T> {
  const places: Place[] = []
  try {
    for (const file of files) {
      const found = await findTree(file)
      // Opening tells whether there is anything.
      places.push(await openFound(found, file, options))
      if (found.format.zarrIn !== undefined) throw new UsageError(`${file} is Zarr already`)
    }
    return await work(places)
  } finally {
    for (const place of places) await place[Symbol.asyncDispose]()
  }
}

async function listReferences(
  places: readonly Place[],
  { dim, base }: Options,
): Promise<{ document: JsonObject; arrays: number; chunks: number }> {
  const contents = await Promise.all(places.map((place) => place.contents()))
  for (const [i, { leftOut }] of contents.entries())
    for (const line of leftOut) printError(`${places[i]!.location}: left out: ${line}`)
  const files = contents.map(({ arrays }) => new Map(arrays.map(({ name, array }) => [name, array as IndexedArray])))
  const [first] = files as [Map<string, IndexedArray>]
  if (dim !== undefined && ![...first.values()].some(({ dimensionNames }) => dimensionNames?.includes(dim)))
    throw new HyperslabError('InvalidArgumentError', `no array has a dimension '${dim}'`, {
      file: places[0]!.location,
      actual: dim,
    })
  const referenced = new Map<string, ReferencedArray>()
  for (const name of first.keys()) {
    const parts = files.map((arrays, i) => arrays.get(name) ?? lacking(places[i]!, name))
    try {
      referenced.set(name, await within({ array: name }, () => referencesOf(name, parts, dim)))
    } catch (error) {
      if (!isHyperslabError(error, 'UnsupportedError')) throw error
      printError(`left out: ${error.message}`)
    }
  }
  if (referenced.size === 0)
    throw new HyperslabError('UnsupportedError', 'there is no array of which references can be written', {
      file: places[0]!.location,
    })
  const attributes = attributesDocument(contents[0]!.groups.get(''))
  const chunks = [...referenced.values()].reduce((sum, { chunks }) => sum + chunks.size, 0)
  return { document: referenceDocument(referenced, attributes, (file) => urlOf(file, base)), arrays: referenced.size, chunks }
}

function lacking(place: Place, array: string): never {
  throw new HyperslabError('InvalidArgumentError', 'this file has no such array, and another one has', {
    file: place.location,
    array,
  })
}

/** Returns the references of an array in one file, or in several files that are joined. */
async function referencesOf(name: string, parts: readonly IndexedArray[], dim: string | undefined): Promise<ReferencedArray> {
  const [first] = parts as [IndexedArray]
  if (parts.length === 1) return referenceArray(first)
  const axis = first.dimensionNames?.indexOf(dim!) ?? -1
  if (axis < 0) {
    for (const part of parts.slice(1))
      if (!(await first.equals(part, { equalNaN: true })))
        throw new HyperslabError('InvalidArgumentError', 'it differs from file to file', { array: name })
    return referenceArray(first)
  }
  if (name === dim && first.shape.length === 1) await checkAscending(name, parts)
  const unit = parts.map(({ shape }) => shape[axis]!).reduce(commonDivisor)
  return joinReferences(
    parts.map((part) => referenceArray(part, { axis, unit })),
    axis,
  )
}

/** @throws InvalidArgumentError unless labels strictly ascend or descend through all files */
async function checkAscending(array: string, parts: readonly DiskArray[]): Promise<void> {
  const labels: (number | bigint)[] = []
  for (const part of parts) labels.push(...((await part.toTensor()).data as Iterable<number>))
  const isDown = labels.length > 1 && labels[1]! < labels[0]!
  const at = labels.findIndex((label, i) => i > 0 && !(isDown ? label < labels[i - 1]! : label > labels[i - 1]!))
  if (at < 0) return
  const text = `label ${at} is ${labels[at]} and the one before it ${labels[at - 1]}: give the files in their order`
  throw new HyperslabError('InvalidArgumentError', text, { array, actual: labels[at], expected: labels[at - 1] })
}

function urlOf(file: string, base: string | undefined): string {
  if (base !== undefined)
    return `${withoutEndings(base, '/')}/${/^https?:/i.test(base) ? encodeURIComponent(basename(file)) : basename(file)}`
  // Python takes the path of a file: URL as it is written, without decoding it.
  const scheme = schemeOf(file)
  return scheme === undefined ? resolve(file) : scheme === 'file' ? pathOfFileUrl(file) : file
}
