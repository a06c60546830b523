import type { StorageInfo } from '../../array/nodes.ts'
import { elementBytes, isFixed } from '../../core/dtype.ts'
import type { ZarrArray } from './group.ts'
import { planChunks } from './shards.ts'
import { codecWords, storedTypeWords } from './words.ts'

/** Number of chunks of an array up to which the stored ones are counted. */
const MOST_COUNTED = 2 ** 20

/** Describes how an array is stored. */
export async function describeStorage(array: ZarrArray): Promise<StorageInfo> {
  const { metadata, dtype, size } = array
  const { levels, objects, chunks, codecs } = planChunks(metadata)
  return {
    storedAs: storedTypeWords(metadata.type),
    chunkShape: chunks,
    ...(levels.length > 0 && { shardShape: objects }),
    codecs: codecWords(codecs),
    ...(isFixed(dtype) && { bytes: size * elementBytes(dtype) }),
    ...(levels.length === 0 && { storedChunks: await countStored(array) }),
  }
}

/**
 * Counts the stored chunks of an array in a local folder. Elsewhere, listing would take a request for each
 * thousand of them.
 */
async function countStored({ index }: ZarrArray): Promise<number | undefined> {
  const { store } = index.opened
  if (store.files?.localPath === undefined || index.objectCount > MOST_COUNTED) return undefined
  const keys = new Set(await store.list?.(index.path === '' ? '' : `${index.path}/`, { deep: true }))
  let stored = 0
  for (const key of index.objectKeys()) if (keys.has(key)) stored++
  return stored
}
