import { HyperslabError, isHyperslabError, messageOf } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import { unlinked } from '../../store/confined.ts'
import { publishBytes } from '../../store/publish-bytes.ts'
import type { StoredAt } from '../../store/store.ts'
import { isWritable } from '../../store/writable.ts'
import { findConditionalWrites } from '../../store/writer.ts'
import { checkApart, checkApartByMarker } from './apart.ts'
import { checkReplacing } from './file.ts'
import { Owner } from './owner.ts'
import {
  clearDrafts,
  completeSwitch,
  discardDraft,
  draftPrefix,
  folderEntries,
  isComplete,
  removeStaged,
  takeBackOwn,
  writeJournal,
} from './switch.ts'
import type { Survey, Target } from './target.ts'

/** Options of a replacement. */
export interface ReplaceOptions {
  /** Name of the command that completes an interrupted replacement, as errors show it. */
  readonly command: string
  /** Id of the write. An interrupted write is resumed by the next one with the same id. */
  readonly id?: string | undefined
  /**
   * Whether the id also identifies the content, so that a completed write of another process is not repeated.
   */
  readonly isVersioned?: boolean
  /** Locations that are read meanwhile. */
  readonly sources?: readonly StoredAt[] | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

/**
 * Replaces the content of a place. All new objects are written beside the old ones first, and then the two
 * are exchanged. A failure or a kill before the exchange keeps the old content. A kill during the exchange
 * leaves a place that readers refuse, and that the next replacement completes.
 * @param write writes the new content, under keys with the given prefix
 * @throws AlreadyExistsError if the place contains anything else; UnsupportedError for stores without
 *   conditional replacement; ReadOnlyError; InvalidArgumentError for a source that is the target, lies in it
 *   or contains it; ConflictError if another process replaces the place
 */
export async function replace(
  given: Target,
  { command, id, isVersioned = false, sources = [], signal }: ReplaceOptions,
  write: (prefix: string, check: OwnerCheck) => Promise<void>,
): Promise<void> {
  const target = guardedTarget(given)
  const { store, workspace, place } = target
  checkStore(target)
  for (const source of sources) await checkApart(source, { store: given.store, path: place })
  const before = await surveyFree(target, signal)
  await checkReplacing({ store, path: place })
  const owner = await Owner.take(store, ownerKey(target), id, signal)
  const isOver = (each: string): boolean => !owner.isUncertain(each)
  /** Whether the written objects are kept, so that another process can resume. */
  let isKept = before.state === 'replacing'
  let isClaiming = false
  try {
    let old = before
    if (before.state === 'replacing') {
      const completed = await switchOver(target, owner)
      isKept = false
      // Its owner has claimed the location already, and may still copy objects of the draft.
      if (completed !== undefined) await clearDrafts(target, owner, (each) => each === completed.draft)
      if (isVersioned && completed !== undefined && completed.id === id) {
        await clearDrafts(target, owner, isOver)
        return
      }
      old = await target.survey(signal)
    }
    // Another process may have replaced the place before this one claimed it.
    await checkSame(target, old, signal)
    if (await isComplete(target, owner.draft)) await owner.beginAnew()
    const { draft } = owner
    await clearDrafts(target, owner, (each) => each !== draft && isOver(each))
    for (const source of sources) await checkApartByMarker(source, target, old, owner.token, signal)
    isKept = id !== undefined
    await write(draftPrefix(target, draft), () => owner.check())
    const now = await checkSame(target, old, signal)
    await removeStaged(target, draft)
    await owner.check()
    await writeJournal(target, draft, { id, members: now.members, entries: folderEntries(now.names, target.claimed) })
    signal?.throwIfAborted()
    await owner.check(true)
    isClaiming = true
    await claim(target, now, command, draft)
    // Nothing is discarded from here on.
    isKept = true
    await checkOwn(target, owner)
    if ((await switchOver(target, owner)) === undefined) throw halfReplaced(store.describe(place))
    await clearDrafts(target, owner, isOver)
    isKept = false
  } catch (error) {
    if (isKept) throw error
    // A claim whose answer was lost may still arrive.
    isKept = isClaiming && (!isHyperslabError(error, 'ConflictError') || !(await isUnclaimed(target)))
    if (!isKept) await discard(target, owner.draft, error)
    throw error
  } finally {
    await owner.release(isKept).catch(() => undefined)
    if (!isKept) await store.files?.removeFolder(workspace).catch(() => undefined)
  }
}

/** Returns the same target, which writes, removes and moves nothing behind a link in its folder. */
const guardedTarget = (target: Target): Target => {
  const { store, prefix } = target
  return { ...target, store: unlinked(store, prefix.slice(0, prefix.lastIndexOf('/') + 1)) }
}

/**
 * Runs work that changes a place. Metadata above it follow before, so that they never describe new chunks as
 * old ones, and after it.
 */
async function followed<T>(target: Target, work: () => Promise<T>): Promise<T> {
  await target.follow?.()
  const result = await work()
  await target.follow?.()
  return result
}

/** Completes the switch of a claimed place. Metadata above it describe nothing there meanwhile. */
const switchOver = (target: Target, owner: Owner): ReturnType<typeof completeSwitch> =>
  followed(target, () => completeSwitch(target, owner))

/**
 * Checks, after the claim, that the owner had not lost the location before. Otherwise the claim is taken
 * back.
 * @throws ConflictError
 */
async function checkOwn(target: Target, owner: Owner): Promise<void> {
  try {
    await owner.check(true)
  } catch (error) {
    await takeBackOwn(target, owner.draft)
    throw error
  }
}

/** Throws a ConflictError if another process has taken over the location. */
export type OwnerCheck = () => Promise<void>

/**
 * Runs work that writes to a place while no other process writes or replaces it, if the store can exclude
 * other processes. Metadata above the place follow, before the work and after it.
 * @throws ConflictError if another process holds the place
 */
export async function alone<T>(given: Target, signal: Signal | undefined, work: (check: OwnerCheck) => Promise<T>): Promise<T> {
  const target = guardedTarget(given)
  const { store, workspace, place } = target
  if (store.list === undefined || (await findConditionalWrites(store, place))?.replace !== true)
    return followed(target, () => work(async () => undefined))
  const owner = await Owner.take(store, ownerKey(target), undefined, signal)
  try {
    if ((await target.claimNow(signal)) !== undefined) throw halfReplaced(store.describe(place))
    const result = await followed(target, () => work(() => owner.check()))
    // Removes the rest of a replacement that was killed earlier.
    await clearDrafts(target, owner, (each) => !owner.isUncertain(each))
    return result
  } finally {
    await owner.release(false).catch(() => undefined)
    await store.files?.removeFolder(workspace).catch(() => undefined)
  }
}

function halfReplaced(file: string): HyperslabError {
  const text = 'another store is taking this place, and its command was ended; run that command once more, with `overwrite`'
  return new HyperslabError('ConflictError', text, { file })
}

/** Removes the claim of a process that was killed after its last write. Failures are ignored. */
export async function removeClaim(target: Target): Promise<void> {
  if ((await target.store.stat(ownerKey(target))) === undefined) return
  await alone(target, undefined, async () => undefined).catch((error: unknown) => {
    if (!isHyperslabError(error, 'ConflictError')) throw error
  })
}

const ownerKey = ({ workspace }: Target): string => `${workspace}owner.json`

/**
 * Surveys the place before it is owned. The objects of a place that another process replaces meanwhile can
 * look like those of another kind, so an error counts only if the next survey repeats it.
 * @throws ConflictError if another process is replacing the place
 */
async function surveyFree(target: Target, signal: Signal | undefined): Promise<Survey> {
  try {
    return await target.survey(signal)
  } catch (error) {
    signal?.throwIfAborted()
    await Owner.checkFree(target.store, ownerKey(target), error, signal)
    return target.survey(signal)
  }
}

/** Whether the place is certainly unclaimed. A claim may have succeeded even if its answer was lost. */
async function isUnclaimed(target: Target): Promise<boolean> {
  try {
    return (await target.survey(undefined)).state !== 'replacing'
  } catch (error) {
    return isHyperslabError(error, 'AlreadyExistsError')
  }
}

/**
 * Surveys the place again.
 * @throws ConflictError if its root metadata were replaced since
 */
async function checkSame(target: Target, { state, roots }: Survey, signal: Signal | undefined): Promise<Survey> {
  const now = await target.survey(signal)
  const isSame =
    now.state === state && now.roots.size === roots.size && [...roots].every(([name, etag]) => now.roots.get(name) === etag)
  if (isSame) return now
  const text = 'another process has changed what is at this place meanwhile; run the command once more to replace that'
  throw new HyperslabError('ConflictError', text, { file: target.store.describe(target.place) })
}

/** Claims the location. From then on, readers refuse it. */
async function claim(target: Target, { roots }: Survey, command: string, draft: string): Promise<void> {
  const { store, prefix, claimed } = target
  const ifMatch = roots.get(claimed)
  await store.files?.makeFolder(prefix + claimed)
  const condition = ifMatch === undefined ? { ifAbsent: true } : { ifAbsent: false, ifMatch }
  await publishBytes(store, prefix + claimed, await target.claim(command, draft), condition)
}

/** @throws ReadOnlyError, UnsupportedError */
function checkStore({ store, place }: Target): void {
  const file = store.describe(place)
  if (!isWritable(store)) throw new HyperslabError('ReadOnlyError', 'nothing can be written there', { file })
  if (store.list === undefined)
    throw new HyperslabError('UnsupportedError', 'a place that cannot be listed cannot be replaced: write to another place', {
      file,
    })
}

async function discard(target: Target, draft: string, error: unknown): Promise<void> {
  try {
    await discardDraft(target, draft)
  } catch (left) {
    const text = `${messageOf(error)}; what was written could not be removed: ${messageOf(left)}`
    throw new HyperslabError('StoreError', text, { cause: new AggregateError([error, left]) })
  }
}
