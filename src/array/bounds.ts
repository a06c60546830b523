import { HyperslabError } from '../core/errors.ts'
import type { BlockSource } from './source.ts'

/** Large enough for what is read on purpose; below what an allocation refuses. */
export const MAX_RESULT_BYTES = 2 ** 31

/**
 * Refuses what would take too much memory, before anything of it is allocated.
 * @param what takes the memory, and `how` it takes less
 * @throws TooLargeError
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
