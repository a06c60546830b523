// Copies an array of 1 GiB from Zarr to a classic NetCDF file by the command, within 300 MB of resident
// memory. Compared with zarr-python and netCDF4-python, as whole processes. The command writes the file to
// the disk before it publishes it, which netCDF4 does not: `writing and syncing` shows what that takes alone.
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openNetcdf } from '../../dist/netcdf.js'
import { createZarr } from '../../dist/zarr.js'
import { pythonEnvironment } from '../../scripts/python.mjs'
import { climate, inFolder, MiB, median, report, runProcess, sized, time } from '../measure.mjs'

const SHAPE = [sized(256, 4), 1024, 1024]
const PLANE = SHAPE[1] * SHAPE[2]
const MEMORY = 300e6
const PEER = ['netCDF4==1.7.2', 'zarr==3.1.6', 'numpy==2.4.6']
const ROUNDS = sized(3, 1)
const path = (name) => fileURLToPath(new URL(name, import.meta.url))

/** @throws if some planes of the file are not those of the field */
async function check(place, planeOf) {
  const file = await openNetcdf(place)
  for (const z of [0, SHAPE[0] / 2 + 1, SHAPE[0] - 1]) {
    const { data } = await file.variable('x').get([z])
    if (!Buffer.from(data.buffer).equals(Buffer.from(planeOf(z).slice().buffer)))
      throw new Error(`plane ${z} of ${place} differs`)
  }
  await file.close()
}

/** Returns the seconds in which the same bytes are written and synced. */
async function syncing(place) {
  const plane = Buffer.alloc(4 * PLANE, 1)
  const ms = await time(() => {
    const file = openSync(place, 'w')
    for (let z = 0; z < SHAPE[0]; z++) writeSync(file, plane)
    fsyncSync(file)
    closeSync(file)
  })
  rmSync(place)
  return ms / 1000
}

await inFolder(async (folder) => {
  const source = join(folder, 'source.zarr')
  const field = climate(PLANE + 997 * SHAPE[0], 1)
  const planeOf = (z) => field.subarray(997 * z, 997 * z + PLANE)
  const group = await createZarr(source)
  const shape = { dtype: 'float32', shape: SHAPE, chunks: [1, ...SHAPE.slice(1)], dimensionNames: ['z', 'y', 'x'] }
  const array = await group.createArray('x', shape)
  for (let z = 0; z < SHAPE[0]; z++) await array.set([z], planeOf(z))
  await group.close()
  const { env, failure } = pythonEnvironment(PEER)
  if (failure !== undefined) console.log(`peer not installed: ${PEER.join(', ')} (${failure})`)
  const [own, peer, floor] = [[], [], []]
  // In turn, because the load of the machine varies.
  for (let round = 0; round < ROUNDS; round++) {
    const target = join(folder, 'ours.nc')
    own.push(await runProcess(process.execPath, [path('../../dist/cli.js'), 'export', source, target]))
    if (round === 0) await check(target, planeOf)
    rmSync(target)
    floor.push(await syncing(target))
    if (failure !== undefined) continue
    const theirs = join(folder, 'theirs.nc')
    peer.push(await runProcess('python3', [path('../netcdf_write.py'), source, theirs, '8'], env))
    if (round === 0) await check(theirs, planeOf)
    rmSync(theirs)
  }
  const peak = Math.max(...own.map((each) => each.peak))
  const seconds = median(own.map((each) => each.seconds))
  console.log(`${(4 * PLANE * SHAPE[0]) / MiB} MiB written in ${seconds.toFixed(1)} s with ${(peak / 1e6).toFixed(0)} MB`)
  console.log(`writing and syncing the same bytes: ${median(floor).toFixed(1)} s`)
  const row = { suite: 'netcdf-write' }
  report({
    ...row,
    name: 'peak memory',
    peer: '300 MB',
    speed: false,
    ratio: peak / MEMORY,
    goal: 'at most 1',
    met: peak <= MEMORY,
  })
  if (peer.length === 0) return
  const ratio = median(peer.map((each) => each.seconds)) / seconds
  console.log(
    `netCDF4: ${median(peer.map((each) => each.seconds)).toFixed(1)} s with ${(Math.max(...peer.map((each) => each.peak)) / 1e6).toFixed(0)} MB`,
  )
  report({ ...row, name: '1 GiB from Zarr', peer: 'netCDF4', speed: true, ratio, goal: 'at least 0.6', met: ratio >= 0.6 })
})
