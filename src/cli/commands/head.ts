import type { Command } from 'commander'
import { isHyperslabError } from '../../runtime/index.ts'
import type { LabelledTree, TreeArray } from '../../runtime/tree.ts'
import { elementTexts, jsonPieces, type Result, readResult, readyResult } from '../show/elements.ts'
import { EXIT, oneLine } from '../show/failure.ts'
import { print, printError, printLines, table } from '../show/text.ts'
import { addPlaceOptions, integerBetween, type JsonOption, PLACE, type PlaceOptions, pyramidLevelOption } from './options.ts'
import { openPlace } from './place.ts'
import { type RawOption, rawOption, selectArray, shownAs } from './select.ts'

interface Options extends PlaceOptions, RawOption, JsonOption {
  readonly number: number
}

export function addHead(program: Command): void {
  const command = program
    .command('head')
    .description('print the first elements of arrays')
    .argument('<file>', PLACE)
    .argument('[arrays...]', 'names of arrays (default: all)')
    .option('-n, --number <elements>', 'number of elements of each array, in C order', integerBetween(1, 1000), 5)
    .addOption(rawOption())
  addPlaceOptions(command)
    .addOption(pyramidLevelOption())
    .addHelpText('after', '\nExample:\n  $ hyperslab head climate.af tas -n 3')
    .action(async (path: string, names: string[], { json = false, number, ...options }: Options) => {
      await using place = await openPlace(path, options)
      const rows: string[][] = []
      const objects: string[] = []
      for (const placed of await listArrays(place, names)) {
        try {
          const { dtype, dims, result } = await selectHead(place, placed, number, options)
          if (json) objects.push(`${JSON.stringify(placed.name)}:${[...jsonPieces(readyResult(result))].join('').trimEnd()}`)
          else rows.push([placed.name, dtype, `(${dims.join(', ')})`, elementTexts(result).join(' ')])
        } catch (error) {
          if (!isHyperslabError(error)) throw error
          printError(oneLine(error.message))
          process.exitCode = EXIT.failed
        }
      }
      if (json) await print([`{${objects.join(',\n')}}\n`])
      else if (rows.length > 0)
        await printLines(
          table(
            ['', '', '', ''].map((title) => ({ title })),
            rows,
            '',
          ).slice(1),
        )
    })
}

/** Returns the named arrays, or all. */
export const listArrays = async (place: LabelledTree, names: readonly string[]): Promise<readonly TreeArray[]> =>
  names.length === 0 ? (await place.contents()).arrays : Promise.all(names.map((name) => place.array(name)))

/** Reads the smallest leading box that contains enough elements, and returns the first of them. */
async function selectHead(place: LabelledTree, placed: TreeArray, number: number, options: RawOption) {
  const { shape } = placed.array
  let wanted = number
  const lengths = shape.toReversed().map((length) => {
    const own = Math.min(length, wanted)
    wanted = Math.ceil(wanted / Math.max(1, length))
    return own
  })
  const text = lengths
    .toReversed()
    .map((length) => `:${length}`)
    .join(',')
  const { variable, dims } = await selectArray(place, placed, text, options)
  const { tensor, dtype } = await readResult(variable.array)
  const length = Math.min(number, tensor.data.length)
  const first = { data: tensor.data.slice(0, length), shape: [length], stride: [1], offset: 0 }
  return { dtype, dims, result: { dtype, tensor: first, ...shownAs(variable, options) } as Result }
}
