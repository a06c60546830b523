import { attributesDocument } from '../../adapters/zarr/write/document.ts'
import {
  type IndexedArray,
  joinReferences,
  type ReferenceArrayOptions,
  type ReferencedArray,
  referenceArray,
  referenceDocument,
} from '../../adapters/zarr/write/reference-list.ts'
import type { DiskArray } from '../../array/disk-array.ts'
import { isUnreadable } from '../../array/walk.ts'
import { commonDivisor } from '../../core/divisors.ts'
import { HyperslabError, invalidArgument, within } from '../../core/errors.ts'
import { writeJson } from '../../core/json.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { FORMATS } from '../../tree/formats.ts'
import type { Tree } from '../../tree/open-tree.ts'
import type { LabelledTree } from './labelled-tree.ts'
import type { TreeArray } from './tree-array.ts'

/** Options of `listReferences`. */
export interface ListReferencesOptions {
  /** Dimension along which several files are joined, in their order. */
  readonly dim?: string
  /** Chunks of fewer bytes are written themselves, as base64, instead of their location. Default: 512. */
  readonly inlineBytes?: number
  /** Returns the URL of a file, or of the folder of a Zarr store. Default: its location. */
  readonly urlOf?: (file: string) => string
  /** Function that is called with a message about each array that is left out. */
  readonly onWarning?: (text: string) => void
}

const CHECKS: Checks<ListReferencesOptions> = {
  dim: 'string',
  inlineBytes: 'integer from 0',
  urlOf: 'function',
  onWarning: 'function',
}

/** References of kerchunk to the chunks of files. */
export interface ListedReferences {
  /** Text of the file of references, as JSON. */
  readonly text: string
  /** Number of arrays. */
  readonly arrays: number
  /** Number of chunks that are referenced. */
  readonly chunks: number
}

const INLINE_BYTES = 512

/**
 * Lists references of kerchunk to the chunks of files: containers, classic NetCDF, HDF5, TIFF and Zarr. With
 * these, Python reads the files in place, as Zarr 2. Several files are joined along a dimension. Each array
 * whose chunks numcodecs does not decode to the same elements is left out, with a warning.
 * @throws InvalidArgumentError for files that cannot be joined; UnsupportedError if references can be written
 *   for no array, and for zip archives and references
 */
export async function listReferences(
  trees: readonly LabelledTree[],
  options: ListReferencesOptions = {},
): Promise<ListedReferences> {
  checkOptions('listReferences', options, CHECKS)
  const { dim, inlineBytes = INLINE_BYTES, urlOf = (file) => file, onWarning } = options
  if (trees.length === 0 || (trees.length > 1 && dim === undefined))
    invalidArgument('listReferences takes one tree, or several and the dimension that joins them', trees.length)
  for (const { tree } of trees) checkHolder(tree)
  const contents = await Promise.all(trees.map((tree) => tree.contents()))
  for (const [i, { leftOut }] of contents.entries())
    for (const line of leftOut) onWarning?.(`${trees[i]!.location}: left out: ${line}`)
  const files = contents.map(({ arrays }) => new Map(arrays.map((array) => [array.name, array])))
  const [first] = files as [Map<string, TreeArray>]
  const file = trees[0]!.location
  if (dim !== undefined && ![...first.values()].some(({ array }) => array.dimensionNames?.includes(dim)))
    throw new HyperslabError('InvalidArgumentError', `no array has a dimension '${dim}'`, { file, actual: dim })
  const referenced = new Map<string, ReferencedArray>()
  for (const name of first.keys()) {
    const parts = files.map((arrays, i) => arrays.get(name) ?? lacking(trees[i]!, name))
    try {
      referenced.set(name, await within({ array: name }, () => chunkReferences(name, parts, dim, inlineBytes)))
    } catch (error) {
      if (!isUnreadable(error)) throw error
      onWarning?.(`left out: ${error.message}`)
    }
  }
  if (referenced.size === 0)
    throw new HyperslabError('UnsupportedError', 'there is no array of which references can be written', { file })
  const groups = new Map([
    ['', {}],
    ...[...contents[0]!.groups].map(([path, attrs]) => [path, attributesDocument(attrs)] as const),
  ])
  const chunks = [...referenced.values()].reduce((sum, { chunks }) => sum + chunks.size, 0)
  return { text: writeJson(referenceDocument(referenced, groups, urlOf)), arrays: referenced.size, chunks }
}

/** @throws UnsupportedError for places whose chunks are not bytes of files */
function checkHolder({ format, location }: Tree): void {
  const { isArchive, isReference } = FORMATS.find(({ name }) => name === format) ?? {}
  const text = isArchive
    ? 'no references are written to chunks in a zip archive: unpack it, and list the folder'
    : isReference && 'this is a list of references already: list the files that it names'
  if (text) throw new HyperslabError('UnsupportedError', text, { file: location })
}

function lacking(tree: LabelledTree, array: string): never {
  throw new HyperslabError('InvalidArgumentError', 'this file has no such array, and another one has', {
    file: tree.location,
    array,
  })
}

/** Returns the references of an array in one file, or in several files that are joined. */
async function chunkReferences(
  name: string,
  parts: readonly TreeArray[],
  dim: string | undefined,
  inlineBytes: number,
): Promise<ReferencedArray> {
  const [{ array: first }] = parts as [TreeArray]
  const reference = ({ array, attrs }: TreeArray, along?: ReferenceArrayOptions['along']): Promise<ReferencedArray> =>
    referenceArray(array as IndexedArray, { attrs, inlineBytes, along })
  const axis = parts.length === 1 ? -1 : (first.dimensionNames?.indexOf(dim!) ?? -1)
  if (axis < 0) {
    for (const part of parts.slice(1))
      if (!(await first.equals(part.array, { equalNaN: true })))
        throw new HyperslabError('InvalidArgumentError', 'it differs from file to file', { array: name })
    return reference(parts[0]!)
  }
  const unit = parts.map(({ array }) => array.shape[axis]!).reduce(commonDivisor)
  const referenced: ReferencedArray[] = []
  for (const part of parts) referenced.push(await reference(part, { axis, unit }))
  // The stored order of the axes may differ.
  const storedAxis = (referenced[0]!.attributes['_ARRAY_DIMENSIONS'] as string[]).indexOf(dim!)
  const joined = joinReferences(referenced, storedAxis)
  // Labels compare only if their units are the same.
  if (name === dim && first.shape.length === 1)
    await checkAscending(
      name,
      parts.map(({ array }) => array),
    )
  return joined
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
