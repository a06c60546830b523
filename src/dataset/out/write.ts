import { bytesOf } from '../../array/source.ts'
import { type CopyOutcome, copy } from '../../copy/copy.ts'
import { IMPORT_CHECKS, type ImportOptions } from '../../copy/import-arrays.ts'
import { complexOf, type ZarrExport } from '../../copy/stored-arrays.ts'
import { HyperslabError, invalidArgument } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { sizeOf } from '../../core/shape.ts'
import { formatNamed } from '../../tree/formats.ts'
import type { Location } from '../../tree/location.ts'
import {
  FILE_TO_WRITE,
  foreignWriteOption,
  formatOfTarget,
  WRITTEN_FORMATS,
  type WrittenFormat,
} from '../../tree/written-formats.ts'
import { type Attrs, attributeText } from '../attributes.ts'
import { BOUNDS } from '../cf/bounds.ts'
import { storedAs } from '../cf/decode.ts'
import { type EncodedVariable, encodeVariable, storedAttribute, storedTimes, type VariableEncoding } from '../cf/encode.ts'
import type { Coords, OmittedGroups } from '../coords.ts'
import { originalDims } from '../repeated-dims.ts'
import type { Variable } from '../variable.ts'
import { checkNoGroupsLeft } from './groups-left.ts'

export type { Location } from '../../tree/location.ts'

/** Options of `write`. */
export interface WriteDatasetOptions
  extends Pick<
    ImportOptions,
    'codec' | 'level' | 'codecs' | 'overwrite' | 'blockBytes' | 'immutable' | 'chunks' | 'signal' | 'onProgress'
  > {
  /** Format. Default: that of the name, `.af`, `.zarr` or `.nc`; for other names, a container. */
  readonly format?: 'container' | 'netcdf' | 'zarr'
  /**
   * Version of a NetCDF file: 1 for CDF-1, 2 for CDF-2 with offsets of 64 bits, 5 for CDF-5 with unsigned and
   * 64-bit integers. Default: the first one that holds the data, without such integers if their values fit
   * others.
   */
  readonly kind?: 1 | 2 | 5
  /**
   * Names of unlimited dimensions, for NetCDF only. The first one that is the first dimension of all
   * variables along it becomes that of records. The others become fixed, with a warning. Default: those of
   * the source.
   */
  readonly unlimited?: readonly string[]
  /**
   * Lengths of shards along dimensions, for Zarr only; each is a multiple of the chunk length. Default: the
   * chunk length.
   */
  readonly shards?: Readonly<Record<string, number>>
  /**
   * Memory for elements in bytes, for Zarr and NetCDF only, including the values that they are packed from.
   * Default: 8 MiB of stored data, or one shard if it is larger.
   */
  readonly maxBytes?: number
  /**
   * Name of this version of the data, for Zarr only. An interrupted write then keeps its part. The next write
   * with the same name and options continues it, or does nothing if all data are written.
   */
  readonly resume?: string
  /**
   * Number of levels of a pyramid, for Zarr only, including the data themselves. Each level has half the
   * resolution of the one before along the last two dimensions. Its elements are means of the valid elements
   * of the level before. Flags, texts, times, booleans and 64-bit integers use every second element instead.
   * One variable without coordinates becomes an image of OME-NGFF 0.5 (`0`, `1`, …). Others become groups
   * (`0/tas`, `0/lat`, …) under the convention `multiscales`.
   */
  readonly levels?: number
  /**
   * Places that are read during the write. With `overwrite`, a target that is one of them, lies in one or
   * contains one is refused. Local files are recognised without this option.
   */
  readonly sources?: readonly Location[]
  /** Encoding of variables and coordinates by name, which replaces their own. */
  readonly encoding?: Readonly<Record<string, VariableEncoding>>
}

/** Result of `write`. */
export interface WriteResult extends CopyOutcome {}

const { codec, level, codecs, overwrite, blockBytes, immutable, chunks, signal, onProgress } = IMPORT_CHECKS
const CHECKS: Checks<WriteDatasetOptions> = {
  format: WRITTEN_FORMATS,
  kind: [1, 2, 5],
  unlimited: 'list of strings',
  shards: 'plain object',
  maxBytes: 'integer from 1',
  resume: 'string',
  levels: 'integer from 1 to 32',
  sources: 'list',
  chunks,
  codec,
  level,
  codecs,
  overwrite,
  blockBytes,
  immutable,
  signal,
  onProgress,
  encoding: 'plain object',
}

/** Largest chunk whose shape is kept, in bytes. A larger one, maybe a whole file, might not fit in memory. */
const MOST_CHUNK_BYTES = 16 * 1024 * 1024

/**
 * Bytes of an array held at a time, as stored. The values they are packed from may be eight times as large.
 */
const HELD_BYTES = 8 * 1024 * 1024

/** Largest size of an unpacked element, in bytes. */
const MOST_ELEMENT_BYTES = 8

/** Parts of a dataset that are written. */
export interface WrittenParts {
  readonly variables: ReadonlyMap<string, Variable>
  readonly coords: Coords
  readonly attrs: Attrs
  readonly decodeErrors: ReadonlyMap<string, HyperslabError>
  readonly warnings: readonly string[]
  readonly groupsLeft?: (() => Promise<OmittedGroups>) | undefined
}

/** Returns warnings of the file, omitted variables, and attributes that decoding has ignored. */
export const collectWarnings = ({ variables, coords, decodeErrors, warnings }: WrittenParts): string[] => [
  ...warnings,
  ...Array.from(decodeErrors, ([name, { message }]) => `'${name}' is left out: ${message}`),
  ...[...coords.values(), ...variables.values()].flatMap((variable) => variable.warnings),
]

/** Implements {@link Dataset.write}. */
export async function writeDataset(parts: WrittenParts, location: Location, options: WriteDatasetOptions): Promise<WriteResult> {
  checkOptions('write', options, CHECKS)
  const { encoding = {}, format, ...rest } = options
  const target = format === undefined ? (formatOfTarget(location) ?? FILE_TO_WRITE) : formatNamed(format)
  const chunked = Object.entries(encoding).find(([, { chunks } = {}]) => chunks !== undefined)
  const foreign = chunked && foreignWriteOption(target as WrittenFormat, { chunks })
  if (foreign !== undefined) invalidArgument(`write: encoding of '${chunked![0]}': ${foreign.text}`, chunked![1])
  const content = { ...(await encodedParts(parts, encoding)), warnings: collectWarnings(parts) }
  return copy('write', content, location, { ...rest, format: target as WrittenFormat })
}

/**
 * Returns variables and coordinates in stored form, with all attributes.
 * @throws UnsupportedError for a place with groups, if none was chosen
 */
export async function encodedParts(
  parts: WrittenParts,
  encoding: NonNullable<WriteDatasetOptions['encoding']>,
): Promise<ZarrExport> {
  await checkNoGroupsLeft(parts)
  const { variables, coords } = parts
  const all = [...coords.values(), ...variables.values()]
  for (const name of Object.keys(encoding)) if (!variables.has(name) && !coords.has(name)) throw unknown(name, all)
  const givenFor = ({ name }: Variable): VariableEncoding | undefined =>
    Object.hasOwn(encoding, name) ? encoding[name] : undefined
  const boundsOf = new Map(
    all.flatMap((variable) => {
      const times = storedTimes(variable, givenFor(variable))
      const names = BOUNDS.map((key) => attributeText(variable.attrs, key))
      return times === undefined ? [] : names.flatMap((name) => (name === undefined ? [] : [[name, times] as const]))
    }),
  )
  const names = coordinateAttributes(parts)
  const arrays = all.map((variable) => {
    const given = givenFor(variable)
    const encoded = encodeVariable(variable, given, boundsOf.get(variable.name))
    return {
      name: variable.name,
      array: encoded.array,
      dimensionNames: originalDims(variable),
      chunkShape: chooseChunks(encoded, given),
      hasOwnChunks: given?.chunks !== undefined,
      fill: encoded.fill,
      implied: encoded.implied,
      maxBytes: HELD_BYTES,
      heldTimes: encoded.isAsStored ? 1 : 1 + MOST_ELEMENT_BYTES / bytesOf(encoded.array.dtype),
      attributes: new Map([...encoded.attrs, ...attributeEntry('coordinates', names.of.get(variable))]),
      complex: given?.dtype === undefined ? complexOf(storedAs(variable.array)) : undefined,
    }
  })
  const own = Object.keys(parts.attrs).map((name) => [name, storedAttribute(parts.attrs, name)] as const)
  const attributes = new Map([...own.filter(([name]) => name !== 'coordinates'), ...attributeEntry('coordinates', names.global)])
  const dims = new Set(all.flatMap((variable) => variable.dims))
  const unlimited = [...new Set(all.flatMap((variable) => variable.unlimited))].filter((dim) => dims.has(dim))
  return { attributes, arrays, unlimited }
}

function unknown(name: string, all: readonly Variable[]): HyperslabError {
  const known = all.map((each) => each.name)
  const text = `encoding: there is no variable of this name: there are ${known.join(', ') || 'none'}`
  return new HyperslabError('UnknownArrayError', text, { array: name, actual: name, expected: known })
}

const attributeEntry = (name: string, text: string | undefined): [string, unknown][] => (text === undefined ? [] : [[name, text]])

/**
 * Returns the former chunk shape, unless such chunks are too large to be read whole. A requested shape is
 * always kept.
 */
function chooseChunks({ array, chunks }: EncodedVariable, given: VariableEncoding | undefined): readonly number[] | undefined {
  if (chunks === undefined || given?.chunks !== undefined) return chunks
  return sizeOf(chunks) * bytesOf(array.dtype) <= MOST_CHUNK_BYTES ? chunks : undefined
}

/**
 * Returns the attributes `coordinates` of the variables and of the dataset. Existing ones are kept, without
 * names that no longer exist. Coordinates that no attribute names are added to the variables whose dimensions
 * include theirs.
 */
function coordinateAttributes({ variables, coords, attrs }: WrittenParts): {
  readonly of: ReadonlyMap<Variable, string>
  readonly global: string | undefined
} {
  const all = [...coords.values(), ...variables.values()]
  const listed = (text: string | undefined): string[] =>
    (text?.split(/\s+/) ?? []).filter((name) => coords.has(name) || variables.has(name))
  const lists = new Map(all.map((variable) => [variable, listed(attributeText(variable.encoding, 'coordinates'))]))
  const global = listed(attributeText(attrs, 'coordinates'))
  const found = new Set([...global, ...[...lists.values()].flat()])
  for (const { attrs } of all) {
    for (const name of listed(attributeText(attrs, 'coordinates'))) found.add(name)
    for (const key of BOUNDS) for (const name of listed(attributeText(attrs, key))) found.add(name)
  }
  for (const { name, dims } of coords.values()) {
    if (found.has(name) || (dims.length === 1 && dims[0] === name)) continue
    const along = [...variables.values()].filter((variable) => dims.every((dim) => variable.dims.includes(dim)))
    for (const variable of along) lists.get(variable)!.push(name)
    if (along.length === 0) global.push(name)
  }
  const texts = [...lists].flatMap(([variable, names]): [Variable, string][] =>
    names.length === 0 ? [] : [[variable, names.join(' ')]],
  )
  return { of: new Map(texts), global: global.length === 0 ? undefined : global.join(' ') }
}
