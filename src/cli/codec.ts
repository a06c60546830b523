import { type Command, Option } from 'commander'
import { UsageError } from './failure.ts'
import { integerBetween } from './options.ts'

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
