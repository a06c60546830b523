import { bytesOf } from '../../array/source.ts'
import { HyperslabError } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { sizeOf } from '../../core/shape.ts'
import type { ZarrExport } from '../../runtime/export-zarr.ts'
import {
  IMPORT_CHECKS,
  type Imported,
  type ImportOptions,
  type ImportSource,
  importArrays,
  importOf,
} from '../../runtime/import-arrays.ts'
import type { Location } from '../../runtime/location.ts'
import { labelOf } from '../../runtime/place-names.ts'
import { type Attrs, attributeText } from '../attributes.ts'
import { BOUNDS } from '../cf/bounds.ts'
import { type EncodedVariable, encodeVariable, storedAttribute, storedTimes, type VariableEncoding } from '../cf/encode.ts'
import type { Coords } from '../coords.ts'
import { originalDims } from '../repeated-dims.ts'
import type { Variable } from '../variable.ts'

export type { Location } from '../../runtime/location.ts'

/** Options of `write`. */
export interface WriteDatasetOptions
  extends Pick<
    ImportOptions,
    'codec' | 'level' | 'codecs' | 'overwrite' | 'blockBytes' | 'immutable' | 'chunks' | 'signal' | 'onProgress'
  > {
  /** The format: that of the name, `.af` or `.zarr`, unless given. */
  readonly format?: 'af' | 'zarr'
  /**
   * Zarr alone: lengths of shards along dimensions, each a multiple of that of chunks; along others a shard
   * is a chunk long.
   */
  readonly shards?: Readonly<Record<string, number>>
  /**
   * Zarr alone: bytes of elements held at a time, those they are packed from included; when left out, 8 MiB
   * of what is stored, unless a shard has more.
   */
  readonly maxBytes?: number
  /**
   * Zarr alone: a name of this version of what is written. With it, what was written stays when the write is
   * interrupted, and the next one with the same name and options goes on from there; where all is there, it
   * does nothing.
   */
  readonly resume?: string
  /**
   * Zarr alone: makes a pyramid of so many levels, the data themselves among them, each half as fine as the
   * one before along the last two dimensions. Elements are means of those of the level before that are
   * neither missing nor NaN; flags, texts, times, booleans and integers of 64 bits give every second element.
   * One variable without coordinates is an image of OME-NGFF 0.5 (`0`, `1`, …), others are groups (`0/tas`,
   * `0/lat`, …) under the convention `multiscales`.
   */
  readonly levels?: number
  /**
   * Places that are read meanwhile. With `overwrite`, a target that is one of them, lies in it or contains it
   * is refused. Files on this machine are recognised without this option.
   */
  readonly sources?: readonly Location[]
  /** The way variables and coordinates are stored, by name, each in place of the encoding that it has. */
  readonly encoding?: Readonly<Record<string, VariableEncoding>>
}

/** The outcome of `write`. */
export interface Written extends Omit<Imported, 'bytes'> {
  /** Size of the container, in bytes; of Zarr, which is many objects, it is not told. */
  readonly bytes?: number
  /** True where all of it was there already: see `resume`. */
  readonly unchanged?: boolean
}

const { codec, level, codecs, overwrite, blockBytes, immutable, chunks, signal, onProgress } = IMPORT_CHECKS
const CHECKS: Checks<WriteDatasetOptions> = {
  format: ['af', 'zarr'],
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

/** Larger chunks, which may be whole files, are not kept: one has to fit in memory. */
const MOST_CHUNK_BYTES = 16 * 1024 * 1024

/** Held of an array at a time, as it is stored: what it is packed from may be eight times as long. */
const HELD_BYTES = 8 * 1024 * 1024

/** Bytes of what elements are made of. */
const MOST_ELEMENT_BYTES = 8

/** What is written of a dataset. */
export interface WrittenParts {
  readonly variables: ReadonlyMap<string, Variable>
  readonly coords: Coords
  readonly attrs: Attrs
  readonly problems: ReadonlyMap<string, HyperslabError>
  readonly warnings: readonly string[]
}

/** Returns warnings of the file, omitted variables, and attributes that decoding has ignored. */
export const warningsOf = ({ variables, coords, problems, warnings }: WrittenParts): string[] => [
  ...warnings,
  ...Array.from(problems, ([name, { message }]) => `'${name}' is left out: ${message}`),
  ...[...coords.values(), ...variables.values()].flatMap((variable) => variable.warnings),
]

/** See `write` of `Dataset`. */
export async function writeDataset(parts: WrittenParts, location: Location, options: WriteDatasetOptions): Promise<Written> {
  checkOptions('write', options, CHECKS)
  const { encoding = {}, format = formatOf(location), shards, levels, maxBytes, resume, sources, ...rest } = options
  const { attributes, arrays } = encodedParts(parts, encoding)
  const warnings = warningsOf(parts)
  if (format === 'zarr') {
    const { codecs, blockBytes, immutable, ...own } = rest
    for (const [name, value] of Object.entries({ codecs, blockBytes, immutable }))
      if (value !== undefined) throw refused(`${name} is for containers, and this is Zarr`, value)
    const { exportZarr } = await import('../../runtime/export-zarr.ts')
    const isWritten = await exportZarr({ attributes, arrays }, location, { ...own, shards, levels, maxBytes, resume, sources })
    return { arrays: arrays.map(({ name }) => name), warnings, ...(!isWritten && { unchanged: true }) }
  }
  for (const [name, value] of Object.entries({ shards, levels, maxBytes, resume }))
    if (value !== undefined) throw refused(`${name} is for Zarr, and this is a container`, value)
  const source: ImportSource = { ...importOf({ attributes, arrays }), warnings, async [Symbol.asyncDispose]() {} }
  return importArrays('write', async () => source, location, rest, sources)
}

const refused = (text: string, actual: unknown): HyperslabError =>
  new HyperslabError('InvalidArgumentError', `write: ${text}`, { actual })

/** The format that the name of a place tells. */
const formatOf = (location: Location): 'af' | 'zarr' =>
  /\.zarr\/?$/i.test(labelOf(location).replace(/[?#].*$/s, '')) ? 'zarr' : 'af'

/** Variables and coordinates as they are stored, with all attributes. */
export function encodedParts(parts: WrittenParts, encoding: NonNullable<WriteDatasetOptions['encoding']>): ZarrExport {
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
      chunkShape: chunksOf(encoded, given),
      fill: encoded.fill,
      implied: encoded.implied,
      maxBytes: HELD_BYTES,
      heldTimes: 1 + MOST_ELEMENT_BYTES / bytesOf(encoded.array.dtype),
      attributes: new Map([...encoded.attrs, ...attributeOf('coordinates', names.of.get(variable))]),
    }
  })
  const own = Object.keys(parts.attrs).map((name) => [name, storedAttribute(parts.attrs, name)] as const)
  const attributes = new Map([...own.filter(([name]) => name !== 'coordinates'), ...attributeOf('coordinates', names.global)])
  return { attributes, arrays }
}

function unknown(name: string, all: readonly Variable[]): HyperslabError {
  const known = all.map((each) => each.name)
  const text = `encoding: there is no variable of this name: there are ${known.join(', ') || 'none'}`
  return new HyperslabError('UnknownArrayError', text, { array: name, actual: name, expected: known })
}

const attributeOf = (name: string, text: string | undefined): [string, unknown][] => (text === undefined ? [] : [[name, text]])

/** Chunks as they were, unless they are too large to be read one by one; what is asked for is done. */
function chunksOf({ array, chunks }: EncodedVariable, given: VariableEncoding | undefined): readonly number[] | undefined {
  if (chunks === undefined || given?.chunks !== undefined) return chunks
  return sizeOf(chunks) * bytesOf(array.dtype) <= MOST_CHUNK_BYTES ? chunks : undefined
}

/**
 * The attributes `coordinates`, of variables and of the whole: those that there were, without names that are
 * gone; and coordinates that no attribute names yet, with the variables along whose dimensions they lie.
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
