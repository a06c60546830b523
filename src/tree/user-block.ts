import type { Signal } from '../core/signal.ts'
import type { ObjectStart, StoredAt } from '../store/store.ts'
import { begins, HEAD_BYTES, headIn, ofFile } from './signature.ts'

/** Least size of a block of the user. */
const USER_BLOCK_BYTES = 512

/** Fields of a format that tell its files. */
interface Signed {
  readonly starts?: readonly string[] | RegExp
  readonly usualEndings?: RegExp
}

/**
 * Returns the format of a file that begins with a block of the user. Without the start of the file, only a
 * block of 512 bytes is found, as MATLAB writes it, and only if the name is usual for the format.
 * @param formats those whose files may begin so
 */
export async function findBehindUserBlock<F extends Signed>(
  formats: readonly F[],
  { store, path }: StoredAt,
  name: string,
  { start, signal }: { readonly start?: ObjectStart | undefined; readonly signal?: Signal | undefined },
): Promise<F | undefined> {
  for (const format of formats) {
    if (start === undefined) {
      if (!format.usualEndings?.test(name)) continue
      const bytes = await ofFile(store.getRange(path, USER_BLOCK_BYTES, HEAD_BYTES, { signal }))
      if (begins((bytes && headIn(bytes)) ?? '', format.starts)) return format
    } else
      for (let at = USER_BLOCK_BYTES; at < start.bytes.length; at *= 2)
        if (begins(headIn(start.bytes.subarray(at)) ?? '', format.starts)) return format
  }
  return undefined
}
