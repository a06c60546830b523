import { type Command, Option } from 'commander'
import type { DiskArray } from '../array/disk-array.ts'
import { isFixed } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { showShape } from '../core/shape.ts'
import type { Coords } from '../dataset/coords.ts'
import type { Variable } from '../dataset/variable.ts'
import { slice } from '../grid/slice.ts'
import { showShort } from './element.ts'
import { readResult } from './excerpt.ts'
import { type ColourMode, colourMode, drawBar, drawHeatmap } from './heatmap.ts'
import { coordinatesOf, type RawOption, rawOption, type SelectedPart, selectArray, shownAs, textAttribute } from './labelled.ts'
import { addLabelOptions, type LabelOptions } from './labels.ts'
import { openPlace } from './open-place.ts'
import { addPlaceOptions, integerBetween, PLACE, type PlaceOptions } from './options.ts'
import { count, printable, printPicture } from './output.ts'
import { BlockMeans, enlarge, flipRows, pictureSize } from './picture.ts'
import type { Place, PlacedArray } from './place.ts'
import { runsUp, showPosition } from './positions.ts'

interface PlotOptions extends PlaceOptions, LabelOptions, RawOption {
  readonly color: 'auto' | 'always' | 'never'
  readonly width?: number
}

export function addPlot(program: Command): void {
  const command = program
    .command('plot')
    .description('draw two axes of an array as a heat map')
    .argument('<file>', PLACE)
    .argument('<array>', 'name of an array; in a Zarr store its path')
    .argument('[selection]', 'what to draw, e.g. 0,:,::2; must leave two axes', '')
  addLabelOptions(command)
    .addOption(
      new Option('--color <when>', 'colours, or shades of ASCII characters').choices(['auto', 'always', 'never']).default('auto'),
    )
    .option('--width <columns>', 'width in characters (default: that of the terminal)', integerBetween(10, 1000))
    .addOption(rawOption())
  addPlaceOptions(command)
    .addHelpText(
      'after',
      `
Example: the first month, north up where the file knows its latitudes
  $ hyperslab plot climate.af tas 0

Example: Europe on a day
  $ hyperslab plot climate.af tas --sel time=1998-01-16T12:00 lat=35:70 lon=-10:30`,
    )
    .action(async (path: string, name: string, text: string, options: PlotOptions) => {
      await using place = await openPlace(path, options)
      const placed = await place.array(name)
      const mode = colourMode(options.color, { isTTY: process.stdout.isTTY ?? false, env: process.env })
      const width = options.width ?? process.stdout.columns ?? 80
      const selected = await selectArray(place, placed, text, options)
      await printPicture(await plotLines(place, placed, selected, { mode, width, raw: options.raw ?? false }))
    })
}

/** Elements read at a time. */
const SLAB_SIZE = 4 * 1024 * 1024
/** Taller pictures do not fit a screen. */
const MAX_ROWS = 120
const BAR_LENGTH = 40

/**
 * @throws InvalidSelectionError unless two axes are left; UnsupportedError for elements that are no numbers
 */
export async function plotLines(
  place: Place,
  placed: PlacedArray,
  selected: SelectedPart,
  { mode, width, raw = false }: { mode: ColourMode; width: number; raw?: boolean },
): Promise<string[]> {
  checkAxes(place, placed, selected)
  const { variable, taken } = selected
  const [y, x] = variable.dims as [string, string]
  const [height, columnsOfData] = variable.array.shape as [number, number]
  const whole = await coordinatesOf(place, placed, { prefer: 'direction' })
  const coordinates: Coords = new Map([...whole].map(([dim, coord]) => [dim, coord.take(taken)]))
  const [yCoordinate, xCoordinate] = [coordinates.get(y), coordinates.get(x)]
  const upsideDown = yCoordinate !== undefined && runsUp(yCoordinate)

  const ends = [0, height - 1].map((position) =>
    yCoordinate === undefined ? String(position) : showPosition(yCoordinate, position),
  )
  const [top, bottom] = upsideDown ? ends.reverse() : ends
  const margin = Math.max(top!.length, bottom!.length) + 1

  const columns = Math.max(1, width - margin)
  const size = pictureSize(height, columnsOfData, columns, MAX_ROWS)
  // A character is about twice as high as wide, and ASCII shades fill it.
  const rows = mode === 'ascii' ? Math.max(1, Math.round(size.rows / 2)) : size.rows
  const means = await readMeans(variable, new BlockMeans(height, columnsOfData, rows, size.columns), raw)
  const picture = enlarge(upsideDown ? flipRows(means.picture()) : means.picture(), rows, size.columns)
  const scale = { low: means.low ?? 0, high: means.high ?? 0 }

  const drawn = drawHeatmap(picture, scale, mode)
  const label = (line: number): string => (line === 0 ? top! : line === drawn.length - 1 ? bottom! : '')
  return [
    titleOf(placed),
    ...whereLine(selected, coordinates),
    ...drawn.map((line, i) => `${label(i).padStart(margin - 1)} ${line}`.trimEnd()),
    ' '.repeat(margin) + xLine(printable(x), xCoordinate, columnsOfData, size.columns),
    ...legend(placed.array, means, mode, width),
  ]
}

function checkAxes({ location }: Place, { name, array: whole }: PlacedArray, { variable: { array } }: SelectedPart): void {
  const details = { file: location, array: name }
  if (array.rank !== 2) {
    const left = `${array.rank} ${array.rank === 1 ? 'axis' : 'axes'}`
    const text = `a heat map has 2 axes, the selection leaves ${left} of an array of shape ${showShape(whole.shape)}`
    throw new HyperslabError('InvalidSelectionError', text, { ...details, actual: array.rank, expected: 2 })
  }
  if (array.size === 0) throw new HyperslabError('InvalidSelectionError', 'the selection is empty', details)
  if (!isFixed(array.dtype)) {
    throw new HyperslabError('UnsupportedError', `${array.dtype} values cannot be drawn`, { ...details, actual: array.dtype })
  }
}

async function readMeans(variable: Variable, means: BlockMeans, raw: boolean): Promise<BlockMeans> {
  const { array } = variable
  const [height, width] = array.shape as [number, number]
  const { isMissing = () => false } = shownAs(variable, { raw })
  const slab = Math.max(1, Math.floor(SLAB_SIZE / width))
  for (let from = 0; from < height; from += slab) {
    const { tensor } = await readResult(array, [slice(from, Math.min(from + slab, height))])
    means.add(from, tensor.data as ArrayLike<number | bigint>, isMissing)
  }
  return means
}

function titleOf({ name, array }: PlacedArray): string {
  const longName = textAttribute(array, 'long_name') ?? textAttribute(array, 'standard_name')
  const units = textAttribute(array, 'units')
  return `${printable(name)}${longName === undefined ? '' : `: ${longName}`}${units === undefined ? '' : ` (${units})`}`
}

/** Where the picture lies on the axes it does not show. */
function whereLine({ variable, dims, taken }: SelectedPart, coordinates: Coords): string[] {
  const parts = dims.flatMap((dim) => {
    const at = taken.get(dim)
    if (variable.dims.includes(dim) || at === undefined || !('position' in at)) return []
    const coordinate = coordinates.get(dim)
    const position = `${printable(dim)} ${at.position}`
    return [coordinate === undefined ? position : `${position} = ${showPosition(coordinate, 0)}`]
  })
  return parts.length === 0 ? [] : [parts.join(', ')]
}

/** Both ends of the horizontal axis with its name between them, as far as there is room. */
function xLine(name: string, coordinate: Variable | undefined, length: number, columns: number): string {
  const [left, right] = [0, length - 1].map((position) =>
    coordinate === undefined ? String(position) : showPosition(coordinate, position),
  )
  const room = columns - left!.length - right!.length
  if (room < 1) return left!
  if (room < name.length + 2) return left! + right!.padStart(columns - left!.length)
  const before = Math.floor((room - name.length) / 2)
  return left! + ' '.repeat(before) + name + right!.padStart(columns - left!.length - before - name.length)
}

function legend(array: DiskArray, { low, high, missing }: BlockMeans, mode: ColourMode, width: number): string[] {
  if (low === undefined || high === undefined) return ['no data: every value is missing']
  const units = textAttribute(array, 'units')
  const [min, max] = [showShort(low), `${showShort(high)}${units === undefined ? '' : ` ${units}`}`]
  const length = Math.max(4, Math.min(BAR_LENGTH, width - min.length - max.length - 2))
  const note = missing === 0 ? [] : [`${count(missing, 'missing value')} left blank`]
  return [`${min} ${drawBar(length, mode)} ${max}`, ...note]
}
