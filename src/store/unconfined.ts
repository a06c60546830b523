import type { Store } from './store.ts'

/** Original stores, by the confined ones that were made of them. */
const originals = new WeakMap<Store, Store>()

/** Records that a store is a confined form of another one. */
export function recordConfined(store: Store, original: Store): void {
  originals.set(store, original)
}

/**
 * Returns the store that was confined to a root. Only for keys that do not come from a file, such as those of
 * the folders above the root. Other checks of the store stay.
 */
export function unconfined(store: Store): Store {
  const original = originals.get(store)
  return original === undefined ? store : unconfined(original)
}
