import { HyperslabError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { raceAbort, type Signal } from '../../core/signal.ts'
import { randomName } from '../conditions.ts'
import { errorCode, fileError } from './errors.ts'
import { type FileSystem, folderOf, openForReading, orMissingSync } from './file-system.ts'
import { toEtag } from './local-file.ts'
import { isTemporary, lockName, temporaryName } from './names.ts'

declare const process: { readonly pid: number; kill(pid: number, signal: 0): void }
declare function setTimeout(callback: () => void, ms: number): unknown

/**
 * Time after which a lock expires, in ms. A lock is held for a few system calls, so only a suspended process
 * comes near it.
 */
export const LOCK_LEASE_MS = 30_000

/** Longest wait before a held lock is checked again, in ms. */
const LONGEST_WAIT_MS = 50

/**
 * Content of a lock file, as JSON. A file that a crash or a full disk cut short is a lock, too, but has no
 * content.
 */
interface Holder {
  /** Random text. */
  readonly token?: unknown
  readonly pid?: unknown
  /** Machine on which `pid` is valid. */
  readonly machine?: unknown
  /** Time when the lock was taken, in ms since 1970. */
  readonly time?: unknown
  /** Name, in the same folder, of the file that the holder is about to rename. */
  readonly staged?: unknown
}

/** A lock file of some holder. */
interface Found {
  /** Identifies this lock among all that had this name. */
  readonly id: string
  /** Whether the file may be a lock of this package. */
  readonly isOwn: boolean
  readonly holder: Holder
  /** Time when the lock was taken, in ms since 1970. */
  readonly time: number
}

/**
 * Runs `work` while this process holds the lock of `path`. From taking the lock to its release, no other code
 * of this thread runs. Between the last check of the lock and `work` there is no system call.
 *
 * The lock is a file that is created exclusively. One whose process is dead, or that is older than {@link
 * LOCK_LEASE_MS}, is taken over. First, the file that its holder was about to rename is removed, so that a
 * holder that continues cannot rename it any more. Then the lock is moved aside, which only one process can
 * do.
 * @param staged the file that `work` will rename, in the same folder
 * @throws StoreError, ReadOnlyError when the lock cannot be taken; errors of `work`
 */
export async function underLock<T>(
  fs: FileSystem,
  path: string,
  work: () => T,
  { staged, signal }: { readonly staged?: string; readonly signal?: Signal | undefined } = {},
): Promise<T> {
  const seen = new Map<string, number>()
  const held = await hold(fs, path)
  try {
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted()
      const outcome = tryLocked(fs, path, work, staged, seen)
      if (outcome !== undefined) return outcome.result
      // The random half spreads the retries of several processes.
      const wait = Math.min(2 ** tries, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2)
      await raceAbort(new Promise<void>((resolve) => setTimeout(resolve, wait)), signal)
    }
  } finally {
    if (held !== undefined) await new Promise<void>((resolve) => fs.close(held, () => resolve()))
  }
}

/**
 * Opens the file that `work` is about to replace or remove. The system frees its space with the last handle,
 * which is slow. Closing the handle later moves this to another thread.
 */
async function hold(fs: FileSystem, path: string): Promise<number | undefined> {
  // Windows lacks this flag, and does not replace open files.
  if (fs.constants.O_NONBLOCK === undefined) return undefined
  return openForReading(fs, path).catch(() => undefined)
}

/**
 * Tries once to run `work` under the lock; returns `undefined` if another process holds the lock.
 * @param seen time when each foreign lock was first seen
 */
function tryLocked<T>(
  fs: FileSystem,
  path: string,
  work: () => T,
  staged: string | undefined,
  seen: Map<string, number>,
): { result: T } | undefined {
  const lock = lockName(path)
  let id: string | undefined
  try {
    id = take(fs, lock, staged) ?? (clear(fs, lock, seen) ? take(fs, lock, staged) : undefined)
    if (id === undefined) return undefined
    const taken = Date.now()
    // Another process may have taken over the lock while this process was suspended, or be about to.
    if (look(fs, lock)?.id !== id || Math.abs(Date.now() - taken) > LOCK_LEASE_MS / 2) return undefined
    return { result: work() }
  } catch (error) {
    throw fileError(path, 'written', error)
  } finally {
    if (id !== undefined) giveBack(fs, lock, id)
  }
}

/** Takes the lock. @returns its id; `undefined` if another process holds it */
function take(fs: FileSystem, lock: string, staged: string | undefined): string | undefined {
  let file: number
  try {
    file = fs.openSync(lock, 'wx')
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return undefined
    throw error
  }
  try {
    try {
      const text = write(fs, file, staged)
      return toLockId(text, fs.fstatSync(file, { bigint: true }))
    } finally {
      fs.closeSync(file)
    }
  } catch (error) {
    orMissingSync(() => fs.unlinkSync(lock))
    throw error
  }
}

/** Writes the content of a lock file. @returns the content */
function write(fs: FileSystem, file: number, staged: string | undefined): string {
  const name = staged?.slice(folderOf(staged).length)
  const holder: Holder = { token: randomName(), pid: process.pid, machine: machine(fs), time: Date.now(), staged: name }
  const text = JSON.stringify(holder)
  // `writeSync` counts bytes, and names may have more bytes than characters.
  const bytes = new TextEncoder().encode(text)
  try {
    if (fs.writeSync(file, bytes) === bytes.length) return text
  } catch (error) {
    // Files can still be removed on a full disk. The missing content only delays other processes in taking
    // over the lock.
    if (staged === undefined && ['ENOSPC', 'EDQUOT'].includes(errorCode(error))) return ''
    throw error
  }
  throw Object.assign(new Error('the file of the lock was cut short'), { code: 'ENOSPC' })
}

function look(fs: FileSystem, lock: string): Found | undefined {
  const file = orMissingSync(() => fs.openSync(lock, 'r'))
  if (file === undefined) return undefined
  try {
    const text = fs.readFileSync(file, 'utf8')
    const stats = fs.fstatSync(file, { bigint: true })
    const holder = parsed(text)
    return {
      id: toLockId(text, stats),
      isOwn: isOwnText(text),
      holder,
      time: typeof holder.time === 'number' ? holder.time : Number(stats.mtimeMs),
    }
  } finally {
    fs.closeSync(file)
  }
}

/** Start of the text of every lock. */
const START = '{"token":"'

/** Whether a text is that of a lock, or the beginning of one that a crash or a full disk cut short. */
const isOwnText = (text: string): boolean => text.startsWith(START) || START.startsWith(text) || !/[^\0]/.test(text)

/** Returns the id of a lock: its random content, or its version if it is empty. */
const toLockId = (text: string, stats: Parameters<typeof toEtag>[0]): string => text || toEtag(stats)

function parsed(text: string): Holder {
  try {
    const value: unknown = parseJson(text, 'the lock', { exact: false })
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}

/**
 * Removes a lock file whose holder has ended or whose lease has expired.
 * @returns whether taking the lock may succeed now
 * @throws StoreError for a file that is no lock, which is left alone
 */
function clear(fs: FileSystem, lock: string, seen: Map<string, number>): boolean {
  const found = look(fs, lock)
  if (found === undefined) return true
  if (!found.isOwn) {
    const text = 'this file has the name of a lock, but its content is not that of one; move it elsewhere, then write again'
    throw new HyperslabError('StoreError', text, { file: lock })
  }
  const first = seen.get(found.id) ?? Date.now()
  seen.set(found.id, first)
  // Clocks of machines may differ. A lock that was visible for the whole lease is expired, regardless of its
  // time.
  const age = Math.max(Date.now() - found.time, Date.now() - first)
  if (age <= LOCK_LEASE_MS && !isDead(fs, found.holder)) return false
  const { staged } = found.holder
  if (typeof staged === 'string' && isTemporary(staged) && folderOf(staged) === '')
    orMissingSync(() => fs.unlinkSync(folderOf(lock) + staged))
  const aside = temporaryName(lock)
  const moved = orMissingSync(() => {
    fs.renameSync(lock, aside)
    return true
  })
  if (moved === undefined) return true
  // If another process was faster, this is its lock.
  if (look(fs, aside)?.id !== found.id) restore(fs, aside, lock)
  orMissingSync(() => fs.unlinkSync(aside))
  return true
}

function restore(fs: FileSystem, aside: string, lock: string): void {
  try {
    fs.linkSync(aside, lock)
  } catch (error) {
    // A third process has taken the lock meanwhile. The owner of the moved lock notices this before it acts.
    if (errorCode(error) === 'EEXIST') return
    if (orMissingSync(() => fs.lstatSync(lock)) === undefined) orMissingSync(() => fs.renameSync(aside, lock))
  }
}

function giveBack(fs: FileSystem, lock: string, id: string): void {
  try {
    if (look(fs, lock)?.id === id) fs.unlinkSync(lock)
  } catch {
    // Ignored: the work is done or has its own error, and the lock expires.
  }
}

let known: string | undefined

/** Identification of a process that holds a lock or a claim. */
export type HoldingProcess = Pick<Holder, 'pid' | 'machine'>

/** Returns the identification of this process, without a machine if it is unknown. */
export const thisProcess = (fs: FileSystem): { readonly pid: number; readonly machine: string } => ({
  pid: process.pid,
  machine: machine(fs),
})

/** Returns an identifier of one boot of this machine. Throws if there is none. */
export const bootId = (fs: FileSystem): string => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()

/** Returns an identifier of one boot of one machine and its name space of process ids; empty if unknown. */
function machine(fs: FileSystem): string {
  if (known !== undefined) return known
  try {
    // Deno would ask the user for permission.
    known = 'Deno' in globalThis ? '' : bootId(fs) + fs.readlinkSync('/proc/self/ns/pid')
  } catch {
    known = ''
  }
  return known
}

/** Whether a process of this machine has ended; false for processes of other machines. */
export function isDead(fs: FileSystem, { pid, machine: where }: HoldingProcess): boolean {
  if (typeof pid !== 'number' || where !== machine(fs) || where === '') return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return errorCode(error) === 'ESRCH'
  }
}
