// Reads and reductions of classic NetCDF files on disk, against the C library behind Python's netCDF4 and
// against netcdfjs, whose reader reads whole variables.
// Values of record variables are interleaved in the file, those of other variables are contiguous.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { slice } from '../../dist/index.js'
import { openNetcdf } from '../../dist/netcdf.js'
import { climate, inFolder, random, sized } from '../measure.mjs'
import { loadPeer } from '../peers.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'

const SHAPE = [sized(128, 8), 256, 256]
const [STEPS, ROWS, COLUMNS] = SHAPE
/** Bytes of one time step. */
const STEP = 4 * ROWS * COLUMNS

const next = random(2)
const some = (length) => Math.floor(next() * length)
/** Selectors of each axis: null, a position or `[start, stop]`; positions differ in each round. */
const READS = {
  all: () => [null, null, null],
  'a map': () => [some(STEPS), null, null],
  'a box': () => [
    [0, STEPS],
    [50, 80],
    [100, 140],
  ],
  'a series': () => [null, some(ROWS), some(COLUMNS)],
  'a row': () => [some(STEPS), some(ROWS), null],
  'a point': () => [some(STEPS), some(ROWS), some(COLUMNS)],
}
/** Required speed relative to the C library, and to netcdfjs if everything is read. */
const READ_GOALS = { all: 1, 'a map': 1, 'a box': 1, 'a series': 1, 'a row': 1, 'a point': 1 }

await inFolder(async (folder) => {
  const peer = await loadPeer('netcdfjs')
  const python = await startPython(['netCDF4==1.7.2', 'numpy==2.4.6'])
  for (const [kind, ofRecords] of [
    ['', false],
    [', of records', true],
  ]) {
    // biome-ignore format: one line
    const path = join(folder, `${ofRecords}.nc`)
    writeFileSync(path, netcdf(ofRecords))
    const file = await openNetcdf(path)
    const array = file.variable('t')
    if (python) await python.ask({ make: 'netcdf', name: path, args: { path } })
    for (const [name, read] of Object.entries(READS)) {
      const reads = Array.from({ length: 64 }, read)
      const given = reads.map((axes) => axes.map((axis) => (Array.isArray(axis) ? slice(...axis) : axis)))
      const ways = { ours: (round) => array.get(given[round % reads.length]) }
      if (python) ways.netCDF4 = await asked(python, 'netcdf_select', `${path} ${name}`, { source: path, reads })
      if (name === 'all' && peer) ways.netcdfjs = () => new peer.NetCDFReader(readFileSync(path)).getDataVariable('t')
      const compared = await sideBySide(ways, { rounds: name === 'all' ? 7 : 25 })
      const length = reads[0].reduce(
        (size, axis, i) => size * (axis === null ? SHAPE[i] : axis.length ? axis[1] - axis[0] : 1),
        1,
      )
      print('netcdf', `${name}${kind}`, 4 * length, compared, { netCDF4: READ_GOALS[name], netcdfjs: 10 })
    }
    for (const [name, axes, reduce] of [
      ['sum', null, () => array.sum()],
      ['min', null, () => array.min()],
      ['mean over time', 0, () => array.mean({ axis: 0 })],
      ['mean over columns', 2, () => array.mean({ axis: 2 })],
    ]) {
      const ways = { ours: reduce }
      const [op] = name.split(' ')
      if (python) ways.netCDF4 = await asked(python, 'netcdf_reduce', `${path} ${name}`, { source: path, op, axis: axes })
      print('netcdf', `${name}${kind}`, STEPS * STEP, await sideBySide(ways, { rounds: 9 }), { netCDF4: 2 })
    }
    await file.close()
  }
  python?.close()
})

async function asked(python, make, name, args) {
  await python.ask({ make, name, args })
  return { timed: async (count) => (await python.ask({ run: name, count })).ms }
}

/** Creates a file with the variables `t` and `u`, interleaved step by step if they are record variables. */
function netcdf(ofRecords) {
  const values = ['t', 'u'].map((_, i) => bigEndian(climate(STEPS * ROWS * COLUMNS, 7 + i)))
  const size = ofRecords ? STEP : STEPS * STEP
  const header = (begin) => {
    const text = (name) => [word(name.length), Buffer.from(name.padEnd(4 * Math.ceil(name.length / 4), '\0'))]
    const dimension = (name, length) => [...text(name), word(length)]
    const variable = (name, i) => [...text(name), ...[3, 0, 1, 2, 0, 0, 5, size].map(word), word(0), word(begin + i * size)]
    return Buffer.concat([
      ...[Buffer.from('CDF\x02'), word(ofRecords ? STEPS : 0), word(10), word(3)],
      ...[...dimension('time', ofRecords ? 0 : STEPS), ...dimension('lat', ROWS), ...dimension('lon', COLUMNS)],
      ...[word(0), word(0), word(11), word(2), ...variable('t', 0), ...variable('u', 1)],
    ])
  }
  const steps = ofRecords
    ? Array.from({ length: STEPS }, (_, i) => values.map((each) => each.subarray(i * STEP, (i + 1) * STEP)))
    : [values]
  return Buffer.concat([header(header(0).length), ...steps.flat()])
}

function word(value) {
  return bigEndian(Uint32Array.of(value))
}

function bigEndian(values) {
  return Buffer.from(values.buffer).swap32()
}
