import { yieldToEventLoop } from '../../core/pace.ts'

/** Longest read that is made synchronously, in bytes. */
const QUICK_BYTES = 64 * 1024
/** Time for synchronous reads between two turns of the event loop, in ms. */
const MS_PER_TURN = 2
/** Time in ms that a turn must have left for a group of reads to begin. */
const MS_PER_GROUP = 1
/** Time in ms above which a read is slow. */
const SLOW_MS = 1
/** Time in ms without reads from a disk after which a slow read cannot be one that waits for a disk. */
const QUIET_MS = 100
/** Factor: after a slow read of t ms, the file is read asynchronously for this number times t. */
const PAUSE = 100

/** Numbers by which `statfs` of Linux names file systems that lie on this machine. */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x01021994, // tmpfs
  0x858458f6, // ramfs
  0xf2f52010, // f2fs
  0x2fc12fc1, // zfs
  0xca451a4e, // bcachefs
  0x794c7630, // overlayfs
])

/** Numbers that the system counts for this process. */
interface Usage {
  /** Number of times that a thread lost the processor to another one without waiting. */
  readonly involuntaryContextSwitches: number
  /** Blocks read from disks. */
  readonly fsRead: number
}

declare const process: { resourceUsage?(): Usage } | undefined

interface FileSystem {
  readSync?(file: number, into: Uint8Array, at: number, length: number, position: number): number
  statfs?(path: string, done: (error: unknown, stats?: { readonly type: number }) => void): void
}

/** An open file, with the state of its synchronous reads. */
export interface QuickFile {
  /** File descriptor. */
  readonly file: number
  /** Whether the file may be read synchronously; undefined until its file system is asked for. */
  isQuick?: boolean
  /** Time in ms until which it is read asynchronously, because a read was slow. */
  slowUntil?: number
}

/**
 * Synchronous reads of a thread. A read of some bytes from the page cache takes 2 us synchronously, and 20 to
 * 100 us through the threads of the runtime. A delayed read blocks the whole thread. Therefore only short
 * reads of local file systems are synchronous, for at most 2 ms between two turns of the event loop, plus the
 * read in progress. A read above 1 ms ends them for that file, for a hundred times as long. Exception: if the
 * process has lost the processor during this turn, and has read nothing from a disk for 100 ms, another
 * program caused the delay.
 */
export class QuickReads {
  readonly #now: () => number
  readonly #nextTurn: () => Promise<void>
  readonly #usage: () => Usage | undefined
  /** Usage when this turn began to read. */
  #usageBefore: Usage | undefined
  /** Time in ms since which nothing was read from a disk, as far as turns have looked. */
  #quietSince = 0
  #left = MS_PER_TURN
  /** Resolves in the next turn of the event loop, once it is awaited. */
  #turn: Promise<void> | undefined
  #suspended = 0

  /**
   * @param now returns the time in ms; replaced in tests
   * @param nextTurn resolves in the next turn of the event loop; replaced in tests
   * @param usage returns the usage of the process; undefined if the runtime has no counters; replaced in
   *   tests
   */
  constructor(
    now: () => number = () => performance.now(),
    nextTurn: () => Promise<void> = yieldToEventLoop,
    usage: () => Usage | undefined = usageOfProcess,
  ) {
    this.#now = now
    this.#nextTurn = nextTurn
    this.#usage = usage
  }

  /** Forbids synchronous reads until the result is disposed of. */
  suspend(): Disposable {
    this.#suspended++
    return { [Symbol.dispose]: () => void this.#suspended-- }
  }

  /**
   * Fills `into` from a position of an open file.
   * @returns false if the read has to be asynchronous
   * @throws the errors of `readSync`
   */
  read(fs: FileSystem, path: string, version: QuickFile, into: Uint8Array, position: number): boolean {
    return into.length <= QUICK_BYTES && this.#read(fs, path, version, into, position)
  }

  /** Fills `into`, of any length, by short reads. The rules are those of {@link read}. */
  readAll(fs: FileSystem, path: string, version: QuickFile, into: Uint8Array, position: number): boolean {
    if (into.length <= QUICK_BYTES) return this.#read(fs, path, version, into, position)
    for (let at = 0; at < into.length; at += QUICK_BYTES)
      if (!this.#read(fs, path, version, into.subarray(at, at + QUICK_BYTES), position + at)) return false
    return true
  }

  /** Whether synchronous reads of a file are allowed, as soon as a turn has time for them. */
  allows(fs: FileSystem, path: string, version: QuickFile): boolean {
    return this.#suspended === 0 && isQuick(fs, path, version) && this.#now() >= (version.slowUntil ?? 0)
  }

  /** Returns a promise of the next turn of the event loop if this one has less than 1 ms left for reads. */
  ready(): Promise<void> | undefined {
    return this.#left < MS_PER_GROUP ? this.#awaitTurn() : undefined
  }

  #read(fs: FileSystem, path: string, version: QuickFile, into: Uint8Array, position: number): boolean {
    if (this.#suspended > 0 || !isQuick(fs, path, version) || this.#left <= 0) return false
    const start = this.#now()
    if (start < (version.slowUntil ?? start)) return false
    void this.#awaitTurn()
    let done = 0
    for (let count = -1; done < into.length && count !== 0; done += count)
      count = fs.readSync!(version.file, into, done, into.length - done, position + done)
    const took = this.#now() - start
    this.#left -= took
    if (took > SLOW_MS && !this.#wasPreempted(start)) version.slowUntil = start + took * (1 + PAUSE)
    return done === into.length
  }

  /** Whether a read was slow because this process lost the processor. */
  #wasPreempted(start: number): boolean {
    const before = this.#usageBefore
    const now = this.#usage()
    if (before === undefined || now === undefined || now.fsRead !== before.fsRead) return false
    // A disk may still answer requests of earlier turns, such as those of reading ahead.
    return now.involuntaryContextSwitches > before.involuntaryContextSwitches && start - this.#quietSince >= QUIET_MS
  }

  /** Notes the usage before the reads of a turn. */
  #look(): void {
    const now = this.#usage()
    if (now?.fsRead !== this.#usageBefore?.fsRead) this.#quietSince = this.#now()
    this.#usageBefore = now
  }

  #awaitTurn(): Promise<void> {
    if (this.#turn === undefined) this.#look()
    this.#turn ??= this.#nextTurn().then(() => {
      this.#turn = undefined
      this.#left = MS_PER_TURN
    })
    return this.#turn
  }
}

/**
 * Whether a file lies on a local file system. The first call starts `statfs`; the result is false until it
 * answers.
 */
function isQuick(fs: FileSystem, path: string, version: QuickFile): boolean {
  if (version.isQuick !== undefined) return version.isQuick
  version.isQuick = false
  if (fs.readSync !== undefined)
    fs.statfs?.(path, (error, stats) => {
      version.isQuick = !error && LOCAL_FILE_SYSTEMS.has(stats!.type)
    })
  return false
}

function usageOfProcess(): Usage | undefined {
  return typeof process === 'undefined' ? undefined : process.resourceUsage?.()
}

/** Synchronous reads of this thread. */
export const quickReads = new QuickReads()
