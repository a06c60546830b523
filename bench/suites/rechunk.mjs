// Rechunks an array of 4 GiB from whole planes to columns by the command, in 512 MiB. Compared with reading
// and writing it once, and with Cubed in Python.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPool } from '../../dist/index.js'
import { createZarr, openZarr } from '../../dist/zarr.js'
import { pythonEnvironment } from '../../scripts/python.mjs'
import { climate, inFolder, MiB, report, runProcess, sized, time } from '../measure.mjs'

const N = sized(1024, 64)
const COLUMNS = [N, 32, 32]
const MEMORY = 512 * MiB
const PEER = ['cubed==0.24.0', 'zarr==3.1.6', 'numpy==2.4.6']
const path = (name) => fileURLToPath(new URL(name, import.meta.url))

const makeArray = async (place, chunks) => {
  const group = await createZarr(place)
  return {
    group,
    array: await group.createArray('x', { dtype: 'float32', shape: [N, N, N], chunks, dimensionNames: ['z', 'y', 'x'] }),
  }
}

/** Compares the first and the last plane, and one between, which together touch all columns. */
async function compare(one, other) {
  const [a, b] = await Promise.all([one, other].map((each) => openZarr(join(each, 'x'), { kind: 'array' })))
  for (const z of [0, N / 2 + 1, N - 1])
    if (!Buffer.from((await a.get([z])).data.buffer).equals(Buffer.from((await b.get([z])).data.buffer)))
      throw new Error(`plane ${z} of ${other} differs`)
  await Promise.all([a.close(), b.close()])
}

await inFolder(async (folder) => {
  const [planes, columns, once, theirs] = ['planes', 'columns', 'once', 'theirs'].map((name) => join(folder, `${name}.zarr`))
  const field = climate(N * N + 997 * N, 1)
  {
    const { group, array } = await makeArray(planes, [1, N, N])
    for (let z = 0; z < N; z++) await array.set([z], field.subarray(997 * z, 997 * z + N * N))
    await group.close()
  }
  // Copies everything once, from planes and to columns, with the command's workers for decoding.
  const reading = await time(async () => {
    const pool = createPool()
    const array = await openZarr(join(planes, 'x'), { kind: 'array', pool })
    for await (const _ of array.blocks({ prefetch: 4 }));
    await array.close()
    await pool.close()
  })
  const { group, array } = await makeArray(once, COLUMNS)
  const rows = sized(32, 32)
  let writing = 0
  for (let y = 0; y < N; y += rows) {
    const slab = new Float32Array(N * rows * N)
    for (let z = 0; z < N; z++) slab.set(field.subarray(997 * z + y * N, 997 * z + (y + rows) * N), z * rows * N)
    writing += await time(() => array.set([null, { start: y, stop: y + rows, step: 1 }], slab))
  }
  await group.close()
  rmSync(once, { recursive: true })
  const floor = (reading + writing) / 1000
  const chunks = `z=${N},y=32,x=32`
  const own = await runProcess(process.execPath, [
    path('../../dist/cli.js'),
    'rechunk',
    planes,
    columns,
    '--chunks',
    chunks,
    '--memory',
    '512MiB',
  ])
  await compare(planes, columns)
  rmSync(columns, { recursive: true })
  const size = `${(4 * N ** 3) / MiB} MiB`
  console.log(`${size} read once in ${(reading / 1000).toFixed(1)} s, written once in ${(writing / 1000).toFixed(1)} s`)
  console.log(`rechunked in ${own.seconds.toFixed(1)} s with ${(own.peak / MiB).toFixed(0)} MiB`)
  const row = (name, peer, ratio, goal, met, speed) => report({ suite: 'rechunk', name, peer, speed, ratio, goal, met })
  row('time', 'reading and writing once', own.seconds / floor, 'at most 1.5', own.seconds <= 1.5 * floor, true)
  row('peak memory', '512 MiB', own.peak / MEMORY, 'at most 1.2', own.peak <= 1.2 * MEMORY, false)
  const { env, failure } = pythonEnvironment(PEER)
  if (failure !== undefined) {
    console.log(`peer not installed: ${PEER.join(', ')} (${failure})`)
    return
  }
  const peer = await runProcess('python3', [path('../rechunk.py'), planes, theirs, String(MEMORY), join(folder, 'work')], env)
  await compare(planes, theirs)
  console.log(`Cubed: ${peer.seconds.toFixed(1)} s with ${(peer.peak / MiB).toFixed(0)} MiB`)
  row('speed', 'Cubed 0.24.0', peer.seconds / own.seconds, undefined, true, true)
})
