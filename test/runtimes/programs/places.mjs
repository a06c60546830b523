// Named imports, as users write them: bundlers have to find out what can be left away.
import {
  create,
  createPool,
  DiskArray,
  FileStore,
  HttpStore,
  initKernels,
  isHyperslabError,
  MemoryStore,
  open,
  slice,
} from 'hyperslab'
import { openGeotiff } from 'hyperslab/geotiff'
import { openHdf5 } from 'hyperslab/hdf5'
import { ChunkGrid, plan, resolveSelection } from 'hyperslab/plan'
import { createZarr, openZarr } from 'hyperslab/zarr'
import { describe, equal } from '../check.mjs'
import { runSuite } from '../suite.mjs'

const used = {
  ChunkGrid,
  create,
  DiskArray,
  HttpStore,
  initKernels,
  isHyperslabError,
  MemoryStore,
  open,
  createZarr,
  openGeotiff,
  openHdf5,
  openZarr,
  plan,
  resolveSelection,
  slice,
}

const memory = () => {
  const store = new MemoryStore()
  return { name: 'memory', at: (path) => ({ store, path }) }
}

/** A folder by path, and the store of files given explicitly. */
const files = (folder) => [
  { name: 'file', at: (file) => `${folder}/${file}` },
  { name: 'file store', at: (file) => ({ store: new FileStore(), path: `${folder}/store-${file}` }) },
]

/**
 * Runs the suite in memory, there with each pool again, and, if given, in `folder`; where there is no file
 * system, a path must be refused.
 * @param pools as `{ name, options, workers }`: what `createPool` takes, and whether there can be workers
 */
export async function runEverywhere({ folder, extra = [], pools = [{ name: 'a pool', options: {}, workers: true }] } = {}) {
  const results = await runSuite(used, [memory(), ...(folder === undefined ? [] : files(folder)), ...extra])
  for (const pool of pools) results.push(...(await runPooled(pool)))
  if (folder === undefined) results.push(await refusesPaths())
  return results
}

async function runPooled({ name, options, workers }) {
  const pool = createPool({ size: 2, ...options })
  const pooled = { open: (at, more) => open(at, { ...more, pool }), create: (at, more) => create(at, { ...more, pool }) }
  const results = await runSuite({ ...used, ...pooled }, [{ ...memory(), name: `memory, ${name}` }])
  const inline = pool.size === 0 && pool.inlineReason !== undefined
  const right = workers ? pool.size === 2 : inline
  const error = right ? undefined : `it has ${pool.size}: ${pool.inlineReason}`
  await pool.close()
  return [...results, { name: `${name} has ${workers ? 'workers' : 'none and says why'}`, error }]
}

/** Without files, a path is refused; in a page it is a URL relative to the page, where nothing is. */
async function refusesPaths() {
  const name = 'a path is refused, or in a page a URL beside the page'
  const page = typeof document === 'undefined' ? globalThis.location?.href : document.baseURI
  try {
    await open('climate.af')
    return { name, error: 'it was opened' }
  } catch (error) {
    try {
      const isPage = /^https?:/.test(page ?? '')
      const expected = isPage ? new URL('climate.af', page).href : 'store'
      equal([isHyperslabError(error, 'UnsupportedError'), error.message.includes(expected)], [!isPage, true])
      return { name }
    } catch {
      return { name, error: describe(error) }
    }
  }
}
