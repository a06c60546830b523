import { HyperslabError, isHyperslabError, within } from '../../core/errors.ts'
import { type Checks, checkOptions } from '../../core/options.ts'
import { type PublishCondition, readTail, type Store } from '../../store/store.ts'
import { asWritable } from '../../store/writer.ts'
import { endsInMagic, FOOTER_MAGIC, TRAILER_BYTES } from '../format/footer-trailer.ts'
import type { MergedLayer } from '../format/identity.ts'
import { refuseClaim } from '../format/trailer-faults.ts'
import { type CreateOptions, FILE_CHECKS } from '../layers/file-options.ts'
import { Layer } from '../layers/layer.ts'
import { listSidecars } from '../layers/listed.ts'
import type { Paths } from '../layers/paths.ts'
import { clean, type DeadFile, deadFile } from './clean.ts'
import { isConflict, publishEmpty } from './commit.ts'
import { cleanUp, listed } from './compaction.ts'
import { type ContainerFiles, newPacker, requireConditions } from './container-files.ts'
import { checkNewName, checkStats, foreignFile, isContainerEnd, removeStats } from './occupied.ts'
import { canWrite } from './working-copy.ts'

const CHECKS: Checks<CreateOptions> = { ...FILE_CHECKS, overwrite: 'boolean' }

/** @throws InvalidArgumentError for unknown options; ReadOnlyError */
export function checkCreate(store: Store, options: CreateOptions): void {
  checkOptions('create', options, CHECKS)
  checkWrites(store)
}

/** @throws ReadOnlyError if the store cannot hold a container */
export function checkWrites(store: Store): void {
  if (!canWrite(store)) throw new HyperslabError('ReadOnlyError', 'this store cannot be written')
}

/**
 * Publishes an empty base.
 * @throws AlreadyExistsError if a container or a sidecar exists and `overwrite` is not set; errors of
 *   {@link findReplaced}
 */
export async function createContainer(files: ContainerFiles, overwrite: boolean): Promise<void> {
  if (overwrite) return replaceContainer(files)
  const { store, paths } = files
  if (await checkFree(store, paths)) await asWritable(store).delete(paths.stats)
  const kind = await firstKind(files)
  await orAlreadyThere(() => publishBase(files, kind, [], { ifAbsent: true }))
}

/**
 * Checks that the place of a new container is free.
 * @returns whether statistics of an earlier container exist
 * @throws AlreadyExistsError if a container or a sidecar exists, or a file with the name of its statistics
 *   that contains none; InvalidArgumentError for the name of a sidecar
 */
export async function checkFree(store: Store, paths: Paths): Promise<boolean> {
  await checkNewName({ store, path: paths.base })
  const isMeasured = await checkStats(store, paths)
  const sidecars = await listSidecars(store, paths)
  if ((await store.stat(paths.base)) !== undefined) throw alreadyThere('the file exists already', sidecars)
  if (sidecars.length === 0) return isMeasured
  const names = sidecars.map((number) => paths.sidecar(number)).join(', ')
  throw alreadyThere(`sidecars of an earlier file exist (${names})`, sidecars)
}

/**
 * Returns the kind of the first base. The first flush replaces an initial base, which the store must be able
 * to do on condition.
 */
const firstKind = async (files: ContainerFiles): Promise<'base' | 'initial'> =>
  (await requireConditions(files)).replace ? 'initial' : 'base'

/**
 * Replaces a container with an empty one. Publishes the new base first: after any later failure, there is
 * either the old container or the new one.
 */
async function replaceContainer(files: ContainerFiles): Promise<void> {
  const { store, paths } = files
  await findReplaced(store, paths)
  const kind = await firstKind(files)
  const { dead, merged } = await leftovers(files)
  await removeStats(store, paths)
  const { etag } = await findReplaced(store, paths)
  const replaces = kind === 'initial' && etag !== undefined
  const base = await publishBase(files, kind, merged, replaces ? { ifAbsent: false, ifMatch: etag } : { ifAbsent: false })
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
  if (!(await requireConditions(files)).replace)
    for (const { number } of dead) await asWritable(store).delete(paths.sidecar(number))
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
      if (layer.immutable || layer.footer.overlayIndex === 0) throw isItself(layer)
      layers.push(layer)
      dead.push(deadFile(layer))
    } catch (error) {
      if (!isHyperslabError(error, 'FormatError', 'IntegrityError', 'UnsupportedError')) throw error
      const end = await readTail(store, key, TRAILER_BYTES)
      if (end === undefined) continue
      if (end.size > 0 && !endsInMagic(end.bytes, FOOTER_MAGIC))
        throw foreignFile(store.describe(key), 'it does not end as containers do')
      dead.push({ number, etag: end.etag, empty: false })
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

/** Returns the error for removing a file that is no layer, whatever its name. */
function isItself({ file, number, immutable }: Layer): HyperslabError {
  const kind = immutable ? 'of footer version 6' : 'a container by its footer'
  const text = `${file} has the name of a sidecar, but is a file of its own, ${kind}: move it elsewhere first`
  return new HyperslabError('AlreadyExistsError', text, { actual: number })
}

function alreadyThere(what: string, sidecars: readonly number[], cause?: unknown): HyperslabError {
  const details = { actual: sidecars, ...(cause === undefined ? {} : { cause }) }
  return new HyperslabError('AlreadyExistsError', `${what}; \`overwrite\` replaces it`, details)
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
    if (await checkFree(store, paths)) await asWritable(store).delete(paths.stats)
    return orAlreadyThere(() => publish({ ifAbsent: true }))
  }
  const { replace } = await requireConditions(files)
  const found = await findReplaced(store, paths)
  if (found.etag !== replaced.etag) throw replacedMeanwhile(store.describe(paths.base))
  const { dead, merged } = await leftovers(files)
  // The new file cannot list layers that name no base.
  if (merged.length > 0) await replaceContainer(files)
  const { etag } = merged.length > 0 ? await findReplaced(store, paths) : found
  await removeStats(store, paths)
  const isSame = etag !== undefined && replace
  const layer = await publish(isSame ? { ifAbsent: false, ifMatch: etag } : { ifAbsent: etag === undefined })
  if (merged.length === 0) await removeDead(files, dead)
  return layer
}

/**
 * Returns the container that a new one replaces. An empty file counts as one.
 * @throws AlreadyExistsError for a file that is no container; ConflictError for a container that is being
 *   replaced by another one; InvalidArgumentError for the name of a sidecar
 */
export async function findReplaced(store: Store, paths: Paths): Promise<Replaced> {
  const file = store.describe(paths.base)
  await checkNewName({ store, path: paths.base })
  const end = await readTail(store, paths.base, TRAILER_BYTES)
  if (end === undefined) return { etag: undefined }
  await within({ file }, async () => refuseClaim(end.bytes))
  if (end.size > 0 && !isContainerEnd(end)) throw noContainer(file)
  return { etag: end.etag }
}

/** Returns the error for a file at the place of a new container that is none. */
export function noContainer(file: string): HyperslabError {
  const text = '`overwrite` replaces containers, and this file does not end as one; write to another name, or remove it first'
  return new HyperslabError('AlreadyExistsError', text, { file })
}

/** Container to be replaced, with its version when the work began. {@link findReplaced} returns it. */
export interface Replaced {
  /** Version of the container; undefined if it did not exist. */
  readonly etag: string | undefined
}

const replacedMeanwhile = (file: string): HyperslabError => {
  const text = 'another process has replaced or changed this container meanwhile; run the command once more to replace that'
  return new HyperslabError('ConflictError', text, { file })
}
