// A walk through hyperslab on a year of temperatures. Every result is checked against one computed without the package.
// `--keep` leaves the files of the demo, and prints where they are.
import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { open, slice } from '../dist/index.js'
import { corrected, extremes, monthlyMeans, readVariables } from './expected.mjs'
import { CheckFailed, check, kib, step, summary, table } from './report.mjs'

const NETCDF = fileURLToPath(new URL('data/tas_rectilinear_grid_2D.nc', import.meta.url))
const COMMAND = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const CONTAINER = 'climate.af'
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
/** The correction that is laid over the data: half a degree over central Europe in July. */
const CORRECTION = { month: 6, lat: [45, 55], lon: [5, 15], amount: 0.5 }

const unknown = process.argv.slice(2).filter((word) => word !== '--keep')
if (unknown.length > 0) {
  console.error(`there is no option ${unknown[0]}: npm run demo takes --keep, which leaves its files (npm run demo -- --keep)`)
  process.exit(2)
}
const isKept = process.argv.includes('--keep')
const folder = await mkdtemp(join(tmpdir(), 'hyperslab-demo-'))
try {
  await run(join(folder, CONTAINER))
} catch (error) {
  console.error(error instanceof CheckFailed ? `\nThe demo failed. ${error.message}` : error)
  process.exitCode = 1
} finally {
  if (isKept) console.log(`\nThe files are in ${folder}`)
  else await rm(folder, { recursive: true, force: true })
}

async function run(path) {
  const expected = readVariables(NETCDF)

  step('Import a NetCDF file')
  command('import', NETCDF, CONTAINER)

  step('Look at what is in it')
  command('info', CONTAINER)

  step('Draw January')
  command('plot', CONTAINER, 'tas', '0')

  step('Mean of each month')
  await withFile(path, (file) => compareMeans(file.array('tas'), monthlyMeans(expected.get('tas'))))

  step('Warmest and coldest cell')
  await withFile(path, (file) => findExtremes(file, extremes(expected.get('tas'))))

  step('Correct the data, as an overlay')
  const box = await withFile(path, correct)

  step('Read one point')
  await withFile(path, (file) => readPoint(file, box, expected.get('tas')))

  step('Compact')
  await compact(path)

  step('Verify every value')
  await withFile(path, (file) => verify(file, expected, box))

  summary()
}

/** Opens the container freshly for one piece of work. Where there is `await using`, that does the same. */
async function withFile(path, work) {
  const file = await open(path)
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}

/** Runs the command as a user would, with this terminal. */
function command(...args) {
  const shown = args.map((arg) => (arg.startsWith('/') ? arg.slice(arg.lastIndexOf('/') + 1) : arg))
  console.log(`  $ hyperslab ${shown.join(' ')}\n`)
  const { status, error } = spawnSync(process.execPath, [COMMAND, ...args], { cwd: folder, stdio: 'inherit' })
  if (error !== undefined || status !== 0)
    throw new CheckFailed(`hyperslab ${shown.join(' ')} exits with 0`, `it was ${error ?? status}`)
}

async function compareMeans(tas, expected) {
  const { data, shape } = await tas.mean({ axis: ['lat', 'lon'] })
  check(shape.length === 1 && shape[0] === 12, 'there is one mean for each of 12 months', `shape ${shape}`)
  const rows = [...data].map((mean, month) => [
    MONTHS[month],
    mean.toFixed(4),
    (mean - 273.15).toFixed(4),
    (mean - expected[month]).toExponential(1),
  ])
  table([['month', 'K', 'deg C', 'difference'], ...rows])
  console.log('  (cells count alike; for a true global mean they would be weighted by their area)')
  const worst = Math.max(...expected.map((mean, month) => Math.abs(data[month] / mean - 1)))
  check(worst < 1e-12, 'the means are those computed without the package', `relative difference ${worst}`)
}

async function findExtremes(file, expected) {
  const tas = file.array('tas')
  const [low, high] = [await tas.min(), await tas.max()]
  const lat = await file.array('lat').get()
  const lon = await file.array('lon').get()
  const rows = []
  for (const [name, value] of [
    ['warmest', high],
    ['coldest', low],
  ]) {
    const index = await findValue(tas, value)
    const [month, row, column] = index
    rows.push([name, value.toFixed(2), MONTHS[month], lat.data[row].toFixed(2), lon.data[column].toFixed(2)])
    const right = expected[name]
    check(
      value === right.value && month === right.month && row === right.row && column === right.column,
      `the ${name} cell is tas[${index.join(', ')}]`,
      `expected ${JSON.stringify(right)}`,
    )
  }
  table([['', 'K', 'month', 'latitude', 'longitude'], ...rows])
}

/** Where a value is first, looking at one chunk at a time. */
async function findValue(array, value) {
  for await (const { box, data } of array.blocks()) {
    const position = data.data.indexOf(value)
    if (position === -1) continue
    const [, rows, columns] = data.shape
    const within = [Math.floor(position / (rows * columns)), Math.floor(position / columns) % rows, position % columns]
    return within.map((index, axis) => box[axis].start + index)
  }
  throw new CheckFailed(`${value} is in the array`)
}

async function correct(file) {
  const { month, amount } = CORRECTION
  const tas = file.array('tas')
  const row = span((await file.array('lat').get()).data, CORRECTION.lat)
  const column = span((await file.array('lon').get()).data, CORRECTION.lon)
  const box = { month, row, column, amount }
  const selection = [month, slice(row.start, row.stop), slice(column.start, column.stop)]
  const part = await tas.get(selection)
  await tas.set(selection, { ...part, data: part.data.map((value) => value + amount) })
  await file.flush()
  console.log(
    `  Added ${amount} K to tas[${month}, ${row.start}:${row.stop}, ${column.start}:${column.stop}]: ${part.data.length} cells.`,
  )
  console.log('  Only the chunk they lie in was written, to a file beside the first one:\n')
  showLayers(file)
  const layers = file.layers()
  check(
    layers.length === 2 && layers[1].chunks === 1,
    'there is one new layer with one chunk',
    JSON.stringify(layers.map(({ chunks }) => chunks)),
  )
  return box
}

/** The positions whose coordinate lies between two values. */
function span(coordinates, [low, high]) {
  const inside = [...coordinates.keys()].filter((i) => coordinates[i] >= low && coordinates[i] <= high)
  return { start: Math.min(...inside), stop: Math.max(...inside) + 1 }
}

function showLayers(file) {
  const rows = file
    .layers()
    .map(({ number, bytes, blocks, chunks, arrays }) => [number, kib(bytes), blocks, chunks, arrays.length])
  table([['layer', 'size', 'blocks', 'chunks', 'arrays'], ...rows])
}

async function readPoint(file, box, { shape: [, rows, columns], values }) {
  const [row, column] = [box.row.start, box.column.start]
  const [month, other] = [box.month, 0]
  const tas = file.array('tas')
  const lines = []
  for (const [name, time] of [
    ['corrected', month],
    ['untouched', other],
  ]) {
    const before = file.readCost
    const value = await tas.get([time, row, column])
    const after = file.readCost
    lines.push([`${name}, ${MONTHS[time]}`, value.toFixed(3), after.blocks - before.blocks, kib(after.bytes - before.bytes)])
    const original = values[(time * rows + row) * columns + column]
    const wanted = time === month ? Math.fround(original + box.amount) : original
    check(value === wanted, `tas[${time}, ${row}, ${column}] is ${value.toFixed(3)} K`, `expected ${wanted}`)
  }
  table([['point', 'K', 'blocks', 'bytes'], ...lines])
  const total = file.layers().reduce((sum, { bytes }) => sum + bytes, 0)
  const { blocks, bytes } = file.readCost
  console.log(`  All in all ${blocks} blocks, ${kib(bytes)}, of a container of ${kib(total)}.`)
  check(blocks <= 2, 'two points cost two blocks at most', `${blocks} blocks`)
}

async function compact(path) {
  command('compact', CONTAINER)
  const files = (await readdir(dirname(path))).filter((name) => name.endsWith('.af'))
  check(files.join() === CONTAINER, 'one container file is left', files.join(', '))
}

async function verify(file, expected, box) {
  for (const [name, variable] of expected) {
    const array = file.array(name)
    const wanted = name === 'tas' ? corrected(variable, box) : variable.values
    const { data, shape } = await array.get()
    const sameShape = shape.join() === variable.shape.join()
    const wrong = sameShape ? data.findIndex((value, i) => !Object.is(value, wanted[i])) : 0
    check(
      sameShape && data.length === wanted.length && wrong === -1,
      `${name}: all ${wanted.length} values are right`,
      sameShape ? `element ${wrong} is ${data[wrong]}, expected ${wanted[wrong]}` : `shape ${shape}, expected ${variable.shape}`,
    )
  }
}
