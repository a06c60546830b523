import { type Command, Option } from 'commander'
import type { DiskArray } from '../array/disk-array.ts'
import { isFixed } from '../core/dtype.ts'
import { HyperslabError } from '../core/errors.ts'
import { showShape } from '../core/shape.ts'
import type { Selection } from '../grid/selection.ts'
import { type Coordinate, readCoordinate, runsUp, showPosition, textAttribute } from './coordinates.ts'
import { showShort } from './element.ts'
import { type AxisSelection, excerptOf, readResult, resolveFor } from './excerpt.ts'
import { type ColourMode, colourMode, drawBar, drawHeatmap } from './heatmap.ts'
import { openPlace } from './open-place.ts'
import { addPlaceOptions, integerBetween, PLACE, type PlaceOptions } from './options.ts'
import { count, printable, printPicture } from './output.ts'
import { type Physical, physical, type RawOption, rawOption } from './physical.ts'
import { BlockMeans, enlarge, flipRows, pictureSize } from './picture.ts'
import type { Place, PlacedArray } from './place.ts'
import { parseSelection } from './selection.ts'

interface PlotOptions extends PlaceOptions, RawOption {
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
    .addOption(
      new Option('--color <when>', 'colours, or shades of ASCII characters').choices(['auto', 'always', 'never']).default('auto'),
    )
    .option('--width <columns>', 'width in characters (default: that of the terminal)', integerBetween(10, 1000))
    .addOption(rawOption())
  addPlaceOptions(command)
    .addHelpText(
      'after',
      '\nExample: the first month, north up where the file knows its latitudes\n  $ hyperslab plot climate.af tas 0',
    )
    .action(async (path: string, name: string, text: string, options: PlotOptions) => {
      await using place = await openPlace(path, options)
      const placed = await place.array(name)
      const mode = colourMode(options.color, { isTTY: process.stdout.isTTY ?? false, env: process.env })
      const width = options.width ?? process.stdout.columns ?? 80
      await printPicture(
        await plotLines(place, placed, parseSelection(text, placed.array.shape.length), {
          mode,
          width,
          raw: options.raw ?? false,
        }),
      )
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
  selection: Selection,
  { mode, width, raw = false }: { mode: ColourMode; width: number; raw?: boolean },
): Promise<string[]> {
  const { array } = placed
  const axes = resolveFor(array, selection)
  const [yAxis, xAxis] = checkAxes(place, placed, axes)
  const names = axes.map((_, axis) => array.dimensionNames?.[axis] || `dim_${axis}`)
  const beside = await place.arraysBeside(placed)
  const coordinates: (Coordinate | undefined)[] = []
  for (const [axis, selected] of axes.entries()) {
    coordinates.push(await readCoordinate(beside, placed, axis, selected))
  }
  const [yCoordinate, xCoordinate] = [coordinates[yAxis], coordinates[xAxis]]
  const upsideDown = yCoordinate !== undefined && runsUp(yCoordinate)

  const { length: height } = axes[yAxis]!
  const ends = [0, height - 1].map((position) =>
    yCoordinate === undefined ? String(position) : showPosition(yCoordinate, position),
  )
  const [top, bottom] = upsideDown ? ends.reverse() : ends
  const margin = Math.max(top!.length, bottom!.length) + 1

  const columns = Math.max(1, width - margin)
  const size = pictureSize(height, axes[xAxis]!.length, columns, MAX_ROWS)
  // A character is about twice as high as wide, and ASCII shades fill it.
  const rows = mode === 'ascii' ? Math.max(1, Math.round(size.rows / 2)) : size.rows
  const means = await readMeans(
    physical(array, { raw }),
    axes,
    yAxis,
    new BlockMeans(height, axes[xAxis]!.length, rows, size.columns),
  )
  const picture = enlarge(upsideDown ? flipRows(means.picture()) : means.picture(), rows, size.columns)
  const scale = { low: means.low ?? 0, high: means.high ?? 0 }

  const drawn = drawHeatmap(picture, scale, mode)
  const label = (line: number): string => (line === 0 ? top! : line === drawn.length - 1 ? bottom! : '')
  return [
    titleOf(placed),
    ...whereLine(axes, names, coordinates),
    ...drawn.map((line, i) => `${label(i).padStart(margin - 1)} ${line}`.trimEnd()),
    ' '.repeat(margin) + xLine(printable(names[xAxis]!), xCoordinate, axes[xAxis]!.length, size.columns),
    ...legend(array, means, mode, width),
  ]
}

function checkAxes({ location }: Place, { name, array }: PlacedArray, axes: readonly AxisSelection[]): [number, number] {
  const details = { file: location, array: name }
  const kept = axes.flatMap(({ keep }, axis) => (keep ? [axis] : []))
  if (kept.length !== 2) {
    const left = `${kept.length} ${kept.length === 1 ? 'axis' : 'axes'}`
    const text = `a heat map has 2 axes, the selection leaves ${left} of an array of shape ${showShape(array.shape)}`
    throw new HyperslabError('InvalidSelectionError', text, { ...details, actual: kept.length, expected: 2 })
  }
  if (kept.some((axis) => axes[axis]!.length === 0))
    throw new HyperslabError('InvalidSelectionError', 'the selection is empty', details)
  if (!isFixed(array.dtype)) {
    throw new HyperslabError('UnsupportedError', `${array.dtype} values cannot be drawn`, { ...details, actual: array.dtype })
  }
  return kept as [number, number]
}

async function readMeans(
  { array, isMissing }: Physical,
  axes: readonly AxisSelection[],
  yAxis: number,
  means: BlockMeans,
): Promise<BlockMeans> {
  const height = axes[yAxis]!.length
  const width = axes.reduce((size, { length }) => size * length, 1) / height
  const slab = Math.max(1, Math.floor(SLAB_SIZE / width))
  for (let from = 0; from < height; from += slab) {
    const length = Math.min(slab, height - from)
    const part = axes.map((axis, i) =>
      axis.keep ? excerptOf(axis, i === yAxis ? { from, length } : { from: 0, length: axis.length }) : axis.start,
    )
    const { tensor } = await readResult(array, part)
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
function whereLine(
  axes: readonly AxisSelection[],
  names: readonly string[],
  coordinates: readonly (Coordinate | undefined)[],
): string[] {
  const parts = axes.flatMap(({ keep, start }, axis) => {
    if (keep) return []
    const coordinate = coordinates[axis]
    const position = `${printable(names[axis]!)} ${start}`
    return [coordinate === undefined ? position : `${position} = ${showPosition(coordinate, 0)}`]
  })
  return parts.length === 0 ? [] : [parts.join(', ')]
}

/** Both ends of the horizontal axis with its name between them, as far as there is room. */
function xLine(name: string, coordinate: Coordinate | undefined, length: number, columns: number): string {
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
