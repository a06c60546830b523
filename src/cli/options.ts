import { type Command, InvalidArgumentError, Option } from 'commander'
import type { MemoryBudget } from '../core/memory-budget.ts'
import type { WorkerPool } from '../pool/task.ts'
import { UsageError } from './failure.ts'

/** Parses an option that is an integer within bounds. */
export function integerBetween(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= low && value <= high) return value
    throw new InvalidArgumentError(`It must be an integer from ${low} to ${high}.`)
  }
}

/** Parses an option that is a number not below a bound. */
export function numberFrom(low: number): (text: string) => number {
  return (text) => {
    const value = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= low) return value
    throw new InvalidArgumentError(`It must be a number from ${low}.`)
  }
}

/** For commands that write blocks. */
export interface CodecOptions {
  readonly codec: string
  readonly level?: number
}

export const addCodecOptions = (command: Command): Command =>
  command
    .addOption(new Option('--codec <codec>', 'how blocks are compressed').choices(['lz4', 'zstd', 'none']).default('lz4'))
    .option('--level <number>', 'how hard zstd tries, 1 to 22 (default: 3); about 1 before Node 22.15', integerBetween(1, 22))

/** @throws UsageError for a level of another codec */
export function checkCodecOptions({ codec, level }: CodecOptions): void {
  if (level !== undefined && codec !== 'zstd') throw new UsageError(`--level is for --codec zstd, not ${codec}`)
}

/** For commands that read a place. */
export interface PlaceOptions {
  /** Of a container: which state of it. */
  readonly layer?: number
  /** Of a Zarr store: paths of what is in it. */
  readonly names?: readonly string[]
  /** Of a Zarr store: the path of a group, which other paths are from. */
  readonly group?: string
}

/** What reads of a place share. */
export interface ReadingOptions {
  readonly pool?: WorkerPool
  readonly budget?: MemoryBudget
}

export const addPlaceOptions = (command: Command): Command =>
  command
    .addOption(layerOption())
    .addOption(namesOption())
    .option('--group <path>', 'of a Zarr store: the group to look at; names of arrays are paths from there')

export const layerOption = () =>
  new Option('--layer <number>', 'of a container: the state that this layer left (0 for the base)').argParser(
    integerBetween(0, 999_999_999),
  )

export const namesOption = () =>
  new Option('--names <paths>', 'of a Zarr store that cannot tell: the arrays in it, e.g. tas,sub/lat').argParser(parseNames)

/** Names between commas. */
export function parseNames(text: string): string[] {
  const names = text.split(',').map((name) => name.trim())
  if (names.includes('')) throw new InvalidArgumentError('It has an empty name.')
  return names
}

/** What the argument for a place may be. */
export const PLACE = 'a container (.af), classic NetCDF, or a Zarr store: its folder, URL, zip archive or kerchunk references'

const UNITS: Readonly<Record<string, number>> = { B: 1, KB: 1e3, MB: 1e6, GB: 1e9, KIB: 2 ** 10, MIB: 2 ** 20, GIB: 2 ** 30 }

/** Parses a number of bytes: `512MiB`, `1.5GB`, `1073741824`. */
export function parseByteCount(text: string): number {
  const [, number = '', unit = 'B'] = /^(\d+(?:\.\d+)?) ?([KMG]i?B|B)?$/i.exec(text.trim()) ?? []
  if (number === '') throw new InvalidArgumentError('It must be like 512MiB, 2GB or a number of bytes.')
  return Math.floor(Number(number) * UNITS[unit.toUpperCase()]!)
}

export const memoryOption = () =>
  new Option('--memory <bytes>', 'memory that the command may take, e.g. 512MiB; 256MiB is the least').argParser(parseByteCount)
