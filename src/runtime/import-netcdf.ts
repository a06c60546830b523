import type { NetcdfFile, NetcdfVariable } from '../adapters/netcdf/index.ts'
import { ArrayFile } from '../af/file.ts'
import type { FileArray } from '../af/file-array.ts'
import { type CreateOptions, FILE_CHECKS } from '../af/layers/file-options.ts'
import { listSidecars } from '../af/layers/listed.ts'
import { Paths } from '../af/layers/paths.ts'
import { withDefaults } from '../af/settings.ts'
import { checkFree, checkName, publishCopy } from '../af/write/create.ts'
import { DiskArray } from '../array/disk-array.ts'
import { missingAs } from '../array/lazy/missing-as.ts'
import { type Element, missingElement, missingElements } from '../array/missing.ts'
import { bytesOf } from '../array/source.ts'
import type { Progress } from '../array/transfers.ts'
import { codecsByName } from '../codec/registry.ts'
import { HyperslabError, isHyperslabError, messageOf, within } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import { draftName } from '../store/fs/names.ts'
import type { Store } from '../store/store.ts'
import { type Location, resolveLocation } from './location.ts'
import { openNetcdf } from './open-netcdf.ts'

export const IMPORT_CHUNK_BYTES = 128 * 1024
export const DEFAULT_BLOCK_BYTES = 256 * 1024

/** Options of `importNetcdf`. */
export interface ImportNetcdfOptions extends Pick<CreateOptions, 'codec' | 'level' | 'codecs' | 'overwrite'> {
  /** Names of the variables to copy; all when left out. */
  readonly variables?: readonly string[]
  /**
   * Lengths of chunks along dimensions, by name: `{ time: 12, lat: 48 }`. Those along the others are chosen
   * to give `chunkBytes`.
   */
  readonly chunks?: Readonly<Record<string, number>>
  /** Size that chunks should have; 128 KiB by default. */
  readonly chunkBytes?: number
  /** Size of blocks before compression, the least that is fetched to read a point; 256 KiB by default. */
  readonly blockBytes?: number
  /** Ends the import when it is aborted. */
  readonly signal?: Signal
  /** Told after every chunk of the copy. */
  readonly onProgress?: (progress: Progress) => void
}

/** The outcome of an import. */
export interface ImportedNetcdf {
  /** Names of the arrays. */
  readonly arrays: readonly string[]
  /** Size of the NetCDF file, and of the container (`bytes`), in bytes. */
  readonly sourceBytes: number
  readonly bytes: number
  /**
   * Mishaps after which the container is complete all the same, one line each: statistics that were not
   * stored, temporary files that are left.
   */
  readonly warnings: readonly string[]
}

const CHECKS: Checks<ImportNetcdfOptions> = {
  codec: FILE_CHECKS.codec,
  level: FILE_CHECKS.level,
  codecs: FILE_CHECKS.codecs,
  blockBytes: FILE_CHECKS.blockBytes,
  overwrite: 'boolean',
  variables: 'list of strings',
  chunks: 'plain object',
  chunkBytes: 'integer from 1',
  signal: 'AbortSignal',
  onProgress: 'function',
}

/** See `importNetcdf` of hyperslab/netcdf. */
export async function importFile(source: Location, target: Location, options: ImportNetcdfOptions = {}): Promise<ImportedNetcdf> {
  checkOptions('importNetcdf', options, CHECKS)
  codecsByName(options.codecs ?? [])
  const { store, path } = await resolveLocation(target)
  const final = new Paths(path)
  const draft = new Paths(draftName(path.slice(0, -'.af'.length)))
  const { overwrite = false, signal } = options
  const work = async (): Promise<ImportedNetcdf> => {
    await within({ file: store.describe(path) }, async () => {
      checkName(final)
      // Otherwise what is there stays until the copy is complete.
      if (!overwrite) await checkFree(store, final)
    })
    await using netcdf = await openNetcdf(source, { signal })
    const copied = await copy(netcdf, store, draft.base, options)
    signal?.throwIfAborted()
    const warnings = await within({ file: store.describe(path) }, async () =>
      publishCopy(draft, { store, paths: final, options: await withDefaults({}) }, overwrite),
    )
    return { ...copied, warnings: [...copied.warnings, ...warnings], sourceBytes: netcdf.byteLength }
  }
  const names = (text: string): string => text.replaceAll(store.describe(draft.base), store.describe(path))
  try {
    const done = await settled(work)
    const removed = await settled(() => discard(store, draft))
    if ('value' in done) {
      const left = 'error' in removed ? [`temporary files could not be removed: ${messageOf(removed.error)}`] : []
      return { ...done.value, warnings: [...done.value.warnings.map(names), ...left] }
    }
    const error = renamed(done.error, names)
    throw 'error' in removed ? bothOf(error, removed.error) : error
  } finally {
    await store.close?.()
  }
}

/** What came of some work, to be judged together with that of other work. */
async function settled<T>(work: () => Promise<T>): Promise<{ readonly value: T } | { readonly error: unknown }> {
  try {
    return { value: await work() }
  } catch (error) {
    return { error }
  }
}

/** @returns what the container holds, and its size */
async function copy(
  netcdf: NetcdfFile,
  store: Store,
  path: string,
  options: ImportNetcdfOptions,
): Promise<Omit<ImportedNetcdf, 'sourceBytes'>> {
  const { codec, level, codecs, blockBytes = DEFAULT_BLOCK_BYTES, signal, onProgress } = options
  const variables = chosenVariables(netcdf, options)
  checkChunks(netcdf, options)
  await using file = await ArrayFile.create(store, path, {
    blockBytes,
    ...(codec !== undefined && { codec }),
    ...(level !== undefined && { level }),
    ...(codecs !== undefined && { codecs }),
  })
  for (const name of netcdf.attrs.keys()) file.attrs.set(name, netcdf.attrs.typed(name)!)
  const copies = variables.map((variable) => {
    const { from, fill } = withOneMissing(variable)
    return { from, to: defineLike(file, variable, fill, options) }
  })
  const total = copies.reduce((sum, { to }) => sum + to.chunks.count, 0)
  let before = 0
  for (const { from, to } of copies) {
    await to.assign(from, { signal, onProgress: ({ done }) => onProgress?.({ done: before + done, total }) })
    before += to.chunks.count
  }
  await file.flush()
  await file.compact()
  const bytes = file.layers().reduce((sum, { bytes }) => sum + bytes, 0)
  return { arrays: variables.map(({ name }) => name), bytes, warnings: file.warnings() }
}

function chosenVariables(netcdf: NetcdfFile, { variables }: ImportNetcdfOptions): readonly NetcdfVariable[] {
  return variables === undefined ? netcdf.variables : [...new Set(variables)].map((name) => netcdf.variable(name))
}

function checkChunks({ dimensions }: NetcdfFile, { chunks = {} }: ImportNetcdfOptions): void {
  const known = dimensions.map(({ name }) => name)
  for (const [name, length] of Object.entries(chunks)) {
    if (!known.includes(name)) {
      const text = `chunks: there is no dimension '${name}'; there are ${known.join(', ') || 'none'}`
      throw new HyperslabError('InvalidArgumentError', text, { actual: name, expected: known })
    }
    checkValue('importNetcdf', `the length of chunks along ${name}`, length, 'integer from 1')
  }
}

/**
 * A variable as the container can have it, where the fill value is the missing one: all missing elements have
 * one value, that of `_FillValue` if there is one. Where nothing is missing there is no fill value.
 */
function withOneMissing(variable: NetcdfVariable): { readonly from: DiskArray; readonly fill: Element | undefined } {
  const { fillValue, source } = variable
  const known = missingElements(source)
  const fill = known.nan && Number.isNaN(fillValue) ? Number.NaN : missingElement(known)
  const isAlone = known.values.length + Number(known.nan) <= 1
  return { from: isAlone ? variable : new DiskArray(missingAs(source, fill!)), fill }
}

/** @param fill what stands for missing elements */
function defineLike(
  file: ArrayFile,
  { name, attrs, dtype, shape, dimensionNames }: NetcdfVariable,
  fill: Element | undefined,
  { chunks = {}, chunkBytes = IMPORT_CHUNK_BYTES }: ImportNetcdfOptions,
): FileArray {
  const given = shape.map((length, axis) => {
    const wanted = chunks[dimensionNames?.[axis] ?? '']
    return wanted === undefined ? undefined : Math.max(1, Math.min(length, wanted))
  })
  // The axes that are left share what the others leave of the size.
  const rest = shape.map((length, axis) => (given[axis] === undefined ? length : 1))
  const elementBytes = bytesOf(dtype) * sizeOf(given.map((length) => length ?? 1))
  const estimated = ChunkGrid.estimate(rest, elementBytes, chunkBytes).chunkShape
  const copy = file.define(name, {
    dtype,
    shape,
    chunkShape: estimated.map((length, axis) => given[axis] ?? length),
    ...(dimensionNames && { dimensionNames }),
    ...(fill !== undefined && { fillValue: fill }),
  })
  for (const key of attrs.keys()) copy.attrs.set(key, attrs.typed(key)!)
  return copy
}

/** An error that speaks of the place, not of the name that is written under. */
function renamed(error: unknown, names: (text: string) => string): unknown {
  if (!isHyperslabError(error) || names(error.message) === error.message) return error
  return new HyperslabError(error.tag, names(error.message), { cause: error })
}

/** That an import failed, and that temporary files of it are left. */
function bothOf(first: unknown, second: unknown): HyperslabError {
  const tag = isHyperslabError(first) ? first.tag : 'StoreError'
  const text = `${messageOf(first)}; temporary files could not be removed: ${messageOf(second)}`
  return new HyperslabError(tag, text, { cause: new AggregateError([first, second]) })
}

/** Removes whatever was written under the other name. */
async function discard(store: Store, draft: Paths): Promise<void> {
  if (store.delete === undefined) return
  for (const number of await listSidecars(store, draft)) await store.delete(draft.sidecar(number))
  await store.delete(draft.base)
  await store.delete(draft.stats)
}
