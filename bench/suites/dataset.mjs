// Labelled data compared with xarray on the same files: opening, selecting by labels and a mean, from scratch
// every time.
// And the cost of decoding: reductions of packed values compared with those of the stored integers.
import { join } from 'node:path'
import { between, openDataset } from '../../dist/dataset.js'
import { inFolder, sized } from '../measure.mjs'
import { startPython } from '../python.mjs'
import { print, sideBySide } from '../side-by-side.mjs'

const SHAPE = [sized(240, 24), sized(180, 18), sized(360, 36)]
const BYTES = 2 * SHAPE[0] * SHAPE[1] * SHAPE[2]

/**
 * For each chain, the arguments of `sel` on both sides, the axes of the mean, and the share of the stored
 * bytes.
 */
const CHAINS = {
  'a year over Europe': {
    labels: { time: '1991', lat: between(35, 70), lon: between(0, 30) },
    theirs: { time: '1991', lat: [70, 35], lon: [0, 30] },
    axis: ['time', 'lat', 'lon'],
    share: (12 / SHAPE[0]) * (35 / 180) * (30 / 360),
  },
  'the mean of all': { labels: {}, theirs: {}, axis: ['time', 'lat', 'lon'], share: 1 },
  'the mean over time': { labels: {}, theirs: {}, axis: ['time'], share: 1 },
}

await inFolder(async (folder) => {
  const python = await startPython(['xarray==2026.9.0', 'zarr==3.1.6', 'scipy==1.17.1', 'numpy==2.4.6'])
  // xarray writes the files.
  if (python === undefined) return
  await python.ask({ make: 'dataset_write', name: 'files', args: { folder, shape: SHAPE } })
  for (const form of ['nc', 'zarr']) {
    const path = join(folder, `packed.${form}`)
    for (const [name, { labels, theirs, axis, share }] of Object.entries(CHAINS)) {
      await python.ask({ make: 'dataset_mean', name: `${form} ${name}`, args: { path, sel: theirs, dim: axis } })
      const ours = async () => {
        const ds = await openDataset(path)
        await ds.get('t').sel(labels).mean({ axis }).get()
        await ds.close()
      }
      const xarray = { timed: async (count) => (await python.ask({ run: `${form} ${name}`, count })).ms }
      // Opening runs so much code once that the engine needs some dozen calls until it has compiled it.
      const compared = await sideBySide({ ours, xarray }, { rounds: 9, roundMs: 100 })
      print('dataset', `${form}, opened: ${name}`, Math.round(BYTES * share), compared, { xarray: 1 })
    }
    const [decoded, raw] = [await openDataset(path), await openDataset(path, { decode: false })]
    for (const [kind, axis] of [
      ['mean', ['time', 'lat', 'lon']],
      ['mean', ['time']],
      ['max', ['lat', 'lon']],
    ]) {
      const reduce = (ds) => () => ds.get('t')[kind]({ axis }).get()
      // Several calls per round, because each reads so much that every second or third waits for the garbage
      // collector.
      const compared = await sideBySide({ ours: reduce(decoded), stored: reduce(raw) }, { roundMs: 100 })
      // At most 1.2 times as long.
      print('dataset', `${form}: packed ${kind} over ${axis.join(', ')}`, BYTES, compared, { stored: 0.83 })
    }
    await Promise.all([decoded.close(), raw.close()])
  }
  python.close()
})
