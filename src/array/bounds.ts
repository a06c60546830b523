import { HyperslabError } from '../core/errors.ts'
import type { BlockSource } from './source.ts'

/** Default limit of results: large enough for intended reads, below what an allocation would refuse. */
export const MAX_RESULT_BYTES = 2 ** 31

/**
 * Rejects an operation that would take too much memory, before it allocates any.
 * @param what takes the memory
 * @param how the operation takes less
 * @throws TooLargeError if `bytes` exceeds `maxBytes`
 */
export function checkBytes(
  { label }: Pick<BlockSource, 'label'>,
  bytes: number,
  maxBytes: number,
  what: string,
  how: string,
): void {
  if (bytes <= maxBytes) return
  const text = `${what} takes ${bytes} bytes, more than ${maxBytes}: ${how}`
  throw new HyperslabError('TooLargeError', text, { ...label, actual: bytes, expected: maxBytes })
}
