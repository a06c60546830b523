import type { Store, WritableStore } from './store.ts'

/** Whether a store has the methods that every writer needs. */
export function isWritable(store: Store): store is WritableStore {
  const { stage, put, delete: remove } = store as Partial<WritableStore>
  return stage !== undefined && put !== undefined && remove !== undefined
}
