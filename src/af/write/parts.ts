import type { Segment } from '../../codec/lz4-segments.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { BlockRef } from '../../engine/block.ts'
import type { BlockReader } from '../../engine/block-reader.ts'
import type { CheckedSegment, SegmentChecksums } from '../../engine/segment-checksums.ts'
import type { BlockSegments } from '../../engine/segments.ts'
import type { Stage } from '../../store/store.ts'
import type { ArrayStats } from '../format/array-stats.ts'
import { type ChunkStatsTable, chunkStatsTable, readRow } from '../format/chunk-stats-table.ts'
import type { ArrayMeta, BlockMeta } from '../format/footer.ts'
import type { ArrayState } from '../layers/array-state.ts'
import { Dictionary } from '../layers/dictionary.ts'
import { Layer } from '../layers/layer.ts'
import { PendingChunk } from '../layers/pending-chunk.ts'
import { publishLayer } from './commit.ts'
import type { ContainerFiles } from './container-files.ts'
import { footerStats, mergedFooterStats } from './footer-stats.ts'
import { publishImmutable } from './immutable.ts'

/**
 * Blocks that one process has packed for a container that another process publishes. Describes the chunks of
 * one array in bytes that are passed separately. Numbers are in columns, so that a part can be sent as it is.
 */
export interface ContainerPart {
  readonly array: string
  /** Size of its blocks in bytes. They lie one after another. */
  readonly bytes: number
  /** For each block: stored bytes, decoded bytes and CRC-32C. */
  readonly blocks: Float64Array
  /** For each chunk: its number in the grid, its block, its offset there and its decoded bytes. */
  readonly chunks: Float64Array
  /** Statistics of each chunk, in the same order; undefined for arrays without statistics. */
  readonly stats: ChunkStatsTable | undefined
  /**
   * Statistics of the array with these chunks alone, for footers of version 6. Undefined for other footers,
   * and for nested types.
   */
  readonly footerStats: ArrayStats | undefined
  /** For each segment of LZ4: its block, stored bytes, decoded bytes, head, match, tail and CRC-32C. */
  readonly segments: Float64Array
  /** For each segment of uncompressed blocks: its block, bytes and CRC-32C. */
  readonly checkedSegments: Float64Array
}

const BLOCK_FIELDS = 3
const CHUNK_FIELDS = 4
const SEGMENT_NUMBERS = 7
const CHECKED_NUMBERS = 3

/**
 * Returns the contents of an array in the only layer of a container.
 * @param blocks of the container, for parts of a file of footer version 6
 */
export async function partOf(state: ArrayState, blocks: BlockReader | undefined): Promise<ContainerPart> {
  const numbers = [...state.numbers()].sort((a, b) => a - b)
  const places = new Map<BlockRef, number>()
  const chunks: number[] = []
  for (const { block } of numbers.map((number) => state.find(number)!)) if (!places.has(block)) places.set(block, 0)
  const refs = [...places.keys()].sort((a, b) => a.fileOffset - b.fileOffset)
  for (const [i, block] of refs.entries()) places.set(block, i)
  for (const number of numbers) {
    const { block, offset, size } = state.find(number)!
    chunks.push(number, places.get(block)!, offset, size)
  }
  const segments: number[] = []
  const checkedSegments: number[] = []
  for (const [i, block] of refs.entries()) {
    const { segmentsOf, checksumsOf } = block.origin
    for (const each of ((await segmentsOf?.(block)) as BlockSegments | undefined)?.refs ?? []) {
      const { compressedBytes, uncompressedBytes, head, match, tail, crc } = each
      segments.push(i, compressedBytes, uncompressedBytes, head, match, tail, crc)
    }
    const checked = (await checksumsOf?.(block)) as SegmentChecksums | undefined
    for (let part = 0; part < (checked?.count ?? 0); part++) {
      const { range, crc } = checked!.at(part)
      checkedSegments.push(i, range.length, crc)
    }
  }
  const { name, dtype } = state.definition
  return {
    array: name,
    bytes: refs.reduce((sum, { compressedBytes }) => sum + compressedBytes, 0),
    blocks: Float64Array.from(
      refs.flatMap(({ compressedBytes, uncompressedBytes, crc }) => [compressedBytes, uncompressedBytes, crc!]),
    ),
    chunks: Float64Array.from(chunks),
    stats: chunkStatsTable({ dtype } as ArrayMeta, numbers.map((number) => state.chunkStats.get(number))), // biome-ignore format: one line
    footerStats: blocks && ((await footerStats(state, numbers, blocks)) ?? undefined),
    segments: Float64Array.from(segments),
    checkedSegments: Float64Array.from(checkedSegments),
  }
}

/** Parts of a container whose bytes lie in a stage, one after another, and the identity of the container. */
export interface PartedContainer {
  /** All arrays with their attributes. None has a chunk yet. */
  readonly states: readonly ArrayState[]
  /** In the order of their bytes. */
  readonly parts: readonly ContainerPart[]
  readonly stage: Pick<Stage, 'publish'>
  /** 128 bits in hexadecimal that identify the container. */
  readonly id: string
  /** Whether to write a footer of version 6. */
  readonly immutable: boolean
}

/** Blocks of all parts, one after another, and the arrays with the addresses of their chunks. */
function gatherParts({ store, paths, options }: ContainerFiles, { states, parts }: Pick<PartedContainer, 'states' | 'parts'>) {
  const blocks: BlockMeta[] = []
  const crcs: number[] = []
  const segments = new Map<number, Segment[]>()
  const checkedSegments = new Map<number, CheckedSegment[]>()
  const pending = new Map(states.map((state) => [state.definition.name, createPending(state)]))
  const codec = options.codec === 'none' ? null : options.codec
  const origin = { file: store.describe(paths.base) } as BlockRef['origin']
  let fileOffset = 0
  for (const part of parts) {
    const own = pending.get(part.array)
    if (own === undefined) throw mismatch(`is of '${part.array}', which there is not`, part)
    if (part.footerStats !== undefined) own.stats.push(part.footerStats)
    const first = blocks.length
    for (const [compressedBytes, uncompressedBytes, crc] of splitRows(part.blocks, BLOCK_FIELDS)) {
      blocks.push({
        id: blocks.length,
        fileOffset,
        compressedBytes: compressedBytes!,
        uncompressedBytes: uncompressedBytes!,
        codec,
      })
      crcs.push(crc!)
      fileOffset += compressedBytes!
    }
    for (const [i, [number, at, offset, size]] of splitRows(part.chunks, CHUNK_FIELDS).entries()) {
      const block = blocks[first + at!]
      if (block === undefined || offset! + size! > block.uncompressedBytes)
        throw mismatch(`has chunk ${number} beyond its blocks`, part)
      if (own.chunks.has(number!) || number! >= own.state.grid.count)
        throw mismatch(`has chunk ${number}, which is none or another's`, part)
      const chunk = new PendingChunk()
      chunk.address = { block: { ...block, codec: options.codec, crc: crcs[first + at!], origin }, offset: offset!, size: size! }
      own.chunks.set(number!, chunk)
      if (part.stats !== undefined) own.state.measured(number!, readRow(part.stats, own.state.definition.dtype.kind, i))
    }
    for (const [at, compressedBytes, uncompressedBytes, head, match, tail, crc] of splitRows(part.segments, SEGMENT_NUMBERS)) {
      const segment = { compressedBytes, uncompressedBytes, head, match, tail, crc } as Segment
      append(segments, first + at!, segment)
    }
    for (const [at, bytes, crc] of splitRows(part.checkedSegments, CHECKED_NUMBERS))
      append(checkedSegments, first + at!, { bytes: bytes!, crc: crc! })
  }
  return { arrays: [...pending.values()], blocks, crcs, segments, checkedSegments }
}

/**
 * Publishes a container that several processes have packed, as a single file.
 * @throws ConflictError if one exists; FormatError for parts that do not match its arrays
 */
export async function publishParts(
  files: ContainerFiles,
  { states, parts, stage, id, immutable }: PartedContainer,
): Promise<void> {
  const { store, paths, options } = files
  const { arrays, ...gathered } = gatherParts(files, { states, parts })
  const packed = { finish: async () => ({ stage, ...gathered }) }
  const condition = { ifAbsent: true }
  if (immutable) {
    const stats = arrays.map(({ state, stats }) => mergedFooterStats(state.definition, stats))
    await publishImmutable(files, { arrays, stats, id }, packed, condition)
    return
  }
  const contents = {
    number: 0,
    base: paths.base,
    arrays,
    deleted: [],
    dictionary: new Dictionary(),
    identity: { id, kind: 'base' as const },
  }
  await publishLayer(store, paths.base, contents, packed, { ...options, condition })
}

/**
 * Whether the existing container has the given identity; undefined if none exists.
 * @throws FormatError if the file there is not a container
 */
export async function isPublishedAs({ store, paths, options }: ContainerFiles, id: string): Promise<boolean | undefined> {
  const layer = await Layer.open(store, paths.base, 0, options.limits)
  return layer && layer.identity.id === id
}

const createPending = (state: ArrayState) => ({ state, chunks: new Map<number, PendingChunk>(), stats: [] as ArrayStats[] })

const splitRows = (numbers: Float64Array, width: number): Float64Array[] =>
  Array.from({ length: numbers.length / width }, (_, i) => numbers.subarray(i * width, (i + 1) * width))

function append<T>(lists: Map<number, T[]>, key: number, value: T): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

const mismatch = (text: string, { array }: ContainerPart): HyperslabError =>
  new HyperslabError('FormatError', `a part of the container ${text}`, { array })
