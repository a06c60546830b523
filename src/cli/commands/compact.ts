import type { Command } from 'commander'
import { type ArrayFile, open, type Progress } from '../../runtime/index.ts'
import { type FoundTree, findTree, importPlace } from '../../runtime/tree.ts'
import { interruptible, oneLine, UsageError } from '../show/failure.ts'
import { progressLine } from '../show/progress.ts'
import { count, printError, printResult, showBytes, table } from '../show/text.ts'
import {
  addCodecOptions,
  type CodecOptions,
  checkCodecOptions,
  immutableOption,
  type JsonOption,
  type NotFoundOption,
  notFoundAt,
} from './options.ts'
import { importFirst } from './place.ts'

type Options = CodecOptions &
  NotFoundOption &
  JsonOption & { readonly immutable?: boolean; readonly output?: string; readonly overwrite?: boolean }

/** Block size of a compacted container, so that most blocks can be copied unchanged. */
const BLOCK_BYTES = 8 * 2 ** 20

export function addCompact(program: Command): void {
  const command = program
    .command('compact')
    .description('rewrite a container as a single file, without replaced and deleted data')
    .argument('<file>', 'a container (.af)')
  addCodecOptions(command)
    .addOption(immutableOption())
    .option('-o, --output <file>', 'with --immutable: the file to write (.af); the container stays as it is')
    .option('--overwrite', 'with --immutable: replace the output if it exists')
    .addHelpText(
      'after',
      `
Examples
  $ hyperslab compact climate.af --codec zstd --level 9
  $ hyperslab compact climate.af --immutable -o sealed.af`,
    )
    .action(async (path: string, { immutable = false, output, overwrite = false, ...options }: Options) => {
      checkCodecOptions(options)
      if (immutable !== (output !== undefined))
        throw new UsageError('--immutable and --output go together: a file of footer version 6 is written beside the container')
      if (overwrite && !immutable) throw new UsageError('--overwrite is for --immutable')
      const found = await findTree(path, notFoundAt(path, options))
      try {
        const { hasSidecars = false, attributeTypes } = found.format
        if (!hasSidecars && attributeTypes === undefined) throw importFirst(found, path, 'which has one layer')
        // The error of another format names the calls that open it.
        if (!hasSidecars) await (await open(found.place)).close()
        const { notFound, json, ...writing } = options
        if (output !== undefined) return await seal(found, output, { ...writing, overwrite })
        await using file = await open(found.place, writing)
        await compact(file)
      } finally {
        await found.close()
      }
    })
}

/** Compacts a container, and prints its sizes before and after. */
async function compact(file: ArrayFile): Promise<void> {
  const before = measureSizes(file)
  const line = progressLine('compacting', 'chunks')
  try {
    await interruptible((signal) => {
      const onProgress = (progress: Progress): void => {
        signal.throwIfAborted()
        line.update(progress)
      }
      return file.compact({ onProgress })
    })
  } finally {
    line.end()
  }
  const after = measureSizes(file)
  const row = (name: string, { files, bytes }: Sizes): string[] => [name, count(files, 'file'), showBytes(bytes), `${bytes} B`]
  const rows = [row('before', before), row('after', after)]
  const lines = [file.location, ...table([{ title: '' }, right(''), right(''), right('')], rows).slice(1)]
  await printResult({ output: file.location, before, after }, lines)
}

/** Writes the content of a container as one file of footer version 6. */
async function seal(found: FoundTree, output: string, options: CodecOptions & { overwrite: boolean }): Promise<void> {
  const line = progressLine('compacting', 'chunks')
  const { arrays, bytes, warnings } = await interruptible((signal) =>
    importPlace(found.place, output, {
      ...options,
      blockBytes: BLOCK_BYTES,
      immutable: true,
      signal,
      onProgress: line.update,
    }),
  ).finally(line.end)
  for (const warning of warnings) printError(`warning: ${oneLine(warning)}`)
  await printResult({ output, arrays, bytes, warnings }, [`${output}: ${count(arrays.length, 'array')}, ${showBytes(bytes)}`])
}

interface Sizes {
  readonly files: number
  readonly bytes: number
}

const right = (title: string) => ({ title, align: 'right' as const })

function measureSizes(file: ArrayFile): Sizes {
  const layers = file.layers()
  return { files: layers.length, bytes: layers.reduce((sum, { bytes }) => sum + bytes, 0) }
}
