import { HyperslabError } from '../../core/errors.ts'
import type { ByteRange } from '../../store/store.ts'
import { decodeIndex } from './codecs.ts'
import { showJson } from './document.ts'
import type { CodecMetadata } from './metadata.ts'
import type { ChunkLengths } from './stored-grid.ts'

/**
 * One level of shards: each is cut into chunks of `innerShape`, which may be shards themselves, and has a
 * table of where these are.
 */
export interface ShardLevel {
  /** Shape of an inner chunk, by the axes of the array. */
  readonly innerShape: readonly number[]
  /** The axes of the array in the order in which shards have them. */
  readonly order: readonly number[]
  readonly indexCodecs: readonly CodecMetadata[]
  readonly indexAtStart: boolean
}

/** How the chunks of an array lie in its objects. */
export interface ChunkPlan {
  /** What an object of the store holds: a shard, or a chunk. */
  readonly objects: ChunkLengths
  /** From the outermost to the innermost; none where objects are chunks. */
  readonly levels: readonly ShardLevel[]
  /** The lengths of chunks. */
  readonly chunks: ChunkLengths
  /** Those of one chunk. */
  readonly codecs: readonly CodecMetadata[]
}

const SHARDING = 'sharding_indexed'

/**
 * Takes the levels of sharding out of the codecs of an array.
 * @throws FormatError, CodecError when they do not fit, or shards cannot be read in parts
 */
export function planChunks(chunks: ChunkLengths, codecs: readonly CodecMetadata[]): ChunkPlan {
  const levels: ShardLevel[] = []
  let [lengths, own] = [chunks, codecs]
  let order = chunks.map((_, axis) => axis)
  for (;;) {
    const at = own.findIndex(({ name }) => name === SHARDING)
    if (at < 0) return { objects: chunks, levels, chunks: lengths, codecs: own }
    const before = own.slice(0, at)
    for (const { name, configuration } of before) order = transposed(order, name, configuration)
    if (at < own.length - 1)
      throw new HyperslabError('CodecError', `codec '${own[at + 1]!.name}' encodes whole shards: their chunks cannot be read`, {
        actual: own[at + 1]!.name,
      })
    const config = shardingOf(own[at]!.configuration, order.length)
    const innerShape = new Array<number>(order.length)
    for (const [i, axis] of order.entries()) innerShape[axis] = config.chunkShape[i]!
    checkDivides(lengths, innerShape)
    levels.push({ innerShape, order, indexCodecs: config.indexCodecs, indexAtStart: config.indexAtStart })
    lengths = innerShape
    // Axes are put in the order of the shard before its chunks are cut.
    own = [...before, ...config.codecs]
    order = chunks.map((_, axis) => axis)
  }
}

/** @throws CodecError for what is no permutation of axes */
function transposed(order: readonly number[], name: string, { order: given }: CodecMetadata['configuration']): number[] {
  const axes = name === 'transpose' && Array.isArray(given) ? (given as unknown[]) : undefined
  if (axes === undefined)
    throw new HyperslabError('CodecError', `codec '${name}' before '${SHARDING}' is not known`, { actual: name })
  if (axes.length !== order.length || order.some((_, axis) => !axes.includes(axis)))
    throw new HyperslabError('CodecError', `transpose: ${showJson(axes)} is no order of ${order.length} axes`, {
      actual: axes,
    })
  return axes.map((axis) => order[axis as number]!)
}

function shardingOf(
  configuration: CodecMetadata['configuration'],
  rank: number,
): { chunkShape: number[]; codecs: CodecMetadata[]; indexCodecs: CodecMetadata[]; indexAtStart: boolean } {
  const { chunk_shape: chunkShape, codecs, index_codecs: indexCodecs, index_location: location = 'end' } = configuration
  const refuse = (what: string, actual: unknown): never => {
    throw new HyperslabError('FormatError', `${SHARDING}: ${what}, got ${showJson(actual)}`, { actual })
  }
  const isLength = (length: unknown): boolean => Number.isSafeInteger(length) && (length as number) >= 1
  if (!Array.isArray(chunkShape) || chunkShape.length !== rank || !chunkShape.every(isLength))
    refuse(`chunk_shape is ${rank} lengths from 1`, chunkShape)
  if (location !== 'end' && location !== 'start') refuse("index_location is 'start' or 'end'", location)
  return {
    chunkShape: chunkShape as number[],
    codecs: codecList('codecs', codecs, refuse),
    indexCodecs: codecList('index_codecs', indexCodecs, refuse),
    indexAtStart: location === 'start',
  }
}

function codecList(name: string, given: unknown, refuse: (what: string, actual: unknown) => never): CodecMetadata[] {
  if (!Array.isArray(given) || given.length === 0) refuse(`${name} is a list of codecs`, given)
  return (given as unknown[]).map((codec) => {
    const { name: own, configuration = {} } = (
      typeof codec === 'string' ? { name: codec } : Object(codec)
    ) as Partial<CodecMetadata>
    if (typeof own !== 'string' || typeof configuration !== 'object' || configuration === null)
      refuse(`${name} have a name and a configuration`, codec)
    return { name: own!.replace(/^numcodecs\./, ''), configuration: configuration as CodecMetadata['configuration'] }
  })
}

function checkDivides(shards: ChunkLengths, inner: readonly number[]): void {
  for (const [axis, lengths] of shards.entries()) {
    const wrong = (typeof lengths === 'number' ? [lengths] : lengths).find((length) => length % inner[axis]! !== 0)
    if (wrong === undefined) continue
    const text = `${SHARDING}: chunks of ${inner[axis]} do not divide shards of ${wrong} along axis ${axis}`
    throw new HyperslabError('FormatError', text, { axis, actual: inner[axis], expected: wrong })
  }
}

/**
 * Shape of the table of a shard of this shape: its inner chunks along each axis, in the order of the shard.
 */
export const tableShape = (shardShape: readonly number[], { innerShape, order }: ShardLevel): number[] =>
  order.map((axis) => shardShape[axis]! / innerShape[axis]!)

/** Where the inner chunks of a shard are, by their positions in C order. */
export class ShardTable {
  readonly #offsets: Float64Array
  readonly #lengths: Float64Array

  /**
   * @param bytes as stored
   * @param room bytes of the shard, in which all chunks have to lie
   * @throws CodecError, IntegrityError for bytes that are no table; FormatError for chunks beyond the shard
   */
  constructor(bytes: Uint8Array, count: number, { indexCodecs }: ShardLevel, room: number) {
    const entries = decodeIndex(indexCodecs, bytes, count)
    this.#offsets = new Float64Array(count)
    this.#lengths = new Float64Array(count)
    for (let i = 0; i < count; i++) {
      const [offset, length] = [entries[2 * i]!, entries[2 * i + 1]!]
      const absent = offset === NOWHERE && length === NOWHERE
      if (!absent && (length === 0n || offset + length > BigInt(room))) {
        const text = `chunk ${i} of a shard of ${room} bytes is said to be the ${length} bytes from ${offset}`
        throw new HyperslabError('FormatError', text, { actual: offset + length, expected: room })
      }
      this.#offsets[i] = absent ? -1 : Number(offset)
      this.#lengths[i] = Number(length)
    }
  }

  get byteLength(): number {
    return this.#offsets.byteLength + this.#lengths.byteLength
  }

  /** The bytes of the shard that a chunk is; undefined when nobody wrote it. */
  find(position: number): ByteRange | undefined {
    const offset = this.#offsets[position]!
    return offset < 0 ? undefined : { offset, length: this.#lengths[position]! }
  }
}

/** Both numbers of a chunk that nobody wrote. */
const NOWHERE = 2n ** 64n - 1n
