import { STAGED } from '../../adapters/zarr/write/members.ts'
import { HyperslabError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { publishBytes } from '../../store/publish-bytes.ts'
import type { Store } from '../../store/store.ts'
import { readWhole } from '../../store/whole.ts'
import { asWritable } from '../../store/writer.ts'
import type { Owner } from './owner.ts'
import type { Members, PlaceClaim, Target } from './target.ts'

/** Number of objects copied or removed concurrently. */
const AT_ONCE = 16
const PIECE_BYTES = 8 * 1024 * 1024
/** Maximum size of a journal in bytes. Larger objects are not journals. */
const MOST_BYTES = 256 * 2 ** 20

/** State that is recorded before a switch begins. */
export interface Journal {
  /** Id of the write that the switch completes. */
  readonly id?: string | undefined
  /** Members of the old store. */
  readonly members: Members
  /** Entries of the folder of the old store, without the claimed object. Used by stores that rename. */
  readonly entries: readonly string[]
  /** Whether the new store has an object in place of the claimed one: Zarr of version 2 has none. */
  readonly hasClaimed: boolean
}

/** Objects of a draft in the workspace of a target. Each owner has a draft of its own. */
const journalKey = ({ workspace }: Target, draft: string): string => `${workspace}journal-${draft}.json`
const oldPrefix = ({ workspace }: Target, draft: string): string => `${workspace}old-${draft}/`

/** Returns the prefix of keys of the new objects beside a target. */
export const draftPrefix = ({ workspace }: Target, draft: string): string => `${workspace}new-${draft}/`

/** Name of an object in a workspace, and its draft. A killed writer leaves the lock of its journal. */
const OF_DRAFT = /^(new|old|journal)-([0-9a-f]{24})(\.json(\.lock)?$|\/)/

export async function writeJournal(target: Target, draft: string, known: Omit<Journal, 'hasClaimed'>): Promise<void> {
  const { store, claimed } = target
  const journal: Journal = { ...known, hasClaimed: (await store.stat(draftPrefix(target, draft) + claimed)) !== undefined }
  await asWritable(store).put(journalKey(target, draft), new TextEncoder().encode(JSON.stringify(journal)))
}

/** Whether the write of a draft is complete: it has a journal or a root. Such a write is not resumed. */
export async function isComplete(target: Target, draft: string): Promise<boolean> {
  const { store } = target
  const folder = draftPrefix(target, draft)
  if ((await store.stat(journalKey(target, draft))) !== undefined) return true
  return (await store.list!(folder, { shallow: true })).some((key) => target.isRoot(key.slice(folder.length)))
}

async function readJournal(target: Target, draft: string): Promise<Journal | undefined> {
  const found = await readWhole(target.store, journalKey(target, draft), { maxBytes: MOST_BYTES })
  try {
    return found && (parseJson(found.bytes, 'the journal', { maxBytes: MOST_BYTES, exact: false }) as Journal)
  } catch {
    // The text was truncated when a machine failed, before the place was claimed.
    return undefined
  }
}

/**
 * Removes the old objects of a claimed place, and moves the new ones there. Skips completed steps, so that
 * another process can continue after this one was killed. The claimed object is replaced last.
 * @returns the id of the write and its draft; `undefined` if the claim was taken back
 */
export async function completeSwitch(
  target: Target,
  owner: Owner,
): Promise<{ readonly id?: string | undefined; readonly draft: string } | undefined> {
  const { store, prefix, claimed } = target
  const stat = await store.stat(prefix + claimed)
  const claim = await target.claimNow(undefined)
  if (stat === undefined || claim === undefined) throw gone(store.describe(prefix + claimed))
  const { draft } = claim
  const journal = await readJournal(target, draft)
  const folder = draftPrefix(target, draft)
  const drafts = (await store.list!(folder, { deep: true })).map((key) => key.slice(folder.length))
  if (journal === undefined || (drafts.length === 0 && journal.hasClaimed)) {
    await takeBack(target, owner, claim, stat.etag)
    return undefined
  }
  const move = { target, owner, journal, draft, drafts }
  await (asWritable(store).rename === undefined ? moveObjects(move) : moveEntries(move))
  await owner.check()
  await publishClaimed(target, draft, stat.etag, journal.hasClaimed)
  return { id: journal.id, draft }
}

/**
 * Takes back the claim of an owner that had lost the place before it claimed it. Does nothing if the claimed
 * object was replaced meanwhile, or if its old content is unknown.
 * @returns whether the claim was taken back
 */
export async function takeBackOwn(target: Target, draft: string): Promise<boolean> {
  const stat = await target.store.stat(target.prefix + target.claimed)
  const claim = await target.claimNow(undefined)
  if (stat === undefined || claim?.draft !== draft || claim.replaced === undefined) return false
  await restore(target, claim.replaced, stat.etag)
  return true
}

/**
 * Restores the claimed object. A late owner claims a place after the next owner has removed its draft. It
 * cannot have moved anything, because the draft is removed only when the late owner has lost its claim.
 * @throws ConflictError if the claim does not contain the replaced object
 */
async function takeBack(target: Target, owner: Owner, { draft, replaced }: PlaceClaim, ifMatch: string): Promise<void> {
  const { store } = target
  const aside = await store.list!(oldPrefix(target, draft), { deep: true })
  if (replaced === undefined || aside.length > 0) {
    const text = 'another store was taking this place, and its new content no longer exists; remove the rest'
    throw new HyperslabError('ConflictError', text, { file: store.describe(target.place) })
  }
  await owner.check()
  await restore(target, replaced, ifMatch)
}

async function restore(target: Target, replaced: Uint8Array | 'none', ifMatch: string): Promise<void> {
  const { store, prefix, claimed } = target
  if (replaced === 'none') {
    await removeClaimed(target, ifMatch)
    return
  }
  await publishBytes(store, prefix + claimed, replaced, { ifAbsent: false, ifMatch })
}

async function removeClaimed({ store, prefix, claimed }: Target, ifMatch: string): Promise<void> {
  const { remove } = await asWritable(store).conditionalWrites!(prefix + claimed)
  await asWritable(store).delete(prefix + claimed, remove ? { ifMatch } : {})
}

/** Move of a draft to its place. */
interface Move {
  readonly target: Target
  readonly owner: Owner
  readonly journal: Journal
  readonly draft: string
  /** Names of the new objects. */
  readonly drafts: readonly string[]
}

/** Renames entries of folders: the old ones aside, then the new ones into place. */
async function moveEntries({ target, owner, journal, draft, drafts }: Move): Promise<void> {
  const { store, prefix, claimed, isMetadata } = target
  const [from, old] = [draftPrefix(target, draft), oldPrefix(target, draft)]
  const aside = new Set((await store.list!(old)).map((key) => key.slice(old.length).split('/', 1)[0]!))
  for (const entry of inOrder(journal.entries, isMetadata, true)) {
    if (aside.has(entry)) continue
    await owner.step(
      async () => void (await asWritable(store).rename!(prefix + entry, old + entry)),
      async () => void (await asWritable(store).rename!(old + entry, prefix + entry)),
    )
  }
  for (const entry of inOrder(folderEntries(drafts, claimed), isMetadata, false)) {
    await owner.check()
    // Empty folders and temporary files belong to no store, and would block the rename.
    for (const { key } of (await store.files?.leftovers(`${prefix}${entry}/`, { deep: true })) ?? [])
      await asWritable(store).delete(key)
    await store.files?.removeFolder(`${prefix}${entry}/`)
    await asWritable(store).rename!(from + entry, prefix + entry)
  }
}

/** Returns the entries of a folder that contain objects, without the claimed object. */
export const folderEntries = (names: Iterable<string>, claimed: string): string[] =>
  [...new Set(Array.from(names, (name) => name.split('/', 1)[0]!))].filter((entry) => entry !== claimed && entry !== '')

const inOrder = (names: readonly string[], isMetadata: (name: string) => boolean, isFirst: boolean): string[] => {
  const metadata = names.filter(isMetadata)
  const others = names.filter((name) => !isMetadata(name))
  return isFirst ? [...metadata, ...others] : [...others, ...metadata]
}

/** Removes the old objects and copies the new ones. Metadata are removed first and copied last. */
async function moveObjects({ target, owner, journal, draft, drafts }: Move): Promise<void> {
  const { store, prefix, workspace, claimed, isMetadata, isRoot } = target
  const each = async (names: readonly string[], work: (name: string) => Promise<void>): Promise<void> => {
    await forEachLimited(names, AT_ONCE, async (name) => {
      await owner.check()
      await work(name)
    })
  }
  const wanted = new Set(drafts)
  const names = (await store.list!(prefix, { deep: true }))
    .filter((key) => !key.startsWith(workspace))
    .map((key) => key.slice(prefix.length))
  const belongs = target.membership(journal.members)
  const old = names.filter((name) => name !== claimed && (belongs(name) || wanted.has(name)))
  const canRemove = (await asWritable(store).conditionalWrites!(prefix)).remove
  const remove = async (name: string): Promise<void> => {
    if (!canRemove) return asWritable(store).delete(prefix + name)
    // A process that was paused must not remove the object that its successor has written.
    const now = await store.stat(prefix + name)
    await owner.check()
    if (now !== undefined) await asWritable(store).delete(prefix + name, { ifMatch: now.etag })
  }
  await each(old.filter(isMetadata), remove)
  await each(
    old.filter((name) => !isMetadata(name) && !wanted.has(name)),
    remove,
  )
  // An empty folder can have the name of a new object, in stores that have folders.
  for (const entry of folderEntries(old, claimed)) await store.files?.removeFolder(`${prefix}${entry}/`)
  const added = drafts.filter((name) => name !== claimed)
  const copy = (name: string): Promise<void> => copyObjectWithin(store, draftPrefix(target, draft) + name, prefix + name)
  await each(
    added.filter((name) => !isMetadata(name)),
    copy,
  )
  await each(
    added.filter((name) => isMetadata(name) && !isRoot(name)),
    copy,
  )
  await each(added.filter(isRoot), copy)
}

/** Replaces the claim with the new object, or removes the claim if the new store has no such object. */
async function publishClaimed(target: Target, draft: string, ifMatch: string, isNew: boolean): Promise<void> {
  const { store, prefix, claimed } = target
  if (!isNew) return removeClaimed(target, ifMatch)
  const [from, to] = [draftPrefix(target, draft) + claimed, prefix + claimed]
  const writer = asWritable(store)
  if (writer.rename !== undefined) {
    await writer.rename(from, to, { ifMatch })
    return
  }
  await publishObject(store, from, to, { ifAbsent: false, ifMatch })
}

/**
 * Copies an object to another key of its store.
 * @throws ConflictError if the object no longer exists
 */
export async function copyObjectWithin(store: Store, from: string, to: string, ifMatch?: string): Promise<void> {
  const writer = asWritable(store)
  if (writer.copy !== undefined) {
    if (await writer.copy(from, to, ifMatch === undefined ? {} : { ifMatch })) return
    throw gone(store.describe(from))
  }
  await publishObject(store, from, to, { ifAbsent: false }, ifMatch)
}

async function publishObject(
  store: Store,
  from: string,
  to: string,
  condition: { readonly ifAbsent: boolean; readonly ifMatch?: string },
  version?: string,
): Promise<void> {
  const info = await store.stat(from)
  if (info === undefined || (version !== undefined && info.etag !== version)) throw gone(store.describe(from))
  await store.files?.makeFolder(to)
  const stage = await asWritable(store).stage(to)
  try {
    for (let at = 0; at < info.size; at += PIECE_BYTES) {
      const piece = await store.getRange(from, at, Math.min(PIECE_BYTES, info.size - at), { ifMatch: info.etag })
      if (piece === undefined) throw gone(store.describe(from))
      await stage.append(piece)
    }
    await stage.publish(to, new Uint8Array(0), condition)
  } finally {
    await stage.discard()
  }
}

/** Returns all keys below a folder. Stores do not list temporary objects with the others. */
async function keysBelow(store: Store, folder: string): Promise<string[]> {
  const temporary = (await store.files?.leftovers(folder, { deep: true })) ?? []
  return [...new Set([...(await store.list!(folder, { deep: true })), ...temporary.map(({ key }) => key)])]
}

const isStaged = (key: string): boolean => STAGED.test(key)

const gone = (file: string): HyperslabError =>
  new HyperslabError('ConflictError', 'the object was removed or replaced while it was being copied', { file })

/**
 * Removes the leftovers of drafts beside a target: new objects, and old ones that were moved aside. Objects
 * that belong to neither store are kept.
 * @param isCleared whether a draft is cleared
 */
export async function clearDrafts(target: Target, owner: Owner, isCleared: (draft: string) => boolean): Promise<void> {
  const { store, workspace } = target
  const drafts = new Map<string, string[]>()
  const stray: string[] = []
  for (const key of await keysBelow(store, workspace)) {
    const name = key.slice(workspace.length)
    const draft = OF_DRAFT.exec(name)?.[2]
    if (draft === undefined && name.endsWith('.tmp')) stray.push(key)
    if (draft === undefined || !isCleared(draft)) continue
    const found = drafts.get(draft)
    if (found === undefined) drafts.set(draft, [key])
    else found.push(key)
  }
  const check = (): Promise<void> => owner.check()
  for (const [draft, found] of drafts) await clearDraft(target, draft, found, check)
  await removeAll(target, stray, check)
}

/** Removes objects of one draft. */
async function clearDraft(target: Target, draft: string, keys: readonly string[], check: () => Promise<void>): Promise<void> {
  const { store } = target
  const remove = (removed: readonly string[]): Promise<void> => removeAll(target, removed, check)
  const [journal, next, old] = [journalKey(target, draft), draftPrefix(target, draft), oldPrefix(target, draft)]
  const aside = keys.filter((key) => key.startsWith(old))
  // Without its journal, a draft that did not claim the place cannot be mistaken for a complete one.
  const journals = keys.filter((key) => key.startsWith(journal))
  if (aside.length === 0) await remove(journals)
  const known = aside.length === 0 ? undefined : await readJournal(target, draft)
  const belongs = known && target.membership(known.members)
  const isOurs = (name: string): boolean => isStaged(name) || (belongs !== undefined && (belongs(name) || target.isRoot(name)))
  await remove(keys.filter((key) => key.startsWith(next)))
  await remove(aside.filter((key) => isOurs(key.slice(old.length))))
  await store.files?.removeFolder(next)
  await store.files?.removeFolder(old)
  // Removed last, because it identifies the old objects.
  if (aside.length > 0) await remove(journals)
}

const removeAll = ({ store }: Target, keys: readonly string[], check: () => Promise<void>): Promise<void> =>
  forEachLimited(keys, AT_ONCE, async (key) => {
    await check()
    await asWritable(store).delete(key)
  })

/** Removes temporary objects of a killed attempt, which would otherwise be moved with the others. */
export async function removeStaged(target: Target, draft: string): Promise<void> {
  const keys = await keysBelow(target.store, draftPrefix(target, draft))
  await removeAll(target, keys.filter(isStaged), async () => undefined)
}

/** Removes the objects that an owner wrote, whether or not it still holds the location. */
export async function discardDraft(target: Target, draft: string): Promise<void> {
  const { store, workspace } = target
  const mine = (key: string): boolean => OF_DRAFT.exec(key.slice(workspace.length))?.[2] === draft
  await clearDraft(target, draft, (await keysBelow(store, workspace)).filter(mine), async () => undefined)
}
