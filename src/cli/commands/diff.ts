import type { Command } from 'commander'
import { type DifferentElement, diffTrees, type TreeDifference } from '../../runtime/tree.ts'
import { elementJson, elementText } from '../show/elements.ts'
import { EXIT } from '../show/failure.ts'
import { count, jsonText, ownJson, print, printLines } from '../show/text.ts'
import { type JsonOption, type NotFoundOption, numberFrom, PLACE, parseNames } from './options.ts'
import { openPlace } from './place.ts'
import { advisingRaw, type RawOption, rawOption } from './select.ts'

interface Options extends RawOption, JsonOption, NotFoundOption {
  readonly tolerance?: number
  readonly relative?: number
  readonly variables?: readonly string[]
}

export function addDiff(program: Command): void {
  program
    .command('diff')
    .description('compare two places: their arrays, dimensions, types, attributes and values')
    .argument('<first>', PLACE)
    .argument('<second>', 'the same, of any format')
    .option('--tolerance <distance>', 'largest difference of values that count as equal (default: 0)', numberFrom(0))
    .option('--relative <share>', 'additional tolerance, as a part of the second value, e.g. 1e-6 (default: 0)', numberFrom(0))
    .option('--variables <names>', 'which arrays to compare, e.g. tas,lat (default: all)', parseNames)
    .addOption(rawOption())
    .addHelpText(
      'after',
      `
Exit code 1 when something differs. Chunks, codecs and layers may differ. Both are read a few chunks at a time.

Example
  $ hyperslab diff tas.nc climate.af --tolerance 0.01`,
    )
    .action(async (first: string, second: string, options: Options) => {
      const at = options.notFound === undefined ? {} : { notFound: options.notFound }
      await using a = await openPlace(first, at)
      await using b = await openPlace(second, at)
      const { tolerance, relative, variables, raw } = options
      const given = {
        ...(tolerance !== undefined && { tolerance }),
        ...(relative !== undefined && { relative }),
        ...(variables && { variables }),
        ...(raw && { raw }),
      }
      const found = await advisingRaw(() => diffTrees(a, b, given))
      if (options.json) await print([jsonText(found.map(plain))])
      else await printLines(found.length === 0 ? ['nothing differs'] : found.map(formatDifference))
      if (found.length > 0) process.exitCode = EXIT.failed
    })
}

/** Formats an element of one side. Elements of types that cannot be compared are named by their types. */
const showElement = ({ element, ...each }: DifferentElement): string =>
  element === undefined ? each.dtype : elementText(each, element)

const toDifferenceJson = ({ element, ...each }: DifferentElement): unknown =>
  element === undefined ? each.dtype : ownJson(elementJson(each, element))

const formatDifference = ({ array, what, first, second, values }: TreeDifference): string => {
  const name = array === undefined ? '' : `${array}: `
  if (values === undefined) return `${name}${what}: ${first ?? 'none'} / ${second ?? 'none'}`
  const { different, of, at, distance } = values
  const most = distance === undefined ? '' : `, most by ${Number(distance.toPrecision(5))}`
  return `${name}${different} of ${count(of, 'value')} differ${different === 1 ? 's' : ''}${most} at [${at.join(', ')}]: ${showElement(values.first)} / ${showElement(values.second)}`
}

const plain = ({ array, what, first, second, values }: TreeDifference) => ({
  ...(array !== undefined && { array }),
  what,
  first: values ? toDifferenceJson(values.first) : (first ?? null),
  second: values ? toDifferenceJson(values.second) : (second ?? null),
  ...(values && { different: values.different, of: values.of, at: values.at, distance: values.distance ?? null }),
})
