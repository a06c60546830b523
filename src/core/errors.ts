import { quoted } from './quoted.ts'

/** Details of an error. All are optional; each tag documents which it sets. */
export interface ErrorDetails {
  /** File (or other place) that the error is about. */
  file?: string
  /** Array that the error is about. */
  array?: string
  /** Axis number, counted from 0. */
  axis?: number
  /** The given value. */
  actual?: unknown
  /** The expected value. */
  expected?: unknown
  /** Size and version of the file that was published even though the call failed. */
  published?: { readonly size: number; readonly etag: string }
  /** Option that sets the exceeded limit. */
  limit?: string
  /** Underlying error, if any. */
  cause?: unknown
}

/**
 * Kinds of errors:
 *
 * - `InvalidSelectionError`: an index, slice or number of selectors does not fit the shape
 * - `InvalidArgumentError`: an argument violates the contract of the call
 * - `NotFoundError`: no such file; `UnknownArrayError`: no such array in it
 * - `AlreadyExistsError`: the file or array exists already
 * - `ReadOnlyError`: the source, store or file is read-only
 * - `FormatError`: bytes do not match the format, or are truncated
 * - `UnsupportedError`: well-formed, but this package cannot read or write it
 * - `IntegrityError`: bytes do not match their checksum
 * - `CodecError`: a block cannot be decoded, or its codec is unknown
 * - `ConflictError`: another writer was first; pending changes are kept
 * - `EmptyReductionError`: a minimum or maximum of no elements
 * - `TooLargeError`: more bytes or values than one call may return or hold; `blocks()` processes an array
 *   in parts
 * - `OverflowError`: an exact result does not fit its data type
 * - `OutOfMemoryError`: the kernel memory (4 GiB at most) is exhausted
 * - `MissingDependencyError`: an optional package is not installed
 * - `StoreError`: the storage failed (a full disk, a missing folder); `cause` contains its own error
 * - `ClosedError`: the file was closed
 * - `CancelledError`: the run of a plan was cancelled
 * - `ScalarReadError`: a read of a single element of an array that was opened with `scalar: 'refuse'`
 * - `WorkerLostError`: a task has ended its workers repeatedly: too little memory, or a crash
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
  | 'ScalarReadError'
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
 * The error class of this package; errors are immutable. Distinguish kinds by {@link isHyperslabError}, not
 * by `instanceof`.
 */
export class HyperslabError extends Error {
  /** Kind of the error. */
  readonly tag: ErrorTag
  /** Details of the error: a frozen copy. */
  readonly details: Readonly<ErrorDetails>
  readonly #text: string

  constructor(tag: ErrorTag, text: string, details: ErrorDetails = {}) {
    super(describe(text, details), details.cause === undefined ? undefined : { cause: details.cause })
    this.tag = tag
    this.name = tag
    this.details = Object.freeze({ ...details })
    this.#text = text
  }

  /** Message without the file and the array at its start. */
  get text(): string {
    return this.#text
  }

  /**
   * Returns the error with details that only an outer layer knows (file, array), its cause and its stack.
   * Details that are set already stay. The result is a new error, because several callers may wait for the
   * same work; it is the same error if nothing is added.
   */
  within(context: ErrorDetails): HyperslabError {
    const details: Record<string, unknown> = { ...this.details }
    for (const [key, value] of Object.entries(context)) details[key] ??= value
    if (Object.entries(details).every(([key, value]) => value === this.details[key as keyof ErrorDetails])) return this
    const error = new HyperslabError(this.tag, this.#text, details)
    // If the stack contains the message, it is in the first line.
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
 * Whether a value is an error of this package, of one of the given kinds if there are any. Works across
 * duplicate copies of the package.
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

/** Throws `error`; an error of this package gets the missing details first. */
export function rethrowWithin(error: unknown, context: ErrorDetails): never {
  if (isHyperslabError(error) && typeof error.within === 'function') throw error.within(context)
  throw error
}

/** Runs `work`; its errors name the file and array. */
export async function within<T>(context: ErrorDetails, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    return rethrowWithin(error, context)
  }
}
