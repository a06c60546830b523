import { HyperslabError } from '../../core/errors.ts'
import { member } from '../../core/member.ts'
import { asShape, badMetadata, showJson } from './document.ts'
import type { ChunkPlan, CodecMetadata, ShardLevel, ZarrArrayMetadata } from './metadata.ts'
import type { ChunkLengths } from './stored-grid.ts'
import { parseOrder } from './transpose.ts'
import { parseCodecs } from './v3.ts'

const SHARDING = 'sharding_indexed'

/** Returns the arrangement of the chunks of an array. */
export const planChunks = ({ form, chunks, codecs }: Pick<ZarrArrayMetadata, 'form' | 'chunks' | 'codecs'>): ChunkPlan =>
  form?.plan ?? planLevels(chunks, codecs)

/**
 * Separates the levels of sharding from the codecs of an array.
 * @throws FormatError, CodecError if they do not fit, or if shards cannot be read in parts
 */
export function planLevels(chunks: ChunkLengths, codecs: readonly CodecMetadata[]): ChunkPlan {
  const levels: ShardLevel[] = []
  let [lengths, own] = [chunks, codecs]
  let order = chunks.map((_, axis) => axis)
  for (;;) {
    const at = own.findIndex(({ name }) => name === SHARDING)
    if (at < 0) return { objects: chunks, levels, chunks: lengths, codecs: own }
    const before = own.slice(0, at)
    for (const { name, configuration } of before) {
      if (name !== 'transpose')
        throw new HyperslabError('CodecError', `codec '${name}' before '${SHARDING}' is not known`, { actual: name })
      order = parseOrder(configuration.order, order.length).map((axis) => order[axis]!)
    }
    if (at < own.length - 1)
      throw new HyperslabError('CodecError', `codec '${own[at + 1]!.name}' encodes whole shards: their chunks cannot be read`, {
        actual: own[at + 1]!.name,
      })
    const config = parseSharding(own[at]!.configuration, order.length)
    const innerShape = new Array<number>(order.length)
    for (const [i, axis] of order.entries()) innerShape[axis] = config.chunkShape[i]!
    checkDivides(lengths, innerShape)
    levels.push({ innerShape, order, indexCodecs: config.indexCodecs, indexAtStart: config.indexAtStart })
    lengths = innerShape
    // Axes are permuted to the order of the shard before its chunks are divided.
    own = [...before, ...config.codecs]
    order = chunks.map((_, axis) => axis)
  }
}

function parseSharding(
  configuration: CodecMetadata['configuration'],
  rank: number,
): Pick<ShardLevel, 'indexCodecs' | 'indexAtStart'> & { chunkShape: number[]; codecs: CodecMetadata[] } {
  const chunkShape = asShape(member(configuration, 'chunk_shape'), `chunk_shape of ${SHARDING}`)
  if (chunkShape.length !== rank || chunkShape.includes(0))
    badMetadata(`chunk_shape of ${SHARDING} has ${rank} lengths from 1, got ${showJson(chunkShape)}`, chunkShape)
  const location = member(configuration, 'index_location') ?? 'end'
  if (location !== 'end' && location !== 'start')
    badMetadata(`index_location of ${SHARDING} is 'start' or 'end', got ${showJson(location)}`, location)
  return {
    chunkShape,
    codecs: parseCodecs(member(configuration, 'codecs')),
    indexCodecs: parseCodecs(member(configuration, 'index_codecs')),
    indexAtStart: location === 'start',
  }
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
 * Returns the shape of the table of a shard: the number of its inner chunks along each axis, in the order of
 * the shard.
 */
export const tableShape = (shardShape: readonly number[], { innerShape, order }: ShardLevel): number[] =>
  order.map((axis) => shardShape[axis]! / innerShape[axis]!)
