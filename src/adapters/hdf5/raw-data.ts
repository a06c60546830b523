import { HyperslabError } from '../../core/errors.ts'
import { readOnce } from '../../core/kept.ts'
import { forEachLimited } from '../../core/limiter.ts'
import type { Signal } from '../../core/signal.ts'
import type { BlockOrigin } from '../../engine/block.ts'
import type { ObjectInfo, StoredAt } from '../../store/store.ts'
import type { RawBytes } from './array-index.ts'
import type { RawPart } from './messages/external-files.ts'
import { checkOthers, type OpenFile } from './open-file.ts'
import { statProved } from './other-files.ts'

/** Parts that are read at the same time. */
const AT_ONCE = 8

/** A run of bytes of an array, and the file that holds it. */
interface PlacedPart {
  readonly place: StoredAt
  readonly name: string
  /** Position of the first byte in the array. */
  readonly start: number
  readonly end: number
  /** Position of the first byte in the file. */
  readonly offset: number
  /** Size and version of the file, which is requested with the first read. */
  info(): Promise<ObjectInfo>
}

let last = 0

/** Start of the messages about a file that holds elements. */
const rawDataIn = ({ name }: RawPart): string => `elements are in the file '${name}' (external raw data)`

/**
 * Returns the bytes of an array whose elements are in other files, as one run. Bytes behind the end of a file
 * are zeros, as the HDF5 library has it.
 * @throws UnsupportedError for files that are not followed
 */
export function createRawOrigin(file: OpenFile, parts: readonly RawPart[]): RawBytes {
  let size = 0
  const placed = parts.map((part): PlacedPart => {
    const place = checkOthers(file, part.name, rawDataIn(part)).find(part.name, file, rawDataIn(part))
    const start = size
    size += part.bytes
    return {
      place,
      name: part.name,
      start,
      end: size,
      offset: part.offset,
      info: readOnce(() => statPart(place, part, file.stored.ended)),
    }
  })
  const origin: BlockOrigin = {
    file: file.name,
    version: `external raw data ${++last}`,
    read: (offset, length, signal) => {
      file.checkOpen()
      return readParts(placed, offset, length, signal ?? file.stored.ended)
    },
  }
  return { origin, size }
}

async function statPart(place: StoredAt, part: RawPart, signal: Signal): Promise<ObjectInfo> {
  const info = await statProved(place, signal)
  if (info !== undefined) return info
  const text = `${rawDataIn(part)}, and there is no such file`
  throw new HyperslabError('NotFoundError', text, { file: place.store.describe(place.path), actual: part.name })
}

async function readParts(parts: readonly PlacedPart[], offset: number, length: number, signal: Signal): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  const touched = parts.filter(({ start, end }) => start < offset + length && end > offset)
  await forEachLimited(touched, AT_ONCE, async (part) => {
    const { size, etag } = await part.info()
    const from = Math.max(offset, part.start)
    const first = part.offset + from - part.start
    const count = Math.min(Math.min(offset + length, part.end) - from, size - first)
    if (count <= 0) return
    const { store, path } = part.place
    const found = await store.getRange(path, first, count, { ifMatch: etag, signal })
    if (found === undefined)
      throw new HyperslabError('NotFoundError', 'there is no such file', { file: store.describe(path), actual: part.name })
    bytes.set(found, from - offset)
  })
  return bytes
}
