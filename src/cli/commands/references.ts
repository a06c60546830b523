import { basename, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Command, Option } from 'commander'
import { findTree, type LabelledTree, listReferences, writeNewFile } from '../../runtime/tree.ts'
import { oneLine, UsageError } from '../show/failure.ts'
import { count, decodePath, printError, printResult, trimEnd } from '../show/text.ts'
import { integerBetween, layerOption, namesOption, type PlaceOptions } from './options.ts'
import { openFound } from './place.ts'

interface Options extends Pick<PlaceOptions, 'layer' | 'names'> {
  readonly dim?: string
  readonly base?: string
  readonly inline: number
  readonly overwrite?: boolean
}

export function addReferences(program: Command): void {
  program
    .command('references')
    .description('write kerchunk references, with which Python reads NetCDF, HDF5, TIFF, Zarr and containers in place, as Zarr 2')
    .argument('<output>', 'the JSON to write, in the format of kerchunk')
    .argument('<file...>', 'NetCDF, HDF5, TIFF, containers (.af), or folders and URLs of Zarr stores')
    .option('--dim <name>', 'join several files along this dimension, in the order given')
    .addOption(
      new Option('--inline <bytes>', 'write chunks of fewer bytes themselves, as base64')
        .argParser(integerBetween(0, 2 ** 20))
        .default(512),
    )
    .option('--base <url>', 'future location of the files, instead of the current one')
    .option('--overwrite', 'replace an existing output')
    .addOption(layerOption())
    .addOption(namesOption())
    .addHelpText(
      'after',
      `
Example: in Python
  $ hyperslab references tas.json tas_1.nc tas_2.nc --dim time
  >>> xarray.open_dataset('reference://', engine='zarr', storage_options={'fo': 'tas.json'}, consolidated=False)`,
    )
    .action(async (output: string, files: string[], options: Options) => {
      if (files.length === 1 && options.dim !== undefined) throw new UsageError('--dim joins several files')
      if (files.length > 1 && options.dim === undefined)
        throw new UsageError('--dim says along which dimension several files are joined')
      const { dim, base, inline } = options
      const { text, arrays, chunks } = await withPlaces(files, options, (places) =>
        listReferences(places, {
          ...(dim !== undefined && { dim }),
          inlineBytes: inline,
          urlOf: (file) => toUrl(file, base),
          onWarning: (text) => printError(oneLine(text)),
        }),
      )
      await writeNewFile(output, [new TextEncoder().encode(text)], {
        kind: 'references',
        overwrite: options.overwrite === true,
        sources: files,
      })
      await printResult({ output, arrays, chunks, files: files.length }, [
        `${output}: ${count(arrays, 'array')}, ${count(chunks, 'chunk')} of ${count(files.length, 'file')}`,
      ])
    })
}

async function withPlaces<T>(
  files: readonly string[],
  options: PlaceOptions,
  work: (places: readonly LabelledTree[]) => Promise<T>,
): Promise<T> {
  const places: LabelledTree[] = []
  try {
    for (const file of files) {
      const found = await findTree(file)
      // Opening tells whether there is anything.
      places.push(await openFound(found, file, options))
    }
    return await work(places)
  } finally {
    for (const place of places) await place[Symbol.asyncDispose]()
  }
}

const isUrl = (place: string): boolean => /^https?:/i.test(place)

function toUrl(file: string, base: string | undefined): string {
  if (base !== undefined) {
    const written = basename(isUrl(file) ? new URL(file).pathname : file)
    const name = isUrl(file) ? (decodePath(written) ?? written) : written
    return `${trimEnd(base, '/')}/${isUrl(base) ? encodeURIComponent(name) : name}`
  }
  // Python takes the path of a file: URL as it is written, without decoding it.
  if (/^file:/i.test(file)) return fileURLToPath(file)
  return /^([a-z][\w+.-]+:\/\/|(https?|s3):)/i.test(file) ? file : resolve(file)
}
