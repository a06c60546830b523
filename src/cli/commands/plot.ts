import { Argument, type Command, Option } from 'commander'
import type { DataArray } from '../../runtime/dataset.ts'
import type { DiskArray } from '../../runtime/index.ts'
import { HyperslabError, slice } from '../../runtime/index.ts'
import {
  type LabelledTree,
  positionText,
  runsUpwards,
  type SelectedPart,
  type Taken,
  type TreeArray,
  textAttribute,
  writeNewFile,
} from '../../runtime/tree.ts'
import {
  CELLS,
  type ColourMode,
  ColumnExtremes,
  colourMode,
  drawBar,
  drawHeatmap,
  drawLine,
  encodePicture,
  lineDrawing,
  type Scale,
} from '../show/drawing.ts'
import { hasFixedWidth, readResult, showShort } from '../show/elements.ts'
import { UsageError } from '../show/failure.ts'
import { BlockMeans, enlarge, flipRows, type Picture, pictureSize } from '../show/picture.ts'
import { count, lineWidth, printable, printPicture, printResult, showBytes } from '../show/text.ts'
import { addPlaceOptions, integerBetween, type JsonOption, PLACE, type PlaceOptions, pyramidLevelOption } from './options.ts'
import { openPlace } from './place.ts'
import { addLabelOptions, type LabelOptions, type RawOption, rawOption, selectArray, shownAs } from './select.ts'

interface PlotOptions extends PlaceOptions, LabelOptions, RawOption, JsonOption {
  readonly color: 'auto' | 'always' | 'never'
  readonly width?: number
  readonly output?: string
  readonly overwrite?: boolean
}

export function addPlot(program: Command): void {
  const command = program
    .command('plot')
    .description('draw an array as a heat map, or along one axis as a line')
    .argument('<file>', PLACE)
    .argument('<array>', 'name of an array; in a Zarr store its path')
    .addArgument(
      new Argument('[selection]', 'what to draw, as in numpy, e.g. 0,:,::2').default(
        '',
        'the last two axes, at the first position along the others',
      ),
    )
  addLabelOptions(command)
    .addOption(
      new Option('--color <when>', 'colours, or shades of ASCII characters').choices(['auto', 'always', 'never']).default('auto'),
    )
    .option('--width <columns>', 'width in characters (default: that of the terminal)', integerBetween(10, 1000))
    .option('--output <file.png>', 'write a picture, with missing elements transparent, and print only its description')
    .option('--overwrite', 'with --output: replace an existing picture')
    .addOption(rawOption())
  addPlaceOptions(command)
    .addOption(pyramidLevelOption())
    .addHelpText(
      'after',
      `
Example: the first month, north up where the file knows its latitudes
  $ hyperslab plot climate.af tas 0

Example: Europe on a day
  $ hyperslab plot climate.af tas --sel time=1998-01-16T12:00 lat=35:70 lon=-10:30

Example: the series at a place
  $ hyperslab plot climate.af tas --sel lat=52.5 lon=13.4 --method nearest`,
    )
    .action(async (path: string, name: string, text: string, options: PlotOptions) => {
      await using place = await openPlace(path, options)
      const placed = await place.array(name)
      const { output, overwrite = false, raw = false } = options
      if (output !== undefined && !/[^/\\]\.png$/i.test(output))
        throw new UsageError(`the name of a picture must end in .png, '${output}' does not`)
      if (output !== undefined && options.width !== undefined)
        throw new UsageError('--width counts characters, so it does not apply to --output')
      if (output === undefined && overwrite) throw new UsageError('--overwrite is for --output')
      const mode = colourMode(options.color, { isTTY: process.stdout.isTTY ?? false, env: process.env })
      const width = options.width ?? lineWidth()
      const selected = await selectArray(place, placed, text, options)
      if (output === undefined && options.json)
        return await printResult(await plotValues(place, placed, selected, { width, raw }), [])
      if (output === undefined) return await printPicture(await plotLines(place, placed, selected, { mode, width, raw }))
      const lines: string[] = []
      // Drawn after the output was checked.
      const pieces = async function* () {
        const drawn = await plotPicture(place, placed, selected, raw)
        lines.push(...drawn.lines)
        yield drawn.bytes
      }
      const size = await writeNewFile(output, pieces(), { kind: 'png', overwrite, sources: [path] })
      await printResult({ output, bytes: size, description: lines }, [...lines, `${output}: ${showBytes(size)}`])
    })
}

/** Number of elements read at a time. */
const SLAB_SIZE = 4 * 1024 * 1024
/** Largest number of rows that fit a screen. */
const MAX_ROWS = 120
const BAR_LENGTH = 40

/** Largest number of columns and of rows of a picture in a file. */
const MAX_PIXELS = 2048
/** Size below which elements are enlarged. */
const MIN_PIXELS = 600

/** Coordinates by dimension. */
type Coordinates = ReadonlyMap<string, DataArray>

/** Formats one position of a coordinate. */
const showPosition = (coordinate: DataArray, position: number): string => printable(positionText(coordinate, position))

function attributeText(array: DiskArray, name: string): string | undefined {
  const text = textAttribute(array, name)
  return text && printable(text)
}

/** Text lines of a drawn line. */
const LINE_ROWS = 12

/** Selects the last two axes, at the first position of the others. */
function lastAxes({ variable, dims, taken }: SelectedPart): SelectedPart {
  const before = variable.dims.slice(0, -2)
  if (variable.array.size === 0 || before.length === 0) return { variable, dims, taken }
  const first = before.map((dim) => [dim, { position: firstPosition(taken.get(dim)) }] as const)
  return {
    variable: variable.isel(Object.fromEntries(before.map((dim) => [dim, 0]))),
    dims,
    taken: new Map([...taken, ...first]),
  }
}

function firstPosition(taken: Taken | undefined): number {
  if (taken === undefined) return 0
  if ('position' in taken) return taken.position
  const { positions } = taken.parts.find(({ positions }) => positions.length > 0)!
  return 'start' in positions ? positions.start : positions[0]!
}

interface Axes {
  readonly y: string
  readonly x: string
  readonly height: number
  readonly width: number
  readonly coordinates: Coordinates
  /** Whether the last row is drawn first. */
  readonly upsideDown: boolean
  /** Labels of the first and the last drawn row. */
  readonly top: string
  readonly bottom: string
}

async function axesOf(place: LabelledTree, placed: TreeArray, selected: SelectedPart): Promise<Axes> {
  checkAxes(place, placed, selected)
  const { variable } = selected
  const [y, x] = variable.dims as [string, string]
  const [height, width] = variable.array.shape as [number, number]
  const coordinates = await takenCoordinates(place, placed, selected)
  const coordinate = coordinates.get(y)
  const upsideDown = coordinate !== undefined && runsUpwards(coordinate)
  const ends = [0, height - 1].map((at) => (coordinate === undefined ? String(at) : showPosition(coordinate, at)))
  const [top, bottom] = (upsideDown ? ends.reverse() : ends) as [string, string]
  return { y, x, height, width, coordinates, upsideDown, top, bottom }
}

/**
 * Draws an array as text.
 * @throws InvalidSelectionError for an empty selection or a single element; UnsupportedError for elements
 *   that are not numbers
 */
export async function plotLines(
  place: LabelledTree,
  placed: TreeArray,
  part: SelectedPart,
  { mode, width, raw = false }: { mode: ColourMode; width: number; raw?: boolean },
): Promise<string[]> {
  const selected = lastAxes(part)
  if (selected.variable.dims.length === 1) return linePlot(place, placed, selected, { mode, width, raw })
  const axes = await axesOf(place, placed, selected)
  const { top, bottom } = axes
  const margin = Math.max(top.length, bottom.length) + 1
  const size = pictureSize(axes.height, axes.width, Math.max(1, width - margin), MAX_ROWS)
  // A character is about twice as high as wide, and a shade fills all of it.
  const rows = mode === 'ascii' ? Math.max(1, Math.round(size.rows / 2)) : size.rows
  const { picture, means, scale } = await readPicture(selected.variable, axes, { rows, columns: size.columns }, raw)

  const drawn = drawHeatmap(picture, scale, mode)
  const label = (line: number): string => (line === 0 ? top : line === drawn.length - 1 ? bottom : '')
  return [
    formatTitle(placed),
    ...whereLine(selected, axes.coordinates),
    ...drawn.map((line, i) => `${label(i).padStart(margin - 1)} ${line}`.trimEnd()),
    ' '.repeat(margin) + xLine(printable(axes.x), axes.coordinates.get(axes.x), axes.width, size.columns),
    ...legend(placed.array, means, mode, width),
  ]
}

/** Returns the numbers of a plot: means of blocks of values from top to bottom, or extremes along a line. */
async function plotValues(
  place: LabelledTree,
  placed: TreeArray,
  part: SelectedPart,
  { width, raw }: { width: number; raw: boolean },
): Promise<object> {
  const selected = lastAxes(part)
  const { dims } = selected.variable
  const common = { array: placed.name, title: formatTitle(placed), dims }
  checkAxes(place, placed, selected)
  if (dims.length === 1) {
    const { lows, highs, low, high, missing } = await readExtremes(selected.variable, width, raw)
    return { ...common, low, high, missing, lows: finite(lows), highs: finite(highs) }
  }
  const axes = await axesOf(place, placed, selected)
  const size = pictureSize(axes.height, axes.width, width, MAX_ROWS)
  const means = await readMeans(selected.variable, new BlockMeans(axes.height, axes.width, size.rows, size.columns), raw)
  const { rows, columns, values } = axes.upsideDown ? flipRows(means.picture()) : means.picture()
  const { low, high, missing } = means
  const { top, bottom } = axes
  const lines = Array.from({ length: rows }, (_, row) => finite(values.subarray(row * columns, (row + 1) * columns)))
  return { ...common, top, bottom, low, high, missing, values: lines }
}

/** Converts numbers to a list in which missing ones are null. */
const finite = (values: Float64Array): (number | null)[] => Array.from(values, (value) => (Number.isNaN(value) ? null : value))

/** Returns a picture as a file, with lines that describe it. */
async function plotPicture(
  place: LabelledTree,
  placed: TreeArray,
  part: SelectedPart,
  raw: boolean,
): Promise<{ bytes: Uint8Array; lines: string[] }> {
  const selected = lastAxes(part)
  if (selected.variable.dims.length === 1) return linePicture(place, placed, selected, raw)
  const axes = await axesOf(place, placed, selected)
  const times = Math.max(1, Math.ceil(MIN_PIXELS / Math.max(axes.height, axes.width)))
  const [rows, columns] = [axes.height, axes.width].map((length) => Math.min(MAX_PIXELS, length * times)) as [number, number]
  const { picture, means, scale } = await readPicture(selected.variable, axes, { rows, columns }, raw)
  const x = axes.coordinates.get(axes.x)
  const [left, right] = [0, axes.width - 1].map((at) => (x === undefined ? String(at) : showPosition(x, at)))
  const ends = formatEnds(placed.array, means)
  const lines = [
    formatTitle(placed),
    ...whereLine(selected, axes.coordinates),
    `${printable(axes.y)} ${axes.top} to ${axes.bottom}, downwards; ${printable(axes.x)} ${left} to ${right}`,
    ...(ends === undefined ? [NO_DATA] : [`dark is ${ends[0]}, light ${ends[1]}`, ...missingNote(means, 'transparent')]),
  ]
  return { bytes: encodePicture(picture, scale), lines }
}

/** Draws a line between its smallest and greatest value. */
async function linePlot(
  place: LabelledTree,
  placed: TreeArray,
  selected: SelectedPart,
  { mode, width, raw }: { mode: ColourMode; width: number; raw: boolean },
): Promise<string[]> {
  checkAxes(place, placed, selected)
  const cells = mode === 'ascii' ? 'ascii' : 'dots'
  const { high, wide } = CELLS[cells]
  const { variable } = selected
  const [dim, coordinates] = [variable.dims[0]!, await takenCoordinates(place, placed, selected)]
  const extremes = await readExtremes(variable, width * wide, raw)
  const title = [formatTitle(placed), ...whereLine(selected, coordinates)]
  if (extremes.low === undefined || extremes.high === undefined) return [...title, NO_DATA]
  const [top, bottom] = [showShort(extremes.high), showShort(extremes.low)]
  const margin = Math.max(top.length, bottom.length) + 1
  const columns = Math.max(1, width - margin)
  const drawn = drawLine(lineDrawing(extremes, LINE_ROWS * high, columns * wide), cells)
  const label = (line: number): string => (line === 0 ? top : line === drawn.length - 1 ? bottom : '')
  return [
    ...title,
    ...drawn.map((line, i) => `${label(i).padStart(margin - 1)} ${line}`.trimEnd()),
    ' '.repeat(margin) + xLine(printable(dim), coordinates.get(dim), variable.array.size, columns),
    ...missingNote(extremes, 'out'),
  ]
}

/** Returns a drawn line as a file, with lines that describe it. */
async function linePicture(
  place: LabelledTree,
  placed: TreeArray,
  selected: SelectedPart,
  raw: boolean,
): Promise<{ bytes: Uint8Array; lines: string[] }> {
  checkAxes(place, placed, selected)
  const { variable } = selected
  const [dim, coordinates] = [variable.dims[0]!, await takenCoordinates(place, placed, selected)]
  const extremes = await readExtremes(variable, MIN_PIXELS, raw)
  const x = coordinates.get(dim)
  const [left, right] = [0, variable.array.size - 1].map((at) => (x === undefined ? String(at) : showPosition(x, at)))
  const ends = formatEnds(placed.array, extremes)
  const lines = [
    formatTitle(placed),
    ...whereLine(selected, coordinates),
    `${printable(dim)} ${left} to ${right}`,
    ...(ends === undefined ? [NO_DATA] : [`from ${ends[0]} to ${ends[1]}, upwards`, ...missingNote(extremes, 'out')]),
  ]
  return { bytes: encodePicture(lineDrawing(extremes, MIN_PIXELS / 2, MIN_PIXELS), { low: 0, high: 1 }), lines }
}

/** Returns the coordinates of the selection, with their labels in memory. */
async function takenCoordinates(place: LabelledTree, placed: TreeArray, { taken }: SelectedPart): Promise<Coordinates> {
  return new Map(Object.entries(await place.coordinates(placed, { prefer: 'direction', taken })))
}

async function readExtremes(variable: DataArray, columns: number, raw: boolean): Promise<ColumnExtremes> {
  const { array } = variable
  const extremes = new ColumnExtremes(array.size, columns)
  const { isMissing = () => false } = shownAs(variable, { raw })
  for (let from = 0; from < array.size; from += SLAB_SIZE) {
    const { tensor } = await readResult(array, [slice(from, Math.min(from + SLAB_SIZE, array.size))])
    extremes.add(from, tensor.data as ArrayLike<number | bigint>, isMissing)
  }
  return extremes
}

/** Reads the means of blocks of values, as they are drawn. */
async function readPicture(
  variable: DataArray,
  { height, width, upsideDown }: Axes,
  { rows, columns }: Pick<Picture, 'rows' | 'columns'>,
  raw: boolean,
): Promise<{ picture: Picture; means: BlockMeans; scale: Scale }> {
  const means = await readMeans(variable, new BlockMeans(height, width, rows, columns), raw)
  const picture = enlarge(upsideDown ? flipRows(means.picture()) : means.picture(), rows, columns)
  return { picture, means, scale: { low: means.low ?? 0, high: means.high ?? 0 } }
}

function checkAxes({ location }: LabelledTree, { name, array: whole }: TreeArray, { variable: { array } }: SelectedPart): void {
  const details = { file: location, array: name }
  if (array.rank === 0) {
    const text = `the selection leaves one element of an array of shape [${whole.shape.join(', ')}], which get shows`
    throw new HyperslabError('InvalidSelectionError', text, { ...details, actual: 0, expected: [1, 2] })
  }
  if (array.size === 0) throw new HyperslabError('InvalidSelectionError', 'the selection is empty', details)
  if (!hasFixedWidth(array.dtype)) {
    throw new HyperslabError('UnsupportedError', `${array.dtype} values cannot be drawn`, { ...details, actual: array.dtype })
  }
}

async function readMeans(variable: DataArray, means: BlockMeans, raw: boolean): Promise<BlockMeans> {
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

function formatTitle({ name, array }: TreeArray): string {
  const longName = attributeText(array, 'long_name') ?? attributeText(array, 'standard_name')
  const units = attributeText(array, 'units')
  return `${printable(name)}${longName === undefined ? '' : `: ${longName}`}${units === undefined ? '' : ` (${units})`}`
}

/** Formats the position of the picture along the undrawn axes. */
function whereLine({ variable, dims, taken }: SelectedPart, coordinates: Coordinates): string[] {
  const parts = dims.flatMap((dim) => {
    const at = taken.get(dim)
    if (variable.dims.includes(dim) || at === undefined || !('position' in at)) return []
    const coordinate = coordinates.get(dim)
    const position = `${printable(dim)} ${at.position}`
    return [coordinate === undefined ? position : `${position} = ${showPosition(coordinate, 0)}`]
  })
  return parts.length === 0 ? [] : [parts.join(', ')]
}

/** Formats both ends of the horizontal axis and its name, if there is room. */
function xLine(name: string, coordinate: DataArray | undefined, length: number, columns: number): string {
  const [left, right] = [0, length - 1].map((position) =>
    coordinate === undefined ? String(position) : showPosition(coordinate, position),
  )
  const room = columns - left!.length - right!.length
  if (room < 1) return left!
  if (room < name.length + 2) return left! + right!.padStart(columns - left!.length)
  const before = Math.floor((room - name.length) / 2)
  return left! + ' '.repeat(before) + name + right!.padStart(columns - left!.length - before - name.length)
}

function legend(array: DiskArray, means: BlockMeans, mode: ColourMode, width: number): string[] {
  const ends = formatEnds(array, means)
  if (ends === undefined) return [NO_DATA]
  const [min, max] = ends
  const length = Math.max(4, Math.min(BAR_LENGTH, width - min.length - max.length - 2))
  return [`${min} ${drawBar(length, mode)} ${max}`, ...missingNote(means, 'blank')]
}

const NO_DATA = 'no data: every value is missing'

/** Extremes and missing values, known after all values were read. */
type Ends = Pick<BlockMeans, 'low' | 'high' | 'missing'>

/** Formats the smallest and the greatest value; the latter has the units. */
function formatEnds(array: DiskArray, { low, high }: Ends): [string, string] | undefined {
  if (low === undefined || high === undefined) return undefined
  const units = attributeText(array, 'units')
  return [showShort(low), `${showShort(high)}${units === undefined ? '' : ` ${units}`}`]
}

const missingNote = ({ missing }: Ends, how: string): string[] =>
  missing === 0 ? [] : [`${count(missing, 'missing value')} left ${how}`]
