import { HyperslabError } from '../../core/errors.ts'
import type { Store } from '../../store/store.ts'
import { storedAxes, type ZarrArrayMetadata } from './metadata.ts'

/** Returns the coordinates in the name of an object; undefined if it is not the name of a chunk. */
export function parseChunkName({ shape, type, chunkKey }: ZarrArrayMetadata, name: string): number[] | undefined {
  const numbers = (name.match(/\d+/g) ?? []).map(Number)
  const { length } = storedAxes(shape, type)
  for (let i = 0; i + length <= numbers.length; i++) {
    const coords = shape.map((_, axis) => (axis < length ? numbers[i + axis]! : 0))
    if (chunkKey(coords) === name) return coords
  }
  return undefined
}

/** Whether a name is that of a folder that contains chunks of an array. */
function isAboveChunks(metadata: ZarrArrayMetadata, name: string): boolean {
  for (let key = `${name}/0`, left = metadata.shape.length; left > 0; key += '/0', left--)
    if (parseChunkName(metadata, key) !== undefined) return true
  return false
}

/**
 * Checks that no folder of chunks is a link, because listings would omit its objects. Local listings name the
 * link itself.
 * @param names of objects, below the array
 * @throws UnsupportedError
 */
export function checkLinks(store: Store, metadata: ZarrArrayMetadata, prefix: string, names: readonly string[]): void {
  if (store.files?.localPath === undefined) return
  const link = names.find((name) => isAboveChunks(metadata, name))
  if (link === undefined) return
  const text = `'${link}' is a link, and chunks behind it could be read as elements of the array; replace the link with the folder`
  throw new HyperslabError('UnsupportedError', text, { file: store.describe(prefix + link) })
}
