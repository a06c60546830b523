import { type HyperslabError, isHyperslabError } from '../core/errors.ts'

/** Bytes that tell what a file is. */
export const HEAD_BYTES = 8

/** Returns the first bytes as characters; undefined if there are fewer. */
export const headIn = (bytes: Uint8Array): string | undefined =>
  bytes.length < HEAD_BYTES ? undefined : String.fromCharCode(...bytes.subarray(0, HEAD_BYTES))

/** Whether the first bytes of a file, as characters, are those of a format. */
export const begins = (head: string, starts: readonly string[] | RegExp = []): boolean =>
  starts instanceof RegExp ? starts.test(head) : starts.some((start) => head.startsWith(start))

/** Returns the result of a read; undefined if there is no file, or if it cannot be read. */
export async function ofFile<T>(reading: Promise<T>, onFailure?: (error: HyperslabError) => void): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    // Folders, pages that servers refuse to show, files of one byte: opening them reports the problem.
    if (!isHyperslabError(error, 'FormatError', 'StoreError', 'UnsupportedError', 'NotFoundError')) throw error
    onFailure?.(error)
    return undefined
  }
}
