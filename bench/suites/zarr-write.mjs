// Zarr arrays written to the disk by this package and by zarr-python (one thread each): every chunk of an
// existing array.
import { join } from 'node:path'
import { openZarr } from '../../dist/zarr.js'
import { inFolder, sized } from '../measure.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'

const SHAPE = [sized(64, 16), 512, 512]
const CHUNKS = [4, 256, 256]
const SHARDS = [SHAPE[0] / 2, 512, 512]

/** Whether the runtime has its own Zstandard; otherwise the kernel encodes, on one thread. */
const isNative = typeof process.getBuiltinModule?.('node:zlib')?.zstdCompress === 'function'
const zstdGoal = isNative ? 0.8 : undefined

/**
 * Codecs by name, as `zarr3_write` of peers.py knows them, and the required speed relative to zarr-python.
 */
const CODECS = { 'blosc lz4, shuffled': 1, zstd: zstdGoal, 'zstd, sharded': zstdGoal, gzip: undefined }

const python = await startPython(['zarr==3.1.6', 'numcodecs==0.16.6', 'numpy==2.4.6'])
if (python === undefined) console.log('not run: zarr-python makes the stores')
else
  await inFolder(async (folder) => {
    for (const [codec, goal] of Object.entries(CODECS)) {
      const [own, theirs] = ['own', 'theirs'].map((name) => join(folder, `${codec.replace(/\W+/g, '-')}-${name}`))
      for (const path of [own, theirs])
        await python.ask({
          make: 'zarr3_write',
          name: 'made',
          args: { path, shape: SHAPE, chunks: CHUNKS, shards: SHARDS, codec },
        })
      await python.ask({ make: 'zarr3_rewrite', name: 'theirs', args: { path: theirs, shape: SHAPE } })
      const array = await openZarr(own, { mode: 'r+', kind: 'array' })
      const { data } = await array.toTensor()
      const ways = {
        hyperslab: () => array.set(null, data),
        'zarr-python': { timed: async (count) => (await python.ask({ run: 'theirs', count })).ms },
      }
      print('zarr-write', `write ${codec}`, data.byteLength, await sideBySide(ways, { rounds: 5 }), { 'zarr-python': goal })
      await array.close()
    }
  })
python?.close()
