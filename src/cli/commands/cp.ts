import type { Command } from 'commander'
import { copyTree } from '../../runtime/tree.ts'
import { interruptible, RESUMABLE } from '../show/failure.ts'
import { progressLine } from '../show/progress.ts'
import { count, printResult, showBytes } from '../show/text.ts'
import { type NotFoundOption, notFoundAt } from './options.ts'

interface CpOptions extends NotFoundOption {
  readonly followLinks?: boolean
  readonly overwrite?: boolean
}

export function addCp(program: Command): void {
  program
    .command('cp')
    .description('copy a container with its sidecars, a Zarr store or a file between any two places, as it is')
    .argument('<from>', 'a path, or a URL of http, https or s3; a zip archive is unpacked where the target ends in .zarr')
    .argument('<to>', 'a path, or a URL of s3')
    .option('--overwrite', 'replace an existing copy, after all was copied beside it; folders with other content are refused')
    .option('--follow-links', 'follow symbolic links in the target, even out of it')
    .addHelpText(
      'after',
      `
The object without which nothing can be opened is written last. Objects that are there with the same bytes are kept, so that the same command goes
on where it was ended. 64 MiB of objects are held at most.

Examples
  $ hyperslab cp climate.af s3://bucket/climate.af
  $ hyperslab cp https://example.org/climate.zarr climate.zarr`,
    )
    .action(async (from: string, to: string, { overwrite = false, followLinks, ...options }: CpOptions) => {
      const line = progressLine('copying', 'objects')
      const { objects, bytes, kept } = await interruptible(
        (signal) =>
          copyTree(from, to, {
            ...notFoundAt(from, options),
            command: 'hyperslab cp … --overwrite',
            overwrite,
            followLinks,
            signal,
            onProgress: line.update,
          }),
        RESUMABLE,
      ).finally(line.end)
      const there = kept === 0 ? '' : `, ${kept} there already`
      await printResult({ output: to, objects, bytes, kept }, [`${to}: ${count(objects, 'object')}, ${showBytes(bytes)}${there}`])
    })
}
