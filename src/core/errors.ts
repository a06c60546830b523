import { quoted } from './quoted.ts'

/** Fields an error can carry. All optional: each tag documents which it sets. */
export interface ErrorDetails {
  /** The file (or other place) the error is about. */
  file?: string
  /** The array the error is about. */
  array?: string
  /** Axis number, counted from 0. */
  axis?: number
  /** The value that was given. */
  actual?: unknown
  /** The value that would have been right. */
  expected?: unknown
  /** Size and version of what was published although the call failed. */
  published?: { readonly size: number; readonly etag: string }
  /** The option that sets the limit that was passed. */
  limit?: string
  /** The error underneath, if any. */
  cause?: unknown
}

/**
 * The kinds of errors:
 *
 * - `InvalidSelectionError`: an index, slice or number of selectors does not fit the shape
 * - `InvalidArgumentError`: an argument breaks the contract of the call
 * - `NotFoundError`: no such file; `UnknownArrayError`: no such array in it
 * - `AlreadyExistsError`: the file or array is there already
 * - `ReadOnlyError`: the source, store or file does not take writes
 * - `FormatError`: bytes that are not what the format says, truncated ones included
 * - `UnsupportedError`: well-formed, but nothing here can read or write it
 * - `IntegrityError`: bytes that are not those a checksum was taken of
 * - `CodecError`: a block that does not decode, or a codec nobody knows
 * - `ConflictError`: another writer took the place first; pending changes are kept
 * - `EmptyReductionError`: a minimum or maximum of no elements
 * - `TooLargeError`: more bytes or values than one call may give or hold; `blocks()` goes through an array in
 *   parts
 * - `OverflowError`: an exact result does not fit its data type
 * - `OutOfMemoryError`: the kernel memory (4 GiB at most) is exhausted
 * - `MissingDependencyError`: an optional package is not installed
 * - `StoreError`: the place where the bytes live failed (a full disk, a missing folder); `cause` has its own
 *   error
 * - `ClosedError`: the file was closed
 * - `CancelledError`: someone has cancelled the run of a plan
 * - `WorkerLostError`: a task has ended its workers again and again: too little memory, or a crash
 */
export type ErrorTag =
  | 'InvalidSelectionError'
  | 'InvalidArgumentError'
  | 'NotFoundError'
  | 'UnknownArrayError'
  | 'AlreadyExistsError'
  | 'ReadOnlyError'
  | 'FormatError'
  | 'UnsupportedError'
  | 'IntegrityError'
  | 'CodecError'
  | 'ConflictError'
  | 'EmptyReductionError'
  | 'TooLargeError'
  | 'OverflowError'
  | 'OutOfMemoryError'
  | 'MissingDependencyError'
  | 'StoreError'
  | 'ClosedError'
  | 'CancelledError'
  | 'WorkerLostError'

/** Errors that callers passed to `abort`. */
const REASONS = new WeakSet<object>()

/**
 * Marks an error that a caller passed to `abort`, so that it is thrown unchanged. Even if it is an error of
 * this package, no layer adds a file or an array to it.
 */
export function keepReason(reason: unknown): void {
  if (reason instanceof Error) REASONS.add(reason)
}

/**
 * The one error class of this package; an error is never changed once it is made. Tell kinds apart with
 * {@link isHyperslabError}, not with `instanceof`.
 */
export class HyperslabError extends Error {
  /** The kind of error. */
  readonly tag: ErrorTag
  /** The facts of the error as data: a copy of what was given, frozen. */
  readonly details: Readonly<ErrorDetails>
  readonly #text: string

  constructor(tag: ErrorTag, text: string, details: ErrorDetails = {}) {
    super(describe(text, details), details.cause === undefined ? undefined : { cause: details.cause })
    this.tag = tag
    this.name = tag
    this.details = Object.freeze({ ...details })
    this.#text = text
  }

  /** The message without the file and the array that it begins with. */
  get text(): string {
    return this.#text
  }

  /**
   * The error with what only an outer layer knows (file, array), its cause and where it was thrown; fields
   * that are set already stay. It is a new error, since others may wait for the same work, and itself where
   * nothing is added.
   */
  within(context: ErrorDetails): HyperslabError {
    const details: Record<string, unknown> = { ...this.details }
    for (const [key, value] of Object.entries(context)) details[key] ??= value
    if (Object.entries(details).every(([key, value]) => value === this.details[key as keyof ErrorDetails])) return this
    const error = new HyperslabError(this.tag, this.#text, details)
    // Where the stack has the message, it is in its first line.
    error.stack = this.stack?.replace(this.message, () => error.message) as string
    return error
  }
}

function describe(text: string, { file, array }: ErrorDetails): string {
  const where = [file, array === undefined ? undefined : `array '${typeof array === 'string' ? array : quoted(array)}'`].filter(
    (part) => part !== undefined,
  )
  return [...where, text].join(': ')
}

/**
 * True for an error of this package; with tags, only for one of those kinds. Works across duplicate copies of
 * the package.
 * @example
 * const error = await open('gone.af').catch((error) => error)
 * console.log(isHyperslabError(error, 'NotFoundError')) // true
 */
export function isErrorOfPackage(error: unknown, ...tags: ErrorTag[]): error is HyperslabError {
  if (!(error instanceof Error) || !('tag' in error) || !('details' in error)) return false
  return tags.length === 0 || tags.includes(error.tag as ErrorTag)
}

/**
 * Whether an error is one of this package, with one of the tags if any are given. Returns false for an error
 * that a caller passed to `abort`.
 */
export const isHyperslabError = (error: unknown, ...tags: ErrorTag[]): error is HyperslabError =>
  isErrorOfPackage(error, ...tags) && !REASONS.has(error)

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export function invalidArgument(text: string, actual: unknown): never {
  throw new HyperslabError('InvalidArgumentError', text, { actual })
}

/** Throws `error`, or where it is one of ours and lacks some of the context, one that has it. */
export function rethrowWithin(error: unknown, context: ErrorDetails): never {
  if (isHyperslabError(error) && typeof error.within === 'function') throw error.within(context)
  throw error
}

/** Runs `work`; an error of ours that leaves it names the file and array. */
export async function within<T>(context: ErrorDetails, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    return rethrowWithin(error, context)
  }
}
