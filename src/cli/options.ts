import { type Command, InvalidArgumentError, Option } from 'commander'
import { type ArrayFile, open } from '../runtime/index.ts'
import { oneLine, UsageError } from './failure.ts'
import { printError } from './output.ts'

/** Parses an option that is an integer within bounds. */
export function integerBetween(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= low && value <= high) return value
    throw new InvalidArgumentError(`It must be an integer from ${low} to ${high}.`)
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
    .option('--level <number>', 'how hard zstd tries, 1 to 22 (default: 3)', integerBetween(1, 22))

/** @throws UsageError for a level of another codec */
export function checkCodecOptions({ codec, level }: CodecOptions): void {
  if (level !== undefined && codec !== 'zstd') throw new UsageError(`--level is for --codec zstd, not ${codec}`)
}

/** For commands that read: which state of the container. */
export interface LayerOption {
  readonly layer?: number
}

export const layerOption = () =>
  new Option('--layer <number>', 'read the state that this layer left (0 for the base)').argParser(integerBetween(0, 999_999_999))

/** Opens a container for reading and says on standard error what its files leave uncertain. */
export async function openContainer(path: string, { layer }: LayerOption): Promise<ArrayFile> {
  const file = await open(path, layer === undefined ? {} : { layer })
  for (const warning of file.warnings()) printError(`warning: ${oneLine(warning)}`)
  return file
}
