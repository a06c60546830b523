import { HyperslabError } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { readWhole, type Store } from '../../store/store.ts'
import type { Owner } from './owner.ts'
import type { Members, Target } from './target.ts'

/** Objects that are copied or removed at the same time. */
const AT_ONCE = 16
const PIECE_BYTES = 8 * 1024 * 1024
/** A journal of more is none of ours. */
const MOST_BYTES = 256 * 2 ** 20

/** What is known of a switch before it begins. */
export interface Journal {
  /** The write that it completes. */
  readonly id?: string | undefined
  /** What the old store has. */
  readonly members: Members
  /** Entries of the folder of the old store, the claimed object left out; stores that rename move them. */
  readonly entries: readonly string[]
}

const JOURNAL = 'journal.json'
const NEW = 'new/'
const OLD = 'old/'

/** The beginning of keys of what is written beside a target. */
export const draftOf = ({ workspace }: Target): string => workspace + NEW

export async function writeJournal({ store, workspace }: Target, journal: Journal): Promise<void> {
  await store.put!(workspace + JOURNAL, new TextEncoder().encode(JSON.stringify(journal)))
}

/** Whether an attempt has come so far that what it has left cannot be gone on with. */
export const isSwitched = async ({ store, workspace }: Target): Promise<boolean> =>
  (await store.stat(workspace + JOURNAL)) !== undefined

async function readJournal({ store, workspace }: Target): Promise<Journal | undefined> {
  const found = await readWhole(store, workspace + JOURNAL, { maxBytes: MOST_BYTES })
  try {
    return found && (JSON.parse(new TextDecoder().decode(found.bytes)) as Journal)
  } catch {
    // Cut off by a machine that failed, before the place was claimed.
    return undefined
  }
}

/**
 * Takes away what is at a claimed place, and moves there what was written beside it. Does only what was not
 * done yet, so that another process can go on after this one was killed. The claimed object is replaced last.
 * @returns the journal of what was done
 */
export async function completeSwitch(target: Target, owner: Owner): Promise<Journal> {
  const { store, prefix, workspace, claimed } = target
  const journal = await readJournal(target)
  const claim = await store.stat(prefix + claimed)
  const drafts = (await store.list!(workspace + NEW, { deep: true })).map((key) => key.slice(workspace.length + NEW.length))
  if (journal === undefined || claim === undefined || drafts.length === 0) {
    const text = 'another store was taking this place, and what it was to be is gone; remove what is left'
    throw new HyperslabError('ConflictError', text, { file: store.describe(target.place) })
  }
  await (store.rename === undefined ? moveObjects(target, owner, journal, drafts) : moveEntries(target, owner, journal, drafts))
  await owner.check()
  await publishClaimed(target, claim.etag, drafts.includes(claimed))
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
    await store.rename!(workspace + NEW + entry, prefix + entry)
  }
}

/** The entries of a folder that objects lie in, without the claimed object. */
export const folderEntries = (names: Iterable<string>, claimed: string): string[] =>
  [...new Set(Array.from(names, (name) => name.split('/', 1)[0]!))].filter((entry) => entry !== claimed && entry !== '')

const inOrder = (names: readonly string[], isMetadata: (name: string) => boolean, isFirst: boolean): string[] => {
  const metadata = names.filter(isMetadata)
  const others = names.filter((name) => !isMetadata(name))
  return isFirst ? [...metadata, ...others] : [...others, ...metadata]
}

/** Removes the old objects and copies the new ones, metadata first and last. */
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

/**
 * Puts what was written in place of the claim, or removes the claim where the new store has no such object.
 */
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
 * @throws ConflictError where it is gone
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
 * Removes what an attempt has left beside a target: what it wrote, and what it moved aside of the old store.
 * Objects that belong to neither stay.
 */
export async function clearWorkspace(target: Target, owner: Owner): Promise<void> {
  const { store, workspace } = target
  const journal = await readJournal(target)
  const keys = new Set(await store.list!(workspace, { deep: true }))
  for (const { key } of (await store.leftovers?.(workspace, { deep: true })) ?? []) keys.add(key)
  const belongs = journal && target.membership(journal.members)
  const isOurs = (name: string): boolean => {
    if (name.startsWith(NEW)) return true
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
  // The last, since it says what is old.
  if (journal !== undefined) await store.delete!(workspace + JOURNAL)
}
