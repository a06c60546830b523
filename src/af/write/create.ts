import { HyperslabError, isHyperslabError, within } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { type PublishCondition, readTail, type Store } from '../../store/store.ts'
import { TRAILER_BYTES } from '../format/footer-trailer.ts'
import type { MergedLayer } from '../format/identity.ts'
import { refuseClaim } from '../format/trailer-faults.ts'
import { type CreateOptions, FILE_CHECKS } from '../layers/file-options.ts'
import { Layer } from '../layers/layer.ts'
import { listSidecars } from '../layers/listed.ts'
import type { Paths } from '../layers/paths.ts'
import { clean, type DeadFile, deadFile } from './clean.ts'
import { isConflict, publishEmpty } from './commit.ts'
import { cleanUp, listed } from './compaction.ts'
import { type ContainerFiles, conditionsOf, newPacker } from './container-files.ts'
import { canWrite } from './working-copy.ts'

const CHECKS: Checks<CreateOptions> = { ...FILE_CHECKS, overwrite: 'boolean' }

/** @throws InvalidArgumentError for unknown options, and as {@link checkName}; ReadOnlyError */
export function checkCreate(store: Store, paths: Paths, options: CreateOptions): void {
  checkOptions('create', options, CHECKS)
  checkName(paths)
  checkWrites(store)
}

/** @throws ReadOnlyError if the store cannot hold a container */
export function checkWrites(store: Store): void {
  if (!canWrite(store)) throw new HyperslabError('ReadOnlyError', 'this store cannot be written')
}

/** @throws InvalidArgumentError for the name of a sidecar */
export function checkName({ base, isSidecar }: Paths): void {
  if (!isSidecar) return
  const text = 'this name is that of a sidecar of another container; choose one without a number before .af'
  throw new HyperslabError('InvalidArgumentError', text, { file: base })
}

/**
 * Publishes an empty base.
 * @throws AlreadyExistsError if a container or a sidecar exists and `overwrite` is not set
 */
export async function createContainer(files: ContainerFiles, overwrite: boolean): Promise<void> {
  if (overwrite) return replaceContainer(files)
  const { store, paths } = files
  await checkFree(store, paths)
  // Left over from an earlier container of this name.
  await store.delete!(paths.stats)
  const kind = await firstKind(files)
  await orAlreadyThere(() => publishBase(files, kind, [], { ifAbsent: true }))
}

/** @throws AlreadyExistsError if a container or a sidecar exists */
export async function checkFree(store: Store, paths: Paths): Promise<void> {
  const sidecars = await listSidecars(store, paths)
  if ((await store.stat(paths.base)) !== undefined) throw alreadyThere('the file exists already', sidecars)
  if (sidecars.length === 0) return
  const names = sidecars.map((number) => paths.sidecar(number)).join(', ')
  throw alreadyThere(`sidecars of an earlier file exist (${names})`, sidecars)
}

/**
 * Returns the kind of the first base. The first flush replaces an initial base, which the store must be able
 * to do on condition.
 */
const firstKind = async (files: ContainerFiles): Promise<'base' | 'initial'> =>
  (await conditionsOf(files)).replace ? 'initial' : 'base'

/**
 * Replaces a container with an empty one. Publishes the new base first: after any later failure, there is
 * either the old container or the new one.
 */
async function replaceContainer(files: ContainerFiles): Promise<void> {
  const { store, paths } = files
  await checkNotClaimed(store, paths)
  const kind = await firstKind(files)
  const { dead, merged } = await leftovers(files)
  await store.delete!(paths.stats)
  const old = await store.stat(paths.base)
  const replaces = kind === 'initial' && old !== undefined
  const base = await publishBase(files, kind, merged, replaces ? { ifAbsent: false, ifMatch: old.etag } : { ifAbsent: false })
  if (kind === 'base' || merged.length === 0) return removeDead(files, dead)
  // First the listed layers are made void, then the list is removed, then the numbers become free. Otherwise
  // a layer that another program writes there later could be mistaken for a listed one.
  await clean(files, dead, Number.POSITIVE_INFINITY)
  try {
    await publishBase(files, kind, [], { ifAbsent: false, ifMatch: base.info.etag })
  } catch (error) {
    // Another writer has already replaced the new base, and handles its list.
    if (isConflict(error)) return
    throw error
  }
  await cleanUp(files)
}

/** Removes the sidecars of a container whose base was replaced by one without layers. */
async function removeDead(files: ContainerFiles, dead: readonly DeadFile[]): Promise<void> {
  const { store, paths } = files
  if (!(await conditionsOf(files)).replace) for (const { number } of dead) await store.delete!(paths.sidecar(number))
  else if (!(await clean(files, dead, 0))) await cleanUp(files)
}

/**
 * Returns the sidecars of the replaced container, including damaged ones, and those of other programs, which
 * name no base.
 */
async function leftovers(files: ContainerFiles): Promise<{ dead: DeadFile[]; merged: MergedLayer[] }> {
  const { store, paths, options } = files
  const dead: DeadFile[] = []
  const layers: Layer[] = []
  for (const number of await listSidecars(store, paths)) {
    const key = paths.sidecar(number)
    try {
      const layer = await Layer.open(store, key, number, options.limits)
      if (layer === undefined) continue
      if (layer.immutable) throw isItself(layer)
      layers.push(layer)
      dead.push(deadFile(layer))
    } catch (error) {
      if (!isHyperslabError(error, 'FormatError', 'IntegrityError', 'UnsupportedError')) throw error
      const info = await store.stat(key)
      if (info !== undefined) dead.push({ number, etag: info.etag, empty: false })
    }
  }
  return { dead, merged: listed(layers) }
}

const publishBase = (
  files: ContainerFiles,
  kind: 'base' | 'initial',
  merged: readonly MergedLayer[],
  condition: { readonly ifAbsent: boolean; readonly ifMatch?: string },
): Promise<Layer> => {
  const { store, paths, options } = files
  const place = { number: 0, base: paths.base }
  return publishEmpty(store, paths.base, place, { kind, merged }, newPacker(files), { ...options, condition })
}

/** @throws AlreadyExistsError if another writer was faster */
export async function orAlreadyThere<T>(publish: () => Promise<T>): Promise<T> {
  try {
    return await publish()
  } catch (error) {
    if (isConflict(error)) throw alreadyThere('another writer has created the file first', [], error)
    throw error
  }
}

/** Returns the error for removing a file of footer version 6: it is not a layer, whatever its name. */
function isItself({ file, number }: Layer): HyperslabError {
  const text = `${file} has the name of a sidecar, but is a file of its own, of footer version 6: move it elsewhere first`
  return new HyperslabError('AlreadyExistsError', text, { actual: number })
}

function alreadyThere(what: string, sidecars: readonly number[], cause?: unknown): HyperslabError {
  const details = { actual: sidecars, ...(cause === undefined ? {} : { cause }) }
  return new HyperslabError('AlreadyExistsError', `${what}; pass overwrite to replace it`, details)
}

/**
 * Publishes a container of a single file. Readers see the old container or this one. If other programs had
 * written layers of the old one, readers may see an empty container for a moment.
 * @param replaced the container that may be replaced; undefined if none may exist
 * @param publish publishes the file on a condition
 * @throws AlreadyExistsError if a container or a sidecar exists that must not be replaced; ConflictError if
 *   its version is not that of `replaced`
 */
export async function publishNew(
  files: ContainerFiles,
  replaced: Replaced | undefined,
  publish: (condition: PublishCondition) => Promise<Layer>,
): Promise<Layer> {
  const { store, paths } = files
  if (replaced === undefined) {
    await checkFree(store, paths)
    // Left over from an earlier container of this name.
    await store.delete!(paths.stats)
    return orAlreadyThere(() => publish({ ifAbsent: true }))
  }
  const { replace } = await conditionsOf(files)
  await checkNotClaimed(store, paths)
  const found = await store.stat(paths.base)
  if (found?.etag !== replaced.etag) throw replacedMeanwhile(store.describe(paths.base))
  const { dead, merged } = await leftovers(files)
  // The new file cannot list layers that name no base.
  if (merged.length > 0) await replaceContainer(files)
  const there = merged.length > 0 ? await store.stat(paths.base) : found
  await store.delete!(paths.stats)
  const isSame = there !== undefined && replace
  const layer = await publish(isSame ? { ifAbsent: false, ifMatch: there.etag } : { ifAbsent: there === undefined })
  if (merged.length === 0) await removeDead(files, dead)
  return layer
}

/** @throws ConflictError for a container that is being replaced by another one */
async function checkNotClaimed(store: Store, paths: Paths): Promise<void> {
  const end = await readTail(store, paths.base, TRAILER_BYTES)
  if (end !== undefined) await within({ file: store.describe(paths.base) }, async () => refuseClaim(end.bytes))
}

/** Container to be replaced, with its version when the work began. */
export interface Replaced {
  /** Version of the container; undefined if it did not exist. */
  readonly etag: string | undefined
}

const replacedMeanwhile = (file: string): HyperslabError => {
  const text = 'another process has replaced or changed this container meanwhile; run the command once more to replace that'
  return new HyperslabError('ConflictError', text, { file })
}
