import { type Command, InvalidArgumentError, Option } from 'commander'
import { type MemoryBudget, slice, type WorkerPool } from '../../runtime/index.ts'
import type { Slice } from '../../runtime/plan.ts'
import { UsageError } from '../show/failure.ts'

/** Returns a parser of integers within bounds. */
export function integerBetween(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= low && value <= high) return value
    throw new InvalidArgumentError(`It must be an integer from ${low} to ${high}.`)
  }
}

/** Returns a parser of numbers at or above a bound. */
export function numberFrom(low: number): (text: string) => number {
  return (text) => {
    const value = /^(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN
    if (value >= low) return value
    throw new InvalidArgumentError(`It must be a number from ${low}.`)
  }
}

/** Options of commands that write blocks. */
export interface CodecOptions {
  readonly codec: string
  readonly level?: number
}

export const addCodecOptions = (command: Command): Command =>
  command
    .addOption(new Option('--codec <codec>', 'codec of blocks').choices(['lz4', 'zstd', 'none']).default('lz4'))
    .option(
      '--level <number>',
      'compression level of zstd, 1 to 22 (default: 3); before Node 22.15 always about 1',
      integerBetween(1, 22),
    )

/** @throws UsageError for a level without the codec zstd */
export function checkCodecOptions({ codec, level }: CodecOptions): void {
  if (level !== undefined && codec !== 'zstd') throw new UsageError(`--level is for --codec zstd, not ${codec}`)
}

/** Options of commands that write arrays with other chunks. */
export interface WritingOptions extends NotFoundOption {
  readonly chunks?: Readonly<Record<string, number>>
  readonly shards?: Readonly<Record<string, number>>
  readonly codec?: string
  readonly level?: number
  readonly variables?: readonly string[]
  readonly memory?: number
  readonly overwrite?: boolean
  readonly immutable?: boolean
}

/** Adds the options of writing commands except `--codec`, whose choices depend on the output. */
export const addWritingOptions = (command: Command): Command =>
  command
    .addOption(chunksOption())
    .option('--shards <lengths>', 'lengths of Zarr shards along dimensions, multiples of those of chunks', parseLengths)
    .option('--level <number>', 'compression level of zstd, gzip, zlib or blosc', integerBetween(0, 22))
    .addOption(variablesOption())
    .option(
      '--memory <bytes>',
      'memory that the command may use, e.g. 512MiB; at least 256MiB (default: 1GiB)',
      bytesBetween(1, 2 ** 50),
    )
    .option('--overwrite', 'replace an existing output, after the new one was written beside it')
    .addOption(immutableOption())

export const immutableOption = () =>
  new Option(
    '--immutable',
    'of a container: write one file of footer version 6, which never changes, as array-format 0.15 reads it',
  )

const chunksOption = () =>
  new Option('--chunks <lengths>', 'lengths of chunks along dimensions, e.g. time=12,lat=48').argParser(parseLengths)

const variablesOption = () =>
  new Option('--variables <names>', 'which variables to copy, e.g. tas,lat,lon (default: all)').argParser(parseNames)

/** Parses `time=12,lat=48`. The dimensions are checked after the source is open. */
function parseLengths(text: string): Record<string, number> {
  const lengths = new Map<string, number>()
  for (const part of text.split(',')) {
    const [, name = '', length = ''] = /^(.+)=(\d+)$/.exec(part.trim()) ?? []
    if (name === '' || !(Number(length) >= 1)) throw new InvalidArgumentError('It must be like time=12,lat=48.')
    if (lengths.has(name)) throw new InvalidArgumentError(`It has ${name} twice.`)
    lengths.set(name, Number(length))
  }
  return Object.fromEntries(lengths)
}

/** Option of commands that open locations. */
export interface NotFoundOption {
  /** HTTP statuses that mean "not found". */
  readonly notFound?: readonly number[]
}

export const notFoundOption = () =>
  new Option(
    '--not-found <statuses>',
    'of a URL: how its server answers for missing objects, e.g. 403,404,410 (default: 404,410)',
  ).argParser(parseStatuses)

function parseStatuses(text: string): number[] {
  const statuses = text.split(',').map((each) => (/^\s*[1-5]\d\d\s*$/.test(each) ? Number(each) : Number.NaN))
  if (statuses.every(Number.isInteger)) return statuses
  throw new InvalidArgumentError('It must be statuses of HTTP between commas, like 403,404,410.')
}

/**
 * Returns the option for one of several locations. Places on this machine have no statuses, so the option is
 * omitted for them.
 */
export const notFoundAt = (location: string, { notFound }: NotFoundOption): NotFoundOption =>
  notFound !== undefined && isRemote(location) ? { notFound } : {}

/** Whether a location is on a server that answers with statuses of HTTP. */
const isRemote = (location: string): boolean => /^(https?|s3):\/\//i.test(location)

/** @throws UsageError if the option is given and no location is a URL */
export function checkNotFoundOption(locations: readonly string[], { notFound }: NotFoundOption): void {
  if (notFound === undefined || locations.some(isRemote)) return
  throw new UsageError('--not-found is for URLs of http, https and s3, but no location is a URL')
}

/** Options of commands that read a place. */
export interface PlaceOptions extends NotFoundOption {
  /** State of a container to read, by layer. */
  readonly layer?: number
  /** Paths of the content of a Zarr store. */
  readonly names?: readonly string[]
  /** Path of a group, to which other paths are relative. */
  readonly group?: string
  /** Level of the pyramid that the group has, to which paths are relative. */
  readonly pyramidLevel?: number
  /** Whether an HDF5 file is followed to others, in its folder or in a named one. */
  readonly external?: boolean | string
}

/** Resources shared by the reads of a place. */
export interface ReadingOptions extends NotFoundOption {
  readonly pool?: WorkerPool
  readonly budget?: MemoryBudget
}

export const addPlaceOptions = (command: Command): Command =>
  command
    .addOption(layerOption())
    .addOption(namesOption())
    .option('--group <path>', 'group of a Zarr, HDF5 or TIFF file, such as page_1; names of arrays are relative to it')
    .addOption(externalOption())

/** Option of commands that open one level of a pyramid. `--level` is the level of compression. */
export const pyramidLevelOption = () =>
  new Option(
    '--pyramid-level <number>',
    'level of the pyramid in a TIFF file or a Zarr group, from 0, usually the finest',
  ).argParser(integerBetween(0, 999))

const externalOption = () =>
  new Option(
    '--external [folder]',
    'of an HDF5 file: follow its links, raw data and virtual arrays to other files of its folder, or of another one',
  )

/** Returns the option of opening for `--external`. */
export const followedBy = (
  external: boolean | string | undefined,
): { readonly external?: boolean | { readonly root: string } } =>
  external === undefined ? {} : { external: typeof external === 'string' ? { root: external } : external }

export const layerOption = () =>
  new Option('--layer <number>', 'state of a container after this layer (0: the base)').argParser(integerBetween(0, 999_999_999))

export const namesOption = () =>
  new Option('--names <paths>', 'paths of the arrays in a Zarr store that cannot be listed, e.g. tas,sub/lat').argParser(
    parseNames,
  )

export function parseNames(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.includes('')) throw new InvalidArgumentError('It has an empty name.')
  return names
}

export function parseNumbers(text: string): number[] {
  const numbers = text.split(',').map((each) => (each.trim() === '' ? Number.NaN : Number(each)))
  if (!numbers.every(Number.isFinite)) throw new InvalidArgumentError('It must be numbers between commas.')
  return numbers
}

/** Parses two numbers in ascending order. */
export function parseRange(text: string): [number, number] {
  const [low, high, more] = parseNumbers(text)
  if (high === undefined || more !== undefined || !(low! < high)) throw new InvalidArgumentError('It must be like 250,310.')
  return [low!, high]
}

/** Option for machine-readable output, the same in all commands. */
export interface JsonOption {
  readonly json?: boolean
}

export const jsonOption = () => new Option('--json', 'as JSON, for programs')

/** Description of the argument for a place. */
export const PLACE = 'a container (.af), NetCDF, HDF5, or a Zarr store: its folder, URL, zip archive or kerchunk references'

const UNITS: Readonly<Record<string, number>> = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KIB: 2 ** 10, MIB: 2 ** 20, GIB: 2 ** 30 }

/** Returns a parser of numbers of bytes within bounds: `512MiB`, `1.5GB`, `1073741824`. */
export function bytesBetween(low: number, high: number): (text: string) => number {
  return (text) => {
    const [, number = '', unit = 'B'] = /^(\d+(?:\.\d+)?) ?([KMG]i?B|B)?$/i.exec(text.trim()) ?? []
    if (number === '') throw new InvalidArgumentError('It must be like 512MiB, 2GB or a number of bytes.')
    const bytes = Math.floor(Number(number) * UNITS[unit.toUpperCase()]!)
    if (bytes < low || bytes > high) throw new InvalidArgumentError(`It must be from ${low} to ${high} bytes.`)
    return bytes
  }
}

const INTEGER = /^[+-]?\d+$/

/**
 * Parses a selection as in numpy: `0,10:20,::-2`. `:` selects a whole axis, and `...` stands for all
 * remaining axes.
 * @throws UsageError with the piece that is invalid
 */
export function parseSelection(text: string, rank: number): (number | Slice | null)[] {
  const pieces = text.trim() === '' ? [] : text.split(',').map((piece) => piece.trim())
  const before = pieces.indexOf('...')
  if (before === -1) return pieces.map((piece, i) => parsePiece(piece, i, text))
  if (pieces.indexOf('...', before + 1) !== -1) throw new UsageError(`selection '${text.trim()}' has more than one '...'`)
  const rest = Math.max(0, rank - (pieces.length - 1))
  return pieces.flatMap((piece, i) => (i === before ? new Array<null>(rest).fill(null) : [parsePiece(piece, i, text)]))
}

function parsePiece(piece: string, position: number, text: string): number | Slice | null {
  const bad = (why: string): never => {
    throw new UsageError(`selection '${text.trim()}': '${piece}' (axis ${position}) ${why}`)
  }
  if (piece === '') return bad('is empty; write : for a whole axis')
  if (piece === ':') return null
  if (!piece.includes(':')) return INTEGER.test(piece) ? toInteger(piece, bad) : bad('is neither an integer nor start:stop:step')
  const parts = piece.split(':').map((part) => part.trim())
  if (parts.length > 3) bad('has more than two colons')
  const [start, stop, step] = parts.map((part) => {
    if (part === '') return null
    return INTEGER.test(part) ? toInteger(part, bad) : bad(`has '${part}', which is not an integer`)
  })
  if (step === 0) bad('has a step of 0')
  return slice(start ?? null, stop ?? null, step ?? null) as Slice
}

function toInteger(text: string, bad: (why: string) => never): number {
  const value = Number(text)
  // `+ 0` turns -0 into 0.
  return Number.isSafeInteger(value) ? value + 0 : bad('is too large a number')
}

/**
 * Prefixes selections that start with a minus sign with a space, because commander would treat them as
 * options. Parsing ignores the space.
 */
export const protectNegatives = (args: readonly string[]): string[] =>
  args.map((arg) => (/^-\d[-+\d:,.\s]*$/.test(arg) ? ` ${arg}` : arg))

/** Removes the spaces of {@link protectNegatives} from a message of commander. */
export const showNegatives = (message: string): string => message.replaceAll("' -", "'-")

/** Parses axes, written as names or numbers: `time,lat` or `0,-1`. */
export function parseAxes(text: string): (string | number)[] {
  return text.split(',').map((piece) => {
    const axis = piece.trim()
    if (axis === '') throw new UsageError(`axis '${text.trim()}' has an empty name`)
    return INTEGER.test(axis) ? Number(axis) : axis
  })
}
