import type { ZarrArrayMetadata } from './metadata.ts'

/** The coordinates in the name of an object; undefined where it is not that of a chunk. */
export function coordsOf({ shape, chunkKey }: ZarrArrayMetadata, name: string): number[] | undefined {
  const numbers = (name.match(/\d+/g) ?? []).map(Number)
  for (let i = 0; i + shape.length <= numbers.length; i++) {
    const coords = numbers.slice(i, i + shape.length)
    if (chunkKey(coords) === name) return coords
  }
  return undefined
}
