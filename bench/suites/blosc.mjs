// Decoding Blosc frames in kernel memory, against c-blosc by numcodecs in Python. Each runs in one thread and
// into existing memory.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS } from '../data.mjs'
import { internals } from '../internals.mjs'
import { inFolder, MiB, sized } from '../measure.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'

const BYTES = sized(MiB, MiB / 16)
/** Number of frames used in turn, so that none stays in caches and predictors. */
const FRAMES = sized(16, 2)

/** Required speed relative to c-blosc's decoder, if it is a goal. */
const CASES = [
  ['climate', 4, { cname: 'lz4', shuffle: 1 }, 0.9],
  ['climate', 4, { cname: 'lz4', shuffle: 2 }],
  ['climate', 4, { cname: 'lz4', shuffle: 0 }],
  ['terrain', 2, { cname: 'lz4', shuffle: 1 }, 0.9],
  ['climate', 8, { cname: 'lz4', shuffle: 1 }, 0.9],
  ['terrain', 2, { cname: 'lz4', shuffle: 2 }],
  ['climate', 4, { cname: 'lz4hc', shuffle: 1 }],
  ['climate', 4, { cname: 'blosclz', shuffle: 1 }],
  ['climate', 4, { cname: 'zstd', shuffle: 1 }],
  ['climate', 4, { cname: 'zlib', shuffle: 1 }],
  ['random', 4, { cname: 'lz4', shuffle: 1 }],
]

const python = await startPython(['numcodecs==0.16.6', 'numpy==2.4.6'])
const { bloscStep, withArena } = await internals('codec/blosc', 'kernels/arena')

async function compare(folder, kind, itemsize, codec, goal) {
  const name = `${codec.cname}, shuffle ${codec.shuffle}, ${kind}, elements of ${itemsize}`
  const data = new Uint8Array(FRAMES * BYTES)
  for (let i = 0; i < FRAMES; i++) data.set(KINDS[kind](BYTES, i + 1), i * BYTES)
  const source = join(folder, 'data')
  writeFileSync(source, data)
  const target = join(folder, 'frame')
  await python.ask({ make: 'blosc', name, args: { source, itemsize, count: FRAMES, codec, target } })
  const frames = Array.from({ length: FRAMES }, (_, i) => readFileSync(`${target}.${i}`))
  const step = bloscStep(codec.cname)
  await step.ready()
  const ours = (i) => {
    const frame = frames[i % FRAMES]
    withArena((arena) => {
      const { pointer, length } = step.decodeIn(arena, arena.put(frame), frame.length, BYTES)
      if (arena.bytes(pointer, length)[BYTES - 1] !== data[((i % FRAMES) + 1) * BYTES - 1])
        throw new Error(`${name} is not decoded`)
    })
  }
  const peer = { timed: async (count) => (await python.ask({ run: name, count })).ms }
  const share = frames.reduce((sum, { length }) => sum + length, 0) / data.length
  print('blosc', `decode ${name} (${(1 / share).toFixed(2)}:1)`, BYTES, await sideBySide({ ours, 'c-blosc': peer }), {
    'c-blosc': goal,
  })
  await python.ask({ drop: name })
}

if (python !== undefined) {
  await inFolder(async (folder) => {
    for (const row of CASES) await compare(folder, ...row)
  })
  console.log(`peers: ${python.label}, with its c-blosc`)
  python.close()
}
