import type { Command } from 'commander'
import { type ArrayFile, open, type Progress } from '../runtime/index.ts'
import { interruptible } from './failure.ts'
import { formatAt } from './found.ts'
import { importFirst } from './netcdf-file.ts'
import { addCodecOptions, type CodecOptions, checkCodecOptions, type NotFoundOption } from './options.ts'
import { count, printLines, showBytes, table } from './output.ts'
import { progressLine } from './progress.ts'

export function addCompact(program: Command): void {
  const command = program
    .command('compact')
    .description('rewrite a container as a single file, without replaced and deleted data')
    .argument('<file>', 'a container (.af)')
  addCodecOptions(command)
    .addHelpText('after', '\nExample:\n  $ hyperslab compact climate.af --codec zstd --level 9')
    .action(async (path: string, options: CodecOptions & NotFoundOption) => {
      checkCodecOptions(options)
      if ((await formatAt(path)) === 'netcdf') throw importFirst(path, 'which has one layer')
      await using file = await open(path, options)
      const before = sizesOf(file)
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
      const after = sizesOf(file)
      const row = (name: string, { files, bytes }: Sizes): string[] => [
        name,
        count(files, 'file'),
        showBytes(bytes),
        `${bytes} B`,
      ]
      const rows = [row('before', before), row('after', after)]
      await printLines([file.location, ...table([{ title: '' }, right(''), right(''), right('')], rows).slice(1)])
    })
}

interface Sizes {
  readonly files: number
  readonly bytes: number
}

const right = (title: string) => ({ title, align: 'right' as const })

function sizesOf(file: ArrayFile): Sizes {
  const layers = file.layers()
  return { files: layers.length, bytes: layers.reduce((sum, { bytes }) => sum + bytes, 0) }
}
