import { type Command, Option } from 'commander'
import { readExcerpt, readResult } from './excerpt.ts'
import { checkFormat, FORMATS, type Format, printResult } from './format.ts'
import { openPlace } from './open-place.ts'
import { addPlaceOptions, PLACE, type PlaceOptions } from './options.ts'
import { physical, type RawOption, rawOption } from './physical.ts'
import { parseSelection } from './selection.ts'

interface GetOptions extends PlaceOptions, RawOption {
  readonly format: Format
  readonly full?: boolean
}

export const formatOption = () => new Option('-f, --format <format>', 'how to print it').choices(FORMATS).default('text')

export function addGet(program: Command): void {
  const command = program
    .command('get')
    .description('print a selection of an array')
    .argument('<file>', PLACE)
    .argument('<array>', 'name of an array; in a Zarr store its path')
    .argument('[selection]', 'what to print, as in numpy, e.g. 0,10:20,::-2 (default: everything)', '')
    .addOption(formatOption())
    .option('--full', 'print everything as text, also of more than 1000 elements')
    .addOption(rawOption())
  addPlaceOptions(command)
    .addHelpText(
      'after',
      '\nExample: every second longitude, backwards, of ten latitudes\n  $ hyperslab get climate.af tas 0,10:20,::-2 --format json',
    )
    .action(async (path: string, name: string, text: string, { format, full = false, raw = false, ...state }: GetOptions) => {
      await using place = await openPlace(path, state)
      const placed = await place.array(name)
      const { array, isMissing } = physical(placed.array, { raw })
      checkFormat(format, array.dtype, { file: place.location, array: placed.name })
      const selection = parseSelection(text, array.shape.length)
      const result = await (format === 'text' && !full ? readExcerpt : readResult)(array, selection)
      await printResult(format, { ...result, isMissing })
    })
}
