import type { Command } from 'commander'
import { DEFAULT_BLOCK_BYTES, IMPORT_CHUNK_BYTES, type Imported, type ImportOptions } from '../runtime/import-arrays.ts'
import { importNetcdf } from '../runtime/netcdf.ts'
import { importZarr } from '../runtime/zarr.ts'
import { interruptible, oneLine, UsageError } from './failure.ts'
import { formatAt } from './found.ts'
import {
  addCodecOptions,
  type CodecOptions,
  checkCodecOptions,
  chunksOption,
  integerBetween,
  namesOption,
  variablesOption,
  type WritingOptions,
} from './options.ts'
import { count, printError, printLines, showBytes } from './output.ts'
import { progressLine } from './progress.ts'
import { storeAt, zarrErrors } from './zarr-store.ts'

interface Options extends CodecOptions, Pick<WritingOptions, 'chunks' | 'variables' | 'overwrite'> {
  readonly chunkBytes: number
  readonly blockBytes: number
  readonly names?: readonly string[]
}

export function addImport(program: Command): void {
  const command = program
    .command('import')
    .description('copy a classic NetCDF file or a Zarr store into a container')
    .argument('<input>', 'a NetCDF file (.nc), or a Zarr group or array: a path, or a URL of http, https or s3')
    .argument('<output>', 'the container to make (.af)')
  addCodecOptions(command)
    .option('--chunk-bytes <bytes>', 'size that chunks should have', integerBetween(1, 2 ** 30), IMPORT_CHUNK_BYTES)
    .option('--block-bytes <bytes>', 'size that blocks of chunks should have', integerBetween(1, 2 ** 30), DEFAULT_BLOCK_BYTES)
    .addOption(chunksOption())
    .addOption(variablesOption())
    .option('--overwrite', 'replace the container if there is one')
    .addOption(namesOption())
    .addHelpText(
      'after',
      '\nExample: small chunks, for reading single points\n  $ hyperslab import tas.nc climate.af --chunk-bytes 16384',
    )
    .action(async (input: string, output: string, { overwrite = false, ...options }: Options) => {
      if (!/[^/\\]\.af$/.test(output)) throw new UsageError(`the name of a container must end in .af, '${output}' does not`)
      checkCodecOptions(options)
      const line = progressLine('importing', 'chunks')
      const { arrays, sourceBytes, bytes, warnings } = await interruptible((signal) =>
        importPlace(input, output, { ...options, overwrite, onProgress: line.update, signal }),
      ).finally(line.end)
      for (const warning of warnings) printError(`warning: ${oneLine(warning)}`)
      const source = sourceBytes === undefined ? `from ${input}` : `${input}: ${showBytes(sourceBytes)}`
      await printLines([`${output}: ${count(arrays.length, 'array')}, ${showBytes(bytes)} (${source})`])
    })
}

/** Copies what is at a place, whichever format it is of. */
async function importPlace(
  input: string,
  output: string,
  { names, ...options }: ImportOptions & { readonly names?: readonly string[]; readonly signal: AbortSignal },
): Promise<Imported & { readonly sourceBytes?: number }> {
  const format = await formatAt(input, options.signal)
  if (format === 'zarr' || format === 'zip' || format === 'references')
    return zarrErrors(input, 'NetCDF file', async () =>
      importZarr(await storeAt(input, format, options.signal), output, { ...options, names }),
    )
  if (names !== undefined) throw new UsageError(`--names is for Zarr stores, which ${input} is not`)
  return importNetcdf(input, output, options)
}
