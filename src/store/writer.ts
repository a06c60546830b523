import { HyperslabError } from '../core/errors.ts'
import type { ConditionalWrites, Store, WritableStore } from './store.ts'
import { isWritable } from './writable.ts'

/**
 * Returns the same store with its methods for writing.
 * @throws ReadOnlyError if it has none
 */
export function asWritable(store: Store): WritableStore {
  if (isWritable(store)) return store
  throw new HyperslabError('ReadOnlyError', 'this store cannot be written')
}

/** Finds the conditional operations of a store; undefined if it has none. */
export const findConditionalWrites = async (store: Store, near: string): Promise<ConditionalWrites | undefined> =>
  isWritable(store) ? store.conditionalWrites?.(near) : undefined
