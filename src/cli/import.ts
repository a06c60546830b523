import type { Command } from 'commander'
import { addCodecOptions, type CodecOptions, checkCodecOptions } from './codec.js'
import { UsageError } from './failure.js'
import { DEFAULT_BLOCK_BYTES, DEFAULT_CHUNK_BYTES, importNetcdf } from './import-netcdf.js'
import { interruptible } from './interrupt.js'
import { integerBetween } from './options.js'
import { printLines } from './output.js'
import { progressLine } from './progress.js'
import { count, showBytes } from './table.js'

interface Options extends CodecOptions {
  readonly chunkBytes: number
  readonly blockBytes: number
  readonly overwrite?: boolean
}

export function addImport(program: Command): void {
  const command = program
    .command('import')
    .description('copy a classic NetCDF file into a container')
    .argument('<input>', 'a NetCDF file (.nc)')
    .argument('<output>', 'the container to make (.af)')
  addCodecOptions(command)
    .option('--chunk-bytes <bytes>', 'size that chunks should have', integerBetween(1, 2 ** 30), DEFAULT_CHUNK_BYTES)
    .option('--block-bytes <bytes>', 'size that blocks of chunks should have', integerBetween(1, 2 ** 30), DEFAULT_BLOCK_BYTES)
    .option('--overwrite', 'replace the container if there is one')
    .addHelpText(
      'after',
      '\nExample: small chunks, for reading single points\n  $ hyperslab import tas.nc climate.af --chunk-bytes 16384',
    )
    .action(async (input: string, output: string, { overwrite = false, ...options }: Options) => {
      if (!/[^/\\]\.af$/.test(output)) throw new UsageError(`the name of a container must end in .af, '${output}' does not`)
      checkCodecOptions(options)
      const line = progressLine('importing', 'chunks')
      const imported = await interruptible((signal) =>
        importNetcdf(input, output, { ...options, overwrite, onProgress: line.update, signal }),
      ).finally(line.end)
      const { arrays, sourceBytes, bytes } = imported
      await printLines([`${output}: ${count(arrays, 'array')}, ${showBytes(bytes)} (${input}: ${showBytes(sourceBytes)})`])
    })
}
