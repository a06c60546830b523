import { attributesDocument } from '../adapters/zarr/write/document.ts'
import type { ArrayFile } from '../af/file.ts'
import type { FileArray } from '../af/file-array.ts'
import type { ArrayOptions } from '../af/format/definition.ts'
import type { Attributes } from '../af/layers/attributes.ts'
import { type CreateOptions, FILE_CHECKS } from '../af/layers/file-options.ts'
import type { StoredArrays } from '../af/write/copy-stored.ts'
import { DiskArray } from '../array/disk-array.ts'
import { elementwise } from '../array/lazy/elementwise.ts'
import { missingAs } from '../array/lazy/replace-missing.ts'
import { type Element, isAnyMissing, missingElement, missingElements, NOTHING } from '../array/missing.ts'
import { bytesOf } from '../array/source.ts'
import type { Progress } from '../array/transfers.ts'
import { readElement } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { member } from '../core/member.ts'
import { type Checks, checkValue } from '../core/options.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { TypedValue } from '../core/typed-value.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import { planRechunk, type RechunkPlan, type RechunkRequest } from '../grid/rechunk-plan.ts'
import { isLabels, labelChunks } from './coordinate-chunks.ts'
import { attributeOfJson, isJsonValue, isTextOfJson, textOfJson } from './json-attributes.ts'
import type { ExportedArray, ZarrExport } from './stored-arrays.ts'
import type { TargetArray } from './target.ts'

const IMPORT_CHUNK_BYTES = 128 * 1024
const DEFAULT_BLOCK_BYTES = 256 * 1024

/** Attributes by name, with their types if these matter. */
export type TypedAttributes = Iterable<readonly [string, Parameters<Attributes['set']>[1]]>

/** An array of another format to be copied into a container. */
export interface SourceArray
  extends Pick<
    ExportedArray,
    'name' | 'array' | 'dimensionNames' | 'chunkShape' | 'hasOwnChunks' | 'maxBytes' | 'heldTimes' | 'fill'
  > {
  /** @param fill value of missing elements in the copy; undefined if none are missing */
  attributes(fill: Element | undefined): TypedAttributes
}

/** An open source of another format to be copied. */
export interface ImportSource extends AsyncDisposable {
  /** Arrays of a container that are copied as stored, instead of `arrays`. */
  readonly stored?: StoredArrays
  /** Attributes of the source as a whole. */
  readonly attributes: TypedAttributes
  /** Arrays to be copied. */
  readonly arrays: readonly SourceArray[]
  /** Names of all dimensions. */
  readonly dimensions: readonly string[]
  /** Warnings, one line each. */
  readonly warnings: readonly string[]
}

/** Options of all imports. */
export interface ImportOptions extends Pick<CreateOptions, 'codec' | 'level' | 'codecs' | 'overwrite'> {
  /** Names of the variables (arrays) to copy. Default: all. */
  readonly variables?: readonly string[]
  /**
   * Chunk lengths along dimensions, by name: `{ time: 12, lat: 48 }`. Lengths along other dimensions are
   * chosen to match `chunkBytes`.
   */
  readonly chunks?: Readonly<Record<string, number>>
  /** Size of chunks in bytes. Default: 128 KiB. */
  readonly chunkBytes?: number
  /**
   * Size of blocks before compression, in bytes. A block is the least that is fetched for one point. Default:
   * 256 KiB.
   */
  readonly blockBytes?: number
  /**
   * Whether to write a single file of footer version 6, which is never changed and has no layers. Default: a
   * container of version 5.
   */
  readonly immutable?: boolean
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal
  /** Receives the progress after each step. */
  readonly onProgress?: (progress: Progress) => void
}

/** Result of an import. */
export interface ImportResult {
  /** Names of the arrays. */
  readonly arrays: readonly string[]
  /** Size of the container in bytes. */
  readonly bytes: number
  /**
   * Problems after which the container is still complete, one line each: statistics that were not stored,
   * temporary files that remain.
   */
  readonly warnings: readonly string[]
}

export const IMPORT_CHECKS: Checks<ImportOptions> = {
  codec: FILE_CHECKS.codec,
  level: FILE_CHECKS.level,
  codecs: FILE_CHECKS.codecs,
  blockBytes: FILE_CHECKS.blockBytes,
  overwrite: 'boolean',
  immutable: 'boolean',
  variables: 'list of strings',
  chunks: 'plain object',
  chunkBytes: 'integer from 1',
  signal: 'AbortSignal',
  onProgress: 'function',
}

/** Returns the options that a container is created with. */
export const containerSettings = ({
  codec,
  level,
  codecs,
  blockBytes = DEFAULT_BLOCK_BYTES,
}: Pick<ImportOptions, 'codec' | 'level' | 'codecs' | 'blockBytes'>): CreateOptions => ({
  blockBytes,
  ...(codec !== undefined && { codec }),
  ...(level !== undefined && { level }),
  ...(codecs !== undefined && { codecs }),
})

/** Name of the scalar array that carries the attributes of a container. Every copy keeps it. */
export const FILE_ARRAY = '__file__'

/** An array, with the array that is defined for its copy. */
export interface ArrayCopy extends TargetArray {
  readonly to: FileArray
  readonly defined: ArrayOptions
}

/** Plans the regions of a copy. Containers have no intermediate arrays. */
export const planCopy = (copy: ArrayCopy, maxBytes: number): RechunkPlan =>
  planRechunk({ ...copyGrids(copy), maxBytes, mostPasses: 1 })

/** Returns the chunks of the source and of the copy. */
export const copyGrids = ({ array, to }: ArrayCopy): Pick<RechunkRequest, 'from' | 'to' | 'elementBytes'> => ({
  from: array.chunks,
  to: to.chunks,
  elementBytes: bytesOf(array.dtype),
})

/** Defines the attributes and the arrays of the copy in a container, without elements. */
export function defineCopies(
  file: ArrayFile,
  source: Pick<ImportSource, 'attributes' | 'arrays'>,
  options: Pick<ImportOptions, 'chunks' | 'chunkBytes'>,
): { readonly copies: readonly ArrayCopy[]; readonly warnings: readonly string[] } {
  const warnings: string[] = []
  setAttributes(file.attrs, source.attributes, { place: source.arrays[0]?.array.source.label?.file ?? '' }, warnings)
  const copies = source.arrays.map((each) => {
    const { file: place = '' } = each.array.source.label ?? {}
    checkNamed(each.name, () => `${place}: an array of shape ${showShape(each.array.shape)} has no name: '${each.name}'`)
    const { from, fill = each.fill } = withOneMissing(each, warnings)
    const defined = definitionLike(each, fill, options)
    const to = file.createArray(each.name, defined)
    setAttributes(to.attrs, each.attributes(fill), { place, array: each.name }, warnings)
    const { name, maxBytes, heldTimes } = each
    return { name, array: from, to, defined, count: to.chunks.count, maxBytes, heldTimes }
  })
  return { copies, warnings }
}

/** Sets attributes of the copy, with a warning for each that becomes text of JSON. */
function setAttributes(
  attrs: Attributes,
  values: TypedAttributes,
  { place, array }: { readonly place: string; readonly array?: string },
  warnings: string[],
): void {
  const owner = array === undefined ? '' : `array '${array}': `
  for (const [name, value] of values) {
    checkNamed(name, () => `${place}: ${owner}an attribute has no name: '${name}'`)
    attrs.set(name, value)
    if (isTextOfJson(value))
      warnings.push(`${owner}the attribute '${name}' becomes text of JSON, because containers have no type for its value`)
  }
}

/**
 * Files of other programs may have empty names, which only copies of stored arrays keep.
 * @throws UnsupportedError for an empty name
 */
function checkNamed(name: string, what: () => string): void {
  if (name !== '') return
  const text = `${what()}; a copy of elements needs names: copy the container as it is stored, without options of chunks, or leave this out`
  throw new HyperslabError('UnsupportedError', text, { actual: name })
}

/** @throws InvalidArgumentError for unknown dimensions, and for invalid lengths */
export function checkChunks(
  call: string,
  { dimensions }: Pick<ImportSource, 'dimensions'>,
  { chunks = {} }: ImportOptions,
): void {
  for (const [name, length] of Object.entries(chunks)) {
    if (!dimensions.includes(name)) {
      const text = `chunks: there is no dimension '${name}'; there are ${dimensions.join(', ') || 'none'}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: name, expected: dimensions })
    }
    checkValue(call, `the length of chunks along ${name}`, length, 'integer from 1')
  }
}

/** Converts content for Zarr to content for a container. */
export const toImport = ({ attributes, arrays }: ZarrExport): Pick<ImportSource, 'attributes' | 'arrays' | 'dimensions'> => ({
  attributes: typedAttributes(attributes),
  arrays: arrays.map((each) => ({ ...each, attributes: () => typedAttributes(each.attributes) })),
  dimensions: [...new Set(arrays.flatMap(({ dimensionNames }) => dimensionNames))],
})

/** JSON values without an attribute type become text, as in copies of Zarr. */
function typedAttributes(attributes: Iterable<readonly [string, unknown]>): TypedAttributes {
  const kept = (name: string, value: unknown): unknown => {
    if (value instanceof TypedValue) return { ...value }
    return isJsonValue(value) ? (attributeOfJson(value, true) ?? textOfJson(attributesDocument({ [name]: value })[name])) : value
  }
  return Array.from(attributes, ([name, value]) => [name, kept(name, value) as string])
}

/**
 * Returns an array whose fill value is its missing value, as containers require. All missing elements become
 * one value: that of `_FillValue`, if it exists. Arrays without missing elements, and binaries, have no fill
 * value.
 */
function withOneMissing(
  { name, array }: SourceArray,
  warnings: string[],
): { readonly from: DiskArray; readonly fill: Element | undefined } {
  const { fillValue, source, dtype } = array
  const known = missingElements(source)
  if (dtype === 'binary' && isAnyMissing(known)) {
    warnings.push(`array '${name}': containers have no fill value of binaries: what is missing is what it is stored as`)
    return {
      from: new DiskArray(elementwise(source, { dtype, missing: NOTHING }, { forth: (element) => element })),
      fill: undefined,
    }
  }
  const fill = known.nan && Number.isNaN(fillValue) ? Number.NaN : missingElement(known)
  const isAlone = known.values.length + Number(known.nan) <= 1
  return { from: isAlone ? array : new DiskArray(missingAs(source, fill!)), fill }
}

/** @param fill value of missing elements */
function definitionLike(
  { name, array, dimensionNames, chunkShape, hasOwnChunks }: SourceArray,
  fill: Element | undefined,
  { chunks = {}, chunkBytes = IMPORT_CHUNK_BYTES }: Pick<ImportOptions, 'chunks' | 'chunkBytes'>,
): ArrayOptions {
  const { dtype, shape } = array
  const own = hasOwnChunks || isLabels(name, dimensionNames) ? (chunkShape ?? labelChunks({ array })) : undefined
  const given = shape.map((length, axis) => {
    if (own !== undefined) return own[axis]
    const wanted = member(chunks, dimensionNames[axis]!)
    return wanted === undefined ? undefined : Math.max(1, Math.min(length, wanted))
  })
  // The remaining axes share the rest of the size.
  const rest = shape.map((length, axis) => (given[axis] === undefined ? length : 1))
  const elementBytes = bytesOf(dtype) * sizeOf(given.map((length) => length ?? 1))
  const estimated = chunkShape ?? ChunkGrid.estimate(rest, elementBytes, chunkBytes).chunkShape
  return {
    dtype,
    shape,
    chunks: estimated.map((length, axis) => given[axis] ?? length),
    dimensionNames,
    ...(fill !== undefined && dtype !== 'binary' && { fillValue: readElement(dtype, [fill] as never, 0) }),
  }
}
