import { type ErrorTag, HyperslabError, isHyperslabError } from '../core/errors.ts'
import type { MemoryBudget } from '../core/memory-budget.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { Dataset, type DatasetFile, DECODE_CHECKS, type DecodeOptions } from '../dataset/dataset.ts'
import type { WorkerPool } from '../pool/task.ts'
import { type Location, resolveLocation } from './location.ts'
import { variableOf } from './raw-variable.ts'

/** Options of `openDataset`. */
export interface OpenDatasetOptions extends DecodeOptions {
  /** Threads that decode and reduce. */
  readonly pool?: WorkerPool
  /** Memory that reading shares with other files. */
  readonly budget?: MemoryBudget
  /** The path of the group to open, in a Zarr store. */
  readonly group?: string
}

const CHECKS: Checks<OpenDatasetOptions> = { ...DECODE_CHECKS, pool: 'WorkerPool', budget: 'MemoryBudget', group: 'string' }

/** How files of formats begin, what they are called, and what to do about those that are not read. */
const FORMATS: readonly (readonly [readonly string[], string, string])[] = [
  [['CDF\x01', 'CDF\x02'], 'classic NetCDF', ''],
  [['CDF\x05'], 'NetCDF of 64-bit data (CDF-5)', 'convert it: nccopy -k classic'],
  [['\x89HDF'], 'HDF5, as NetCDF-4 is', 'convert it: nccopy -k classic, or to Zarr with xarray'],
  [['GRIB'], 'GRIB', 'convert it to Zarr with cfgrib and xarray'],
  [['II*\0', 'MM\0*', 'II+\0', 'MM\0+'], 'TIFF', 'convert it to Zarr with rioxarray'],
  [['\x93NUMPY'], 'NumPy', 'convert it with zarr.save'],
  [['PAR1'], 'Parquet', 'it holds tables; read it with a reader of these'],
]

/**
 * Opens what it finds as a dataset: a container (`.af`), classic NetCDF, a Zarr group (a folder, URL, `.zip`
 * or kerchunk references in `.json`). Attributes are read, and the labels of dimensions; values when they are
 * asked for, decoded by the CF conventions.
 * @throws NotFoundError; UnsupportedError for formats that are known and not read here, with what to do
 */
export async function openDataset(location: Location, options: OpenDatasetOptions = {}): Promise<Dataset> {
  checkOptions('openDataset', options, CHECKS)
  const file = await openFile(location, options)
  try {
    const { decode, signal } = options
    return await Dataset.from(file, { ...(decode !== undefined && { decode }), signal })
  } catch (error) {
    await file.close?.()
    throw error
  }
}

async function openFile(location: Location, { group, pool, budget, signal }: OpenDatasetOptions): Promise<DatasetFile> {
  const { store, path } = await resolveLocation(location)
  const place = { store, path }
  try {
    const isContainer = /\.af$/i.test(path)
    const isZarr = /\.(zarr|zip|ozx|json)\/?$/i.test(path)
    const start = isContainer || isZarr ? undefined : await firstBytes(place, signal)
    const shared = { pool, budget, signal }
    if (isZarr || (start === undefined && !isContainer)) return await openGroup(place, shared, group)
    const refuse = (tag: ErrorTag, text: string): never => {
      throw new HyperslabError(tag, text, { file: store.describe(path) })
    }
    if (group !== undefined) refuse('InvalidArgumentError', 'only Zarr stores have groups to open')
    const [, name = '', advice = ''] = FORMATS.find(([starts]) => starts.some((each) => start?.startsWith(each))) ?? []
    if (advice !== '') refuse('UnsupportedError', `this is ${name}, which is not read here; ${advice}`)
    return await (name === '' ? openFromContainer(place, { pool, budget }) : openClassic(place, shared))
  } catch (error) {
    await store.close?.()
    throw error
  }
}

type Place = Extract<Location, { store: unknown }>

/** The first bytes of a file as text; undefined where there is none, as of a folder. */
async function firstBytes({ store, path }: Place, signal: OpenDatasetOptions['signal']): Promise<string | undefined> {
  try {
    const info = await store.stat(path, { signal })
    if (info === undefined) return undefined
    const bytes = await store.getRange(path, 0, Math.min(8, info.size), { signal })
    return bytes && String.fromCharCode(...bytes)
  } catch (error) {
    // A folder is no file.
    if (isHyperslabError(error, 'FormatError')) return undefined
    throw error
  }
}

const openFromContainer = async ({ store, path }: Place, options: object): Promise<DatasetFile> =>
  (await import('./container-dataset.ts')).containerDataset(store, path, options)

async function openClassic(place: Place, options: object): Promise<DatasetFile> {
  const { openNetcdf } = await import('./open-netcdf.ts')
  const file = await openNetcdf(place, options)
  const variables = file.variables.map((variable) => variableOf(variable.name, variable as never))
  return { variables, attrs: Object.fromEntries(file.attrs), close: () => file.close() }
}

async function openGroup(place: Place, options: object, path: string | undefined): Promise<DatasetFile> {
  const { openZarr } = await import('./open-zarr.ts')
  const root = await openZarr(place, { ...options, kind: 'group' })
  const group = path === undefined ? root : await root.group(path)
  const unreadable = new Map(await group.unreadable())
  const opened = (await group.arrays()).map(async (name) => {
    try {
      return [variableOf(name, await group.array(name))]
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      unreadable.set(name, error)
      return []
    }
  })
  const variables = (await Promise.all(opened)).flat()
  return { variables, attrs: Object.fromEntries(group.attrs), unreadable, close: () => root.close() }
}
