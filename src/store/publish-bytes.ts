import type { ObjectInfo, PublishCondition, Store } from './store.ts'
import { asWritable } from './writer.ts'

/**
 * Publishes the bytes of one object, on a condition.
 * @throws ConflictError if the condition does not hold
 */
export async function publishBytes(
  store: Store,
  key: string,
  bytes: Uint8Array,
  condition: PublishCondition,
): Promise<ObjectInfo> {
  const stage = await asWritable(store).stage(key)
  try {
    return await stage.publish(key, bytes, condition)
  } finally {
    await stage.discard()
  }
}
