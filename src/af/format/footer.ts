import { HyperslabError, rethrowWithin } from '../../core/errors.ts'
import { showShape, sizeOf } from '../../core/shape.ts'
import { type Archived, option, struct, unarchive } from '../rkyv/layout.ts'
import { bool, safeUint64, uint32 } from '../rkyv/leaves.ts'
import { vec } from '../rkyv/pointers.ts'
import { string } from '../rkyv/string.ts'
import type { ArrayStats } from './array-stats.ts'
import {
  ATTRIBUTE_TYPES,
  type AttributePairs,
  type AttributeValue,
  attributePairsLayout,
  attributeValueLayout,
  isVersion4Attribute,
} from './footer-attributes.ts'
import { type ChunkTable, readChunks } from './footer-chunks.ts'
import { type AfDType, dtypeLayout, type FillValue, fillValueLayout } from './footer-values.ts'

export type { AttributePairs, AttributeValue } from './footer-attributes.ts'
export type { ChunkTable } from './footer-chunks.ts'
export { FOOTER_MAGIC, TRAILER_BYTES } from './footer-trailer.ts'
export type { AfDType } from './footer-values.ts'
export { type FillValue, floatFill } from './footer-values.ts'

/** The metadata of one `.af` file, which is one layer of a stack. */
export interface Footer {
  version: FooterVersion
  blocks: BlockMeta[]
  arrays: ArrayMeta[]
  attributeKeys: string[]
  attributeValues: AttributeValue[]
  /** 0 in a base, N in the N-th sidecar. */
  overlayIndex: number
  /** Path of the base, in a sidecar; otherwise empty. */
  baseFileHint: string
  /** The arrays, read one by one. Only in footers of version 6 that were read. */
  stored?: ArrayList
}

/** Arrays in the order of the footer. Each is read when it is asked for. */
export interface ArrayList {
  readonly names: readonly string[]
  /** Index of each name in `names`. */
  readonly indices: ReadonlyMap<string, number>
  at(index: number): ArrayMeta
  /**
   * Returns the values of an attribute by array name, in order.
   * @param isKey for each key of the footer, 1 if it is the wanted one
   * @param without name of an array to omit
   */
  attributeIndex(
    isKey: Uint8Array,
    values: readonly AttributeValue[],
    without?: string,
  ): ReadonlyMap<string, AttributeValue['value']>
}

/**
 * Versions 4 and 5 have the same layout, but 4 has fewer attribute types. A file of version 6 has no layers.
 */
export type FooterVersion = 4 | 5 | 6

export interface BlockMeta {
  id: number
  fileOffset: number
  compressedBytes: number
  uncompressedBytes: number
  /** `null` if stored uncompressed. */
  codec: string | null
}

export interface ArrayMeta {
  name: string
  dtype: AfDType
  shape: number[]
  dimensionNames: string[]
  chunkShape: number[]
  /** Only the chunks in this file. */
  chunks: ChunkTable
  /** `null` means zero or empty. */
  fillValue: FillValue | null
  /** Whether this is a tombstone: the array of this name in the layers below no longer exists. */
  deleted: boolean
  attributes: AttributePairs
  /** Only in version 6, which stores statistics in the footer; `null` if the writer stored none. */
  stats?: ArrayStats | null
}

/** 56 bytes. A codec is "none" or a name, stored as an optional string. */
export const blockLayout: Archived<BlockMeta> = struct({
  id: uint32,
  fileOffset: safeUint64,
  compressedBytes: safeUint64,
  uncompressedBytes: safeUint64,
  codec: option(string),
})

export const beforeChunks = struct<Pick<ArrayMeta, 'dtype' | 'shape' | 'dimensionNames' | 'chunkShape'>>({
  dtype: dtypeLayout,
  shape: vec(uint32),
  dimensionNames: vec(string),
  chunkShape: vec(uint32),
})

const afterChunks = struct<Pick<ArrayMeta, 'fillValue' | 'deleted' | 'attributes'>>({
  fillValue: option(fillValueLayout),
  deleted: bool,
  attributes: attributePairsLayout,
})

/**
 *     +0 name | +16 dtype | +40 shape | +56 dimension names | +72 chunk shape | +88 chunks | +104 fill value | +136 deleted | +144 attributes
 *
 * Not one struct, because the chunks can be read only with the rank, and errors name the array. All parts are
 * multiples of 8 bytes.
 */
const arrayLayout: Archived<ArrayMeta> = {
  size: 168,
  align: 8,
  read(from, at) {
    const name = string.read(from, at)
    try {
      const schema = beforeChunks.read(from, at + 16)
      const chunks = readChunks(from, at + 88, schema.shape.length)
      return { name, ...schema, chunks, ...afterChunks.read(from, at + 104) }
    } catch (error) {
      return rethrowWithin(error, { array: name })
    }
  },
  form: ['array', beforeChunks, afterChunks],
}

/**
 * +0 version | +8 blocks | +24 arrays | +40 attribute keys | +56 attribute values | +72 overlay index | +80
 * base file hint
 */
export const footerLayout = struct({
  version: uint32,
  blocks: vec(blockLayout),
  arrays: vec(arrayLayout),
  attributeKeys: vec(string),
  attributeValues: vec(attributeValueLayout),
  overlayIndex: uint32,
  baseFileHint: string,
})

/**
 * Decodes the footer in a payload, which precedes the trailer. Does not check its numbers: see `checkFooter`.
 * @param payload of version 4 or 5, which the caller has checked
 * @throws FormatError if the bytes are not a footer
 */
export function decodeFooter(payload: Uint8Array, typeDepth?: number): Footer {
  const footer = unarchive('footer', footerLayout, payload, typeDepth) as Footer
  checkAttributeTypes(footer, 'FormatError')
  return footer
}

/** Size of the root object in bytes, by version. Its first field is the version. */
export const ROOT_BYTES = footerLayout.size
export const ROOT_BYTES_6 = 72

/**
 * Whether the footer has version 6, which `footer-v6.ts` reads. Checked before any other version, because
 * only this check is unambiguous: payloads of versions 4 and 5 have a multiple of 8 at this position, but
 * version 6 may have any value where they store their version.
 */
export const isVersion6 = (payload: Uint8Array): boolean => u32BeforeEnd(payload, ROOT_BYTES_6) === 6

/** Whether {@link decodeFooter} reads the footer. Checked first: the layout depends on the version. */
export const hasKnownVersion = (payload: Uint8Array): boolean => [4, 5].includes(u32BeforeEnd(payload, ROOT_BYTES)!)

export function u32BeforeEnd({ buffer, byteOffset, byteLength }: Uint8Array, distance: number): number | undefined {
  if (byteLength < distance) return undefined
  return new DataView(buffer, byteOffset, byteLength).getUint32(byteLength - distance, true)
}

export function checkAttributeTypes({ version, attributeValues }: Footer, tag: 'FormatError' | 'InvalidArgumentError'): void {
  if (version !== 4) return
  for (const [index, { type }] of attributeValues.entries()) {
    if (isVersion4Attribute(type)) continue
    const text = `attribute value ${index} has the type ${type} (${ATTRIBUTE_TYPES.indexOf(type)}), unknown in footer version 4`
    throw new HyperslabError(tag, text, { actual: type, expected: ATTRIBUTE_TYPES.filter(isVersion4Attribute) })
  }
}

/**
 * Checks that the numbers in a footer agree with each other and with the file, so that reads need no further
 * range checks.
 *
 * Any contradiction makes the file unreadable. The format has no checksum of this data, so a footer with one
 * wrong number cannot be trusted elsewhere. These cases are tolerated, because readers have a rule for them:
 *
 * - chunks outside the chunk grid, after an array became smaller: they are never requested
 * - several blocks of one id, or chunks of one coordinate: the first counts; of arrays of one name, the last
 * - gaps and overlaps between blocks, unknown codecs, wrong decoded sizes: found when the block is read
 * - attribute indices beyond the dictionaries: they may refer to a layer below
 * - all fields of a deleted array except its name, because only the name is used
 *
 * @param dataBytes number of bytes in front of the payload
 * @param report called for each contradiction. Default: throws it
 * @throws FormatError, which names the array or block and the numbers
 */
export function checkFooter(footer: Footer, dataBytes: number, report: FooterReport = raise): void {
  for (const block of footer.blocks) checkBlock(block, dataBytes, report)
  const blocks = blocksById(footer.blocks)
  for (const array of footer.arrays) if (!array.deleted) checkArray(array, blocks, report)
}

export type FooterReport = (error: HyperslabError) => void

export const raise: FooterReport = (error) => {
  throw error
}

/** Returns the blocks by id, which need not be the index. Of several blocks with one id, the first counts. */
function blocksById(blocks: readonly BlockMeta[]): Map<number, BlockMeta> {
  const byId = new Map<number, BlockMeta>()
  for (const block of blocks) if (!byId.has(block.id)) byId.set(block.id, block)
  return byId
}

function checkBlock({ id, fileOffset, compressedBytes }: BlockMeta, dataBytes: number, report: FooterReport): void {
  // Compared without a sum, because the sum could exceed 2^53.
  if (fileOffset <= dataBytes && compressedBytes <= dataBytes - fileOffset) return
  const text = `block ${id} has ${compressedBytes} bytes at ${fileOffset}, beyond the ${dataBytes} bytes of data in the file`
  report(new HyperslabError('FormatError', text, { actual: [fileOffset, compressedBytes], expected: dataBytes }))
}

function checkArray(array: ArrayMeta, blocks: ReadonlyMap<number, BlockMeta>, report: FooterReport): void {
  const wrong: Wrong = (text, actual, expected, axis) =>
    report(
      new HyperslabError('FormatError', text, { array: array.name, actual, expected, ...(axis === undefined ? {} : { axis }) }),
    )
  checkShapes(array, wrong)
  const { length, blockIds, offsets, sizes } = array.chunks
  let block: BlockMeta | undefined
  for (let index = 0; index < length; index++) {
    const id = blockIds[index]!
    // Consecutive chunks mostly share a block.
    if (block?.id !== id) block = blocks.get(id)
    if (block === undefined) {
      wrong(`chunk ${showCoord(array, index)} is in block ${id}, which does not exist`, id)
      continue
    }
    if (offsets[index]! + sizes[index]! <= block.uncompressedBytes) continue
    const place = `chunk ${showCoord(array, index)} has ${sizes[index]} bytes at ${offsets[index]}`
    wrong(`${place}, beyond the ${block.uncompressedBytes} bytes of block ${id}`, offsets[index]!, block.uncompressedBytes)
  }
}

type Wrong = (text: string, actual: unknown, expected?: unknown, axis?: number) => void

/**
 * Checks that each axis has a chunk length, that the lengths form a grid, and that each axis has a name.
 * Files of other writers may have no names at all.
 */
function checkShapes({ shape, chunkShape, dimensionNames }: ArrayMeta, wrong: Wrong): void {
  const rank = shape.length
  if (!Number.isSafeInteger(sizeOf(shape))) wrong(`shape ${showShape(shape)} has more than 2^53 elements`, shape)
  if (!Number.isSafeInteger(sizeOf(chunkShape)))
    wrong(`chunk shape ${showShape(chunkShape)} has more than 2^53 elements`, chunkShape)
  if (chunkShape.length !== rank) wrong(`shape ${showShape(shape)}, but chunk shape ${showShape(chunkShape)}`, chunkShape, rank)
  if (dimensionNames.length !== rank && dimensionNames.length !== 0) {
    wrong(`${rank} axes, but ${dimensionNames.length} dimension names`, dimensionNames, rank)
  }
  const axis = shape.findIndex((length, axis) => length > 0 && chunkShape[axis] === 0)
  if (axis >= 0) wrong(`axis ${axis} has length ${shape[axis]}, but chunks of length 0`, chunkShape, undefined, axis)
}

const showCoord = ({ chunks: { rank, coords } }: ArrayMeta, index: number): string =>
  showShape([...coords.subarray(index * rank, (index + 1) * rank)])
