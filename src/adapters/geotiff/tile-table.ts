import type { Entry } from './directory.ts'
import { damagedTiff } from './errors.ts'
import { type ImageLayout, rowsBytes } from './layout.ts'
import type { TiffBytes } from './tiff-bytes.ts'

/** Entries of a table that are read together. */
const PART_ENTRIES = 256

/** Bytes of a stored tile. Tiles that are not stored have offset 0 and 0 bytes. */
export interface TileRange {
  readonly offset: number
  readonly bytes: number
}

/** Positions and sizes of the tiles of an image, read in parts. */
export class TileTable {
  readonly #file: TiffBytes
  readonly #layout: ImageLayout
  readonly #what: string

  constructor(file: TiffBytes, layout: ImageLayout) {
    this.#file = file
    this.#layout = layout
    this.#what = layout.isTiled ? 'tile' : 'strip'
    if (layout.counts === undefined && layout.compression !== 'none' && layout.tiles > 1)
      damagedTiff(`there is no table of the sizes of ${layout.tiles} ${this.#what}s`)
  }

  /**
   * Returns the ranges of tiles.
   * @throws FormatError for tiles that are not in the file
   */
  async find(tiles: Iterable<number>): Promise<Map<number, TileRange>> {
    const parts = new Map<number, number[]>()
    for (const tile of new Set(tiles)) {
      const part = Math.floor(tile / PART_ENTRIES)
      const found = parts.get(part)
      if (found === undefined) parts.set(part, [tile])
      else found.push(tile)
    }
    const { offsets, counts } = this.#layout
    const ranges = new Map<number, TileRange>()
    const read = async ([part, wanted]: readonly [number, readonly number[]]): Promise<void> => {
      const [offsetOf, bytesOf] = await Promise.all([this.#part(offsets, part), counts && this.#part(counts, part)])
      for (const tile of wanted) ranges.set(tile, this.#checked(tile, offsetOf(tile), bytesOf?.(tile)))
    }
    await Promise.all([...parts].map(read))
    return ranges
  }

  /** Reads a part of a table. Returns a function that finds the entry of a tile. */
  async #part({ tag, count, offset, valueBytes }: Entry, part: number): Promise<(tile: number) => number> {
    const first = part * PART_ENTRIES
    const entries = Math.min(PART_ENTRIES, count - first)
    const view = await this.#file.view(offset + first * valueBytes, entries * valueBytes, `a part of the table ${tag}`)
    return (tile) => this.#file.uint(view, (tile - first) * valueBytes, valueBytes)
  }

  /** Returns the range of a tile. An uncompressed one may be stored with more bytes than its samples take. */
  #checked(tile: number, offset: number, stored: number | undefined): TileRange {
    const layout = this.#layout
    if (offset === 0 && (stored ?? 0) === 0) return { offset: 0, bytes: 0 }
    const needed = rowsBytes(layout, tileRows(layout, tile))
    const isPlain = layout.compression === 'none'
    const bytes = stored ?? (isPlain ? needed : this.#file.size - offset)
    const named = `the ${this.#what} ${tile}`
    if (isPlain && bytes < needed) damagedTiff(`${named} has ${bytes} bytes instead of ${needed}`, bytes, needed)
    const used = isPlain ? needed : bytes
    if (offset + used > this.#file.size)
      damagedTiff(
        `${named} extends to byte ${offset + used}, but the file has ${this.#file.size} bytes`,
        offset + used,
        this.#file.size,
      )
    return { offset, bytes: used }
  }
}

/** Returns the stored rows of a tile. The last strip has fewer. */
export function tileRows({ isTiled, height, tileHeight }: ImageLayout, tile: number): number {
  if (isTiled) return tileHeight
  const strip = tile % Math.ceil(height / tileHeight)
  return Math.min(tileHeight, height - strip * tileHeight)
}
