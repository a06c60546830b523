import { toElement } from '../../core/dtype.ts'
import { HyperslabError, rethrowWithin } from '../../core/errors.ts'
import { showShape } from '../../core/shape.ts'
import { crc32cOf } from '../../kernels/crc32c.ts'
import { type Archived, struct } from '../rkyv/layout.ts'
import { vec } from '../rkyv/pointers.ts'
import { string } from '../rkyv/string.ts'
import { type ArchiveWriter, archive, type StoreObject } from '../rkyv/writer.ts'
import type { Checksums } from './extension-blocks.ts'
import { type ArrayMeta, type AttributePairs, checkAttributeTypes, type Footer, footerLayout } from './footer.ts'
import {
  type ChunkRow,
  type ChunkTable,
  ENTRY_BLOCK,
  ENTRY_BYTES,
  ENTRY_OFFSET,
  ENTRY_SIZE,
  emptyTable,
} from './footer-chunks.ts'
import { FOOTER_MAGIC, type Magic, TRAILER_BYTES } from './footer-trailer.ts'
import { IDENTITY_PREFIX, type Identity } from './identity.ts'

/*
 * Encoders of the format: opening and reading a file loads none of them.
 */

/**
 * Returns a table with the given rows.
 * @throws InvalidArgumentError if a coordinate does not have `rank` entries, or if a number exceeds 32 bits
 */
export function chunkTable(rank: number, rows: readonly ChunkRow[] = []): ChunkTable {
  const table = emptyTable(rank, rows.length)
  for (const [index, { coord, blockId, offset, size }] of rows.entries()) {
    if (coord.length !== rank) {
      const text = `chunk ${index} has the coordinate ${showShape(coord)}, expected ${rank} axes`
      throw new HyperslabError('InvalidArgumentError', text, { actual: coord, expected: rank })
    }
    table.coords.set(coord.map(toUint32), index * rank)
    table.blockIds[index] = toUint32(blockId)
    table.offsets[index] = toUint32(offset)
    table.sizes[index] = toUint32(size)
  }
  return table
}

const toUint32 = (value: number): number => toElement('uint32', value) as number

/**
 * Returns the payload of a footer: the same bytes that the reference implementation writes for it.
 * @throws InvalidArgumentError if something in the footer does not fit the format
 */
export function encodeFooter(footer: Footer): Uint8Array {
  if (footer.version !== 4 && footer.version !== 5) {
    throw new HyperslabError('InvalidArgumentError', `footer version ${footer.version}`, {
      actual: footer.version,
      expected: [4, 5],
    })
  }
  checkAttributeTypes(footer, 'InvalidArgumentError')
  return archive(footerLayout, footer, FOOTER_FORMS)
}

/** Writers of the parts whose form differs between footers. */
export const FOOTER_FORMS = { array: writeArray, pairs: writePairs }

function writeArray(
  to: ArchiveWriter,
  array: ArrayMeta,
  beforeChunks: Archived<Partial<ArrayMeta>>,
  afterChunks: Archived<Partial<ArrayMeta>>,
): StoreObject {
  try {
    const storeName = to.write(string, array.name)
    const storeSchema = to.write(beforeChunks, array)
    const storeChunks = writeChunks(to, array.chunks, array.shape.length)
    const storeRest = to.write(afterChunks, array)
    return (at) => {
      storeName(at)
      storeSchema(at + 16)
      storeChunks(at + 88)
      storeRest(at + 104)
    }
  } catch (error) {
    return rethrowWithin(error, { array: array.name })
  }
}

/** Mirrors {@link readChunks}: appends coordinates and entries. Returns the function that stores the Vec. */
function writeChunks(to: ArchiveWriter, table: ChunkTable, rank: number): StoreObject {
  checkTable(table, rank)
  const { length, coords, blockIds, offsets, sizes } = table
  const coordBytes = 4 * rank
  to.align(4)
  const firstCoord = to.reserve(length * coordBytes)
  to.align(8)
  const target = to.reserve(length * ENTRY_BYTES)
  const { view } = to
  for (let index = 0; index < coords.length; index++) view.setUint32(firstCoord + 4 * index, coords[index]!, true)
  for (let index = 0; index < length; index++) {
    const entry = target + index * ENTRY_BYTES
    to.vec(entry, firstCoord + index * coordBytes, rank)
    view.setUint32(entry + ENTRY_BLOCK, blockIds[index]!, true)
    view.setUint32(entry + ENTRY_OFFSET, offsets[index]!, true)
    view.setUint32(entry + ENTRY_SIZE, sizes[index]!, true)
  }
  return (at) => to.vec(at, target, length)
}

function checkTable({ length, rank, coords, blockIds, offsets, sizes }: ChunkTable, expected: number): void {
  if (rank !== expected) {
    const text = `the chunk table has coordinates of ${rank} axes, but the array has ${expected}`
    throw new HyperslabError('InvalidArgumentError', text, { actual: rank, expected })
  }
  const columns = [coords.length, blockIds.length, offsets.length, sizes.length]
  const right = [length * rank, length, length, length]
  if (columns.some((entries, index) => entries !== right[index])) {
    const text = `the columns of the chunk table have ${columns.join(', ')} entries, expected ${right.join(', ')}`
    throw new HyperslabError('InvalidArgumentError', text, { actual: columns, expected: right })
  }
}

function writePairs(to: ArchiveWriter, { keys, values }: AttributePairs, index: Archived<number>): StoreObject {
  return to.write(vec(struct<Pair>({ key: index, value: index })), sorted(keys, values))
}

type Pair = { key: number; value: number }

function sorted(keys: readonly number[], values: readonly number[]): Pair[] {
  if (keys.length !== values.length) {
    const text = `${keys.length} attribute keys, but ${values.length} values`
    throw new HyperslabError('InvalidArgumentError', text, { actual: values.length, expected: keys.length })
  }
  return keys.map((key, index) => ({ key, value: values[index]! })).sort((a, b) => a.key - b.key)
}

/**
 * Returns the end of a file, which follows its blocks: payload and trailer.
 * @param encode writes the payload. Default: writes footer version 4 or 5
 */
export function encodeFooterFile(footer: Footer, encode: (footer: Footer) => Uint8Array = encodeFooter): Uint8Array {
  return withTrailer(encode(footer), FOOTER_MAGIC)
}

/** Mirrors `readTrailer`: returns a payload with its trailer, which together end a file. */
export function withTrailer(payload: Uint8Array, magic: Magic): Uint8Array {
  const file = new Uint8Array(payload.byteLength + TRAILER_BYTES)
  file.set(payload)
  const trailer = file.subarray(payload.byteLength)
  new DataView(trailer.buffer, trailer.byteOffset).setBigUint64(0, BigInt(payload.byteLength), true)
  for (let index = 0; index < magic.length; index++) trailer[8 + index] = magic.charCodeAt(index)
  return file
}

export function encodeChecksums({ footer, blocks }: Checksums): Uint8Array {
  const words = Uint32Array.of(0, footer, ...blocks)
  words[0] = crc32cOf(new Uint8Array(words.buffer, 4))
  return new Uint8Array(words.buffer)
}

/** Returns 128 random bits in hexadecimal. */
export function randomId(): string {
  const bytes = (globalThis as unknown as { crypto: { getRandomValues(bytes: Uint8Array): Uint8Array } }).crypto.getRandomValues(
    new Uint8Array(16),
  )
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export function encodeIdentity({ id, kind, base, merged = [], redefined = [] }: Identity): string {
  const fields = [`id=${id}`, `kind=${kind}`]
  if (base !== undefined) fields.push(`base=${base}`)
  if (merged.length > 0) fields.push(`merged=${merged.map(({ number, id }) => `${number}:${id}`).join()}`)
  if (redefined.length > 0) fields.push(`redefined=${redefined.join()}`)
  return IDENTITY_PREFIX + fields.join(' ')
}
