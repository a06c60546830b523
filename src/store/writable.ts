import { HyperslabError } from '../core/errors.ts'
import type { ConditionalWrites, Store, WritableStore } from './store.ts'

/** Whether a store has the methods that every writer needs. */
export const isWritable = (store: Store): store is WritableStore =>
  (['stage', 'put', 'delete'] as const).every((name) => (store as WritableStore)[name] !== undefined)

/**
 * Returns the same store with its methods for writing.
 * @throws ReadOnlyError if it has none
 */
export function asWritable(store: Store): WritableStore {
  if (isWritable(store)) return store
  throw new HyperslabError('ReadOnlyError', 'this store cannot be written')
}

/** Returns the conditional operations of a store; undefined if it has none. */
export const conditionalWritesOf = async (store: Store, near: string): Promise<ConditionalWrites | undefined> =>
  isWritable(store) ? store.conditionalWrites?.(near) : undefined
