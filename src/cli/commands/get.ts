import { Argument, type Command, Option } from 'commander'
import { checkFormat, OUTPUT_FORMATS, type OutputFormat, printArray } from '../show/elements.ts'
import { UsageError } from '../show/failure.ts'
import { addPlaceOptions, type JsonOption, PLACE, type PlaceOptions, pyramidLevelOption } from './options.ts'
import { openPlace } from './place.ts'
import { addLabelOptions, type LabelOptions, type RawOption, rawOption, selectArray, shownAs } from './select.ts'

interface GetOptions extends PlaceOptions, LabelOptions, RawOption, JsonOption {
  readonly format?: OutputFormat
  readonly full?: boolean
}

export const formatOption = () => new Option('-f, --format <format>', 'how to print it (default: "text")').choices(OUTPUT_FORMATS)

export const fullOption = () =>
  new Option('--full', 'on a terminal: print all elements, even more than 1000; files and other programs always get all')

/**
 * Returns the requested format.
 * @throws UsageError for two formats
 */
export function chooseFormat({ format, json }: JsonOption & { readonly format?: OutputFormat }): OutputFormat {
  if (json && format !== undefined && format !== 'json') throw new UsageError(`--json is not --format ${format}`)
  return json ? 'json' : (format ?? 'text')
}

export function addGet(program: Command): void {
  const command = program
    .command('get')
    .description('print a selection of an array')
    .argument('<file>', PLACE)
    .argument('<array>', 'name of an array; in a Zarr store its path')
    .addArgument(new Argument('[selection]', 'what to print, as in numpy, e.g. 0,10:20,::-2').default('', 'everything'))
  addLabelOptions(command).addOption(formatOption()).addOption(fullOption()).addOption(rawOption())
  addPlaceOptions(command)
    .addOption(pyramidLevelOption())
    .addHelpText(
      'after',
      `
Example: every second longitude, backwards, of ten latitudes
  $ hyperslab get climate.af tas 0,10:20,::-2 --format json

Example: the series at a station
  $ hyperslab get climate.af tas --sel lat=52.5 lon=13.4 --method nearest`,
    )
    .action(async (path: string, name: string, text: string, options: GetOptions) => {
      await using place = await openPlace(path, options)
      const placed = await place.array(name)
      const { variable } = await selectArray(place, placed, text, options)
      const { array } = variable
      const format = chooseFormat(options)
      checkFormat(format, array.dtype, { file: place.location, array: placed.name })
      await printArray(format, array, shownAs(variable, options), options.full)
    })
}
