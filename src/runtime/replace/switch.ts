import { HyperslabError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { readWhole, type Store } from '../../store/store.ts'
import type { Owner } from './owner.ts'
import type { Members, Target } from './target.ts'

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

const JOURNAL = 'journal.json'
const NEW = 'new/'
const OLD = 'old/'

/** Returns the prefix of keys of the new objects beside a target. */
export const draftOf = ({ workspace }: Target): string => workspace + NEW

export async function writeJournal(target: Target, known: Omit<Journal, 'hasClaimed'>): Promise<void> {
  const { store, workspace, claimed } = target
  const journal: Journal = { ...known, hasClaimed: (await store.stat(draftOf(target) + claimed)) !== undefined }
  await store.put!(workspace + JOURNAL, new TextEncoder().encode(JSON.stringify(journal)))
}

/** Whether an attempt has written its journal. The write can then no longer be resumed. */
export const isSwitched = async ({ store, workspace }: Target): Promise<boolean> =>
  (await store.stat(workspace + JOURNAL)) !== undefined

async function readJournal({ store, workspace }: Target): Promise<Journal | undefined> {
  const found = await readWhole(store, workspace + JOURNAL, { maxBytes: MOST_BYTES })
  try {
    return found && (parseJson(found.bytes, JOURNAL, { maxBytes: MOST_BYTES, exact: false }) as Journal)
  } catch {
    // The text was truncated when a machine failed, before the place was claimed.
    return undefined
  }
}

/**
 * Removes the old objects of a claimed place, and moves the new ones there. Skips completed steps, so that
 * another process can continue after this one was killed. The claimed object is replaced last.
 * @returns the journal of the switch
 */
export async function completeSwitch(target: Target, owner: Owner): Promise<Journal> {
  const { store, prefix, workspace, claimed } = target
  const journal = await readJournal(target)
  const claim = await store.stat(prefix + claimed)
  const drafts = (await store.list!(workspace + NEW, { deep: true })).map((key) => key.slice(workspace.length + NEW.length))
  if (journal === undefined || claim === undefined || (drafts.length === 0 && journal.hasClaimed)) {
    const text = 'another store was taking this place, and what it was to be is gone; remove what is left'
    throw new HyperslabError('ConflictError', text, { file: store.describe(target.place) })
  }
  await (store.rename === undefined ? moveObjects(target, owner, journal, drafts) : moveEntries(target, owner, journal, drafts))
  await owner.check()
  await publishClaimed(target, claim.etag, journal.hasClaimed)
  return journal
}

/** Renames entries of folders: the old ones aside, then the new ones into place. */
async function moveEntries(target: Target, owner: Owner, journal: Journal, drafts: readonly string[]): Promise<void> {
  const { store, prefix, workspace, claimed, isMetadata } = target
  const firstOf = (name: string): string => name.split('/', 1)[0]!
  const aside = new Set((await store.list!(workspace + OLD)).map((key) => firstOf(key.slice(workspace.length + OLD.length))))
  for (const entry of inOrder(journal.entries, isMetadata, true)) {
    await owner.check()
    if (!aside.has(entry)) await store.rename!(prefix + entry, workspace + OLD + entry)
  }
  for (const entry of inOrder(folderEntries(drafts, claimed), isMetadata, false)) {
    await owner.check()
    // Folders without files are no part of any store, and stand in the way.
    await store.removeFolder?.(`${prefix}${entry}/`)
    await store.rename!(workspace + NEW + entry, prefix + entry)
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
async function moveObjects(target: Target, owner: Owner, { members }: Journal, drafts: readonly string[]): Promise<void> {
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
  const belongs = target.membership(members)
  const old = names.filter((name) => name !== claimed && (belongs(name) || wanted.has(name)))
  const remove = (name: string): Promise<void> => store.delete!(prefix + name)
  await each(old.filter(isMetadata), remove)
  await each(
    old.filter((name) => !isMetadata(name) && !wanted.has(name)),
    remove,
  )
  const added = drafts.filter((name) => name !== claimed)
  const copy = (name: string): Promise<void> => copyObjectWithin(store, workspace + NEW + name, prefix + name)
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
async function publishClaimed({ store, prefix, workspace, claimed }: Target, ifMatch: string, isNew: boolean): Promise<void> {
  const [from, to] = [workspace + NEW + claimed, prefix + claimed]
  if (!isNew) {
    const { remove } = await store.conditionalWrites!(to)
    return store.delete!(to, remove ? { ifMatch } : {})
  }
  if (store.rename !== undefined) {
    await store.rename(from, to, { ifMatch })
    return
  }
  await publishObject(store, from, to, { ifAbsent: false, ifMatch })
}

/**
 * Copies an object to another key of its store.
 * @throws ConflictError if the object no longer exists
 */
export async function copyObjectWithin(store: Store, from: string, to: string, ifMatch?: string): Promise<void> {
  if (store.copy !== undefined) {
    if (await store.copy(from, to, ifMatch === undefined ? {} : { ifMatch })) return
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
  await store.makeFolder?.(to)
  const stage = await store.stage!(to)
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

const gone = (file: string): HyperslabError =>
  new HyperslabError('ConflictError', 'the object was removed or replaced while it was being copied', { file })

/**
 * Removes the leftovers of an attempt beside a target: its new objects, and the old ones that it moved aside.
 * Objects that belong to neither store are kept.
 */
export async function clearWorkspace(target: Target, owner: Owner): Promise<void> {
  const { store, workspace } = target
  const journal = await readJournal(target)
  const keys = new Set(await store.list!(workspace, { deep: true }))
  const temporary = new Set(((await store.leftovers?.(workspace, { deep: true })) ?? []).map(({ key }) => key))
  for (const key of temporary) keys.add(key)
  const belongs = journal && target.membership(journal.members)
  const isOurs = (name: string): boolean => {
    if (name.startsWith(NEW) || temporary.has(workspace + name)) return true
    if (!name.startsWith(OLD)) return name.endsWith('.tmp')
    const old = name.slice(OLD.length)
    return belongs !== undefined && (belongs(old) || target.isRoot(old))
  }
  const names = [...keys].map((key) => key.slice(workspace.length)).filter(isOurs)
  await forEachLimited(names, AT_ONCE, async (name) => {
    await owner.check()
    await store.delete!(workspace + name)
  })
  await store.removeFolder?.(workspace + NEW)
  await store.removeFolder?.(workspace + OLD)
  // Removed last, because it identifies the old objects.
  if (journal !== undefined) await store.delete!(workspace + JOURNAL)
}
