import { HyperslabError, isHyperslabError, messageOf } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import type { StoredAt } from '../place-format.ts'
import { checkApart, checkApartByMarker } from './apart.ts'
import { checkReplacing } from './file.ts'
import { Owner } from './owner.ts'
import { clearWorkspace, completeSwitch, draftOf, folderEntries, isSwitched, writeJournal } from './switch.ts'
import type { Survey, Target } from './target.ts'

/** Options of a replacement. */
export interface ReplaceOptions {
  /** The command, as errors name it for what it leaves when it is killed. */
  readonly command: string
  /** Tells the write from others: one that was ended is gone on with by the next of the same id. */
  readonly id?: string | undefined
  /** Whether the id tells all that is written: what another process has completed is not written again. */
  readonly isVersioned?: boolean
  /** Places that are read meanwhile. */
  readonly sources?: readonly StoredAt[] | undefined
  readonly signal?: Signal | undefined
}

/**
 * Replaces what is at a place: all of the new is written beside it first, then the two change places. Before
 * that, whatever fails or is killed leaves the old. A process that is killed while they change places leaves
 * a place that readers refuse, and that the next replacement completes.
 * @param write writes the new, under keys with the beginning that it is given
 * @throws AlreadyExistsError where something else is at the place than what is replaced; UnsupportedError for
 *   stores that do not replace objects on condition; ReadOnlyError; InvalidArgumentError for a source that is
 *   the target, or lies in it or around it; ConflictError where another process replaces it
 */
export async function replace(
  target: Target,
  { command, id, isVersioned = false, sources = [], signal }: ReplaceOptions,
  write: (prefix: string, check: OwnerCheck) => Promise<void>,
): Promise<void> {
  const { store, workspace, place } = target
  checkStore(target)
  for (const source of sources) await checkApart(source, { store, path: place })
  const before = await target.survey(signal)
  await checkReplacing({ store, path: place })
  const owner = await Owner.take(store, ownerOf(target), id, signal)
  /** Whether what is written stays for another process to go on with. */
  let isKept = before.state === 'replacing'
  let isClaiming = false
  try {
    let old = before
    if (before.state === 'replacing') {
      const { id: completed } = await completeSwitch(target, owner)
      await clearWorkspace(target, owner)
      isKept = false
      if (isVersioned && completed === id) return
      old = await target.survey(signal)
    }
    // Another process may have replaced it before this one took it.
    await checkSame(target, old, signal)
    const isBegun = id !== undefined && owner.before === id && !(await isSwitched(target))
    if (!isBegun) await clearWorkspace(target, owner)
    for (const source of sources) await checkApartByMarker(source, target, old, owner.token, signal)
    isKept = id !== undefined
    await write(draftOf(target), () => owner.check())
    const now = await checkSame(target, old, signal)
    await removeLeftovers(target)
    await owner.check()
    await writeJournal(target, { id, members: now.members, entries: folderEntries(now.names, target.claimed) })
    signal?.throwIfAborted()
    await owner.check(true)
    isClaiming = true
    await claim(target, now, command)
    // Nothing is given up any more.
    isKept = true
    await completeSwitch(target, owner)
    await clearWorkspace(target, owner)
    isKept = false
  } catch (error) {
    if (isKept) throw error
    isKept = isClaiming && !(await isUnclaimed(target))
    if (!isKept) await discard(target, owner, error)
    throw error
  } finally {
    await owner.release(isKept).catch(() => undefined)
    if (!isKept) await store.removeFolder?.(workspace).catch(() => undefined)
  }
}

/** Throws a ConflictError where another process has taken the place over. */
export type OwnerCheck = () => Promise<void>

/**
 * Does work that writes to a place while no other process writes or replaces it, where the store can keep
 * others out.
 * @throws ConflictError where another process has the place
 */
export async function alone<T>(target: Target, signal: Signal | undefined, work: (check: OwnerCheck) => Promise<T>): Promise<T> {
  const { store, workspace, place } = target
  if (store.list === undefined || (await store.conditionalWrites?.(place))?.replace !== true) return work(async () => undefined)
  const owner = await Owner.take(store, ownerOf(target), undefined, signal)
  try {
    const result = await work(() => owner.check())
    // Of a replacement that was killed before this.
    await clearWorkspace(target, owner)
    return result
  } finally {
    await owner.release(false).catch(() => undefined)
    await store.removeFolder?.(workspace).catch(() => undefined)
  }
}

/** Removes the claim of a process that was killed after all was written. Its answer decides nothing. */
export async function removeClaim(target: Target): Promise<void> {
  if ((await target.store.stat(ownerOf(target))) === undefined) return
  await alone(target, undefined, async () => undefined).catch((error: unknown) => {
    if (!isHyperslabError(error, 'ConflictError')) throw error
  })
}

const ownerOf = ({ workspace }: Target): string => `${workspace}owner.json`

/**
 * Whether the place is certainly not claimed. A claim may have been carried out though its answer was lost.
 */
async function isUnclaimed(target: Target): Promise<boolean> {
  try {
    return (await target.survey(undefined)).state !== 'replacing'
  } catch (error) {
    return isHyperslabError(error, 'AlreadyExistsError')
  }
}

/**
 * Surveys the place once more.
 * @throws ConflictError where what says what is there was replaced since
 */
async function checkSame(target: Target, { state, roots }: Survey, signal: Signal | undefined): Promise<Survey> {
  const now = await target.survey(signal)
  const isSame =
    now.state === state && now.roots.size === roots.size && [...roots].every(([name, etag]) => now.roots.get(name) === etag)
  if (isSame) return now
  const text = 'another process has changed what is at this place meanwhile; run the command once more to replace that'
  throw new HyperslabError('ConflictError', text, { file: target.store.describe(target.place) })
}

/** From here on, readers refuse the place. */
async function claim(target: Target, { roots }: Survey, command: string): Promise<void> {
  const { store, prefix, claimed } = target
  const ifMatch = roots.get(claimed)
  await store.makeFolder?.(prefix + claimed)
  const stage = await store.stage!(prefix + claimed)
  try {
    const condition = ifMatch === undefined ? { ifAbsent: true } : { ifAbsent: false, ifMatch }
    await stage.publish(prefix + claimed, target.claim(command), condition)
  } finally {
    await stage.discard()
  }
}

/** @throws ReadOnlyError, UnsupportedError */
function checkStore({ store, place }: Target): void {
  const file = store.describe(place)
  if (store.put === undefined || store.stage === undefined || store.delete === undefined)
    throw new HyperslabError('ReadOnlyError', 'nothing can be written there', { file })
  if (store.list === undefined)
    throw new HyperslabError('UnsupportedError', 'what cannot be listed is not replaced: write to another place', { file })
}

/** Temporary objects of an attempt that was killed would be moved with the others. */
async function removeLeftovers(target: Target): Promise<void> {
  const { store } = target
  for (const { key } of (await store.leftovers?.(draftOf(target), { deep: true })) ?? []) await store.delete!(key)
}

async function discard(target: Target, owner: Owner, error: unknown): Promise<void> {
  try {
    await clearWorkspace(target, owner)
  } catch (left) {
    const text = `${messageOf(error)}; what was written could not be removed: ${messageOf(left)}`
    throw new HyperslabError('StoreError', text, { cause: new AggregateError([error, left]) })
  }
}
