import { copyPicked } from '../array/pick.ts'
import { type DataOf, type DType, isFixed } from '../core/dtype.ts'
import { Pace } from '../core/pace.ts'
import type { AxisIndices } from '../core/places.ts'
import { coordsAt, sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { type Tensor, tensorOf } from '../core/tensor.ts'
import { PickProjector } from '../grid/pick-projection.ts'
import type { Transfer } from '../grid/plan.ts'
import { type Arena, withArena } from '../kernels/arena.ts'
import { type BlockRef, type ChunkAddress, chunkPart, chunkView } from './block.ts'
import type { BlockUse } from './block-reader.ts'
import type { ChunkSnapshot, StoredChunk } from './chunk-index.ts'
import { decodeChunk } from './chunk-values.ts'
import { type PickSource, pickInPiece } from './gather-staging.ts'

/**
 * Which elements of a chunk go where; all with one axis for each selector, which may be several axes of the
 * array taken together.
 */
export interface Picking<D extends DType = DType> {
  /** As stored. */
  readonly chunkShape: readonly number[]
  readonly inner: readonly AxisIndices[]
  /** In the result. */
  readonly outer: readonly AxisIndices[]
  readonly out: Tensor<D>
}

export type PickedChunk<D extends DType = DType> = Picking<D> & { readonly address: ChunkAddress }

interface Target<D extends DType> {
  readonly dtype: D
  /** What empty chunks hold. */
  readonly fill: DataOf<D>[number]
  readonly out: Tensor<D>
}

type Blocks<D extends DType> = Map<BlockRef, PickedChunk<D>[]>

/**
 * Adds a chunk, given its index in the grid, to the blocks where it lies in one; gives what is at hand of it,
 * and nothing of a missing one.
 */
export type Find<D extends DType> = (chunkIndex: number, chunk: Picking<D>, blocks: Blocks<D>) => StoredChunk | undefined

/**
 * The chunks that transfers want something of, by their blocks. Those that need no I/O are placed on the way.
 * Gives way to others of the thread while there are many.
 * @throws ConflictError when the array has got another grid meanwhile; the reason of the signal
 */
export async function locatePicks<D extends DType>(
  transfers: readonly Transfer[],
  snapshot: ChunkSnapshot,
  { dtype, fill, out }: Target<D>,
  find: Find<D>,
  signal: Signal | undefined,
): Promise<Blocks<D>> {
  const blocks: Blocks<D> = new Map()
  const { grid } = snapshot
  const projector = new PickProjector(grid)
  const pace = new Pace(signal)
  for (const transfer of transfers) {
    const projected = projector.project(transfer)
    const counts = projected.map(({ length }) => length)
    for (let at = 0, count = sizeOf(counts); at < count; at++) {
      if (pace.due()) {
        await pace.turn()
        snapshot.checkGrid('read')
      }
      const index = coordsAt(at, counts)
      const parts = projected.map((own, i) => own[index[i]!]!)
      const chunkShape = parts.map(({ length }) => length)
      const picking = { chunkShape, inner: parts.map(({ inner }) => inner), outer: parts.map(({ outer }) => outer), out }
      const found = find(grid.number(parts.flatMap(({ chunk }) => chunk)), picking, blocks)
      if (found === undefined) fillPicked(fill, picking)
      else if (found instanceof Uint8Array) withArena((arena) => pickChunks(arena, dtype, [{ bytes: found, picking }]))
    }
  }
  return blocks
}

/** What reading does with the chunks of a block: puts what is picked of them into the result. */
export function picking<D extends DType>(dtype: D): BlockUse<PickedChunk<D>, void> {
  const here: BlockUse<PickedChunk<D>, void>['here'] = (arena, chunks, bytesOf) => {
    pickChunks(
      arena,
      dtype,
      chunks.map((chunk) => ({ bytes: bytesOf(chunk), picking: chunk })),
    )
  }
  return {
    here,
    there: (chunks) => ({
      task: { kind: 'decode', keep: false },
      result: ({ bytes }) => withArena((arena) => here(arena, chunks, ({ address }) => chunkPart(bytes, address))),
    }),
  }
}

/** Puts what is picked of decoded chunks into their result: as many at once as make up a piece of it. */
function pickChunks<D extends DType>(arena: Arena, dtype: D, sources: readonly PickSource<D>[]): void {
  if (isFixed(dtype) && pickInPiece(arena, dtype, sources as readonly PickSource<never>[])) return
  if (sources.length > 1) for (const part of split(sources)) withArena((inner) => pickChunks(inner, dtype, part))
  else {
    const [{ bytes, picking }] = sources as [PickSource<D>]
    const { chunkShape, inner, outer, out } = picking
    const data = decodeChunk(dtype, chunkView(arena, bytes), sizeOf(chunkShape))
    copyPicked(tensorOf(dtype, chunkShape, data), inner, out, outer)
  }
}

/** Apart along the first axis on which not all have the same places. */
function split<D extends DType>(sources: readonly PickSource<D>[]): Iterable<PickSource<D>[]> {
  const { outer } = sources[0]!.picking
  const axis = outer.findIndex((places, i) => sources.some(({ picking }) => picking.outer[i] !== places))
  const parts = new Map<AxisIndices, PickSource<D>[]>()
  for (const source of sources) {
    const places = source.picking.outer[axis]!
    const part = parts.get(places)
    if (part === undefined) parts.set(places, [source])
    else part.push(source)
  }
  return parts.values()
}

/** Puts a value wherever something is picked. */
function fillPicked<D extends DType>(value: DataOf<D>[number], { chunkShape, inner, outer, out }: Picking<D>): void {
  copyPicked({ data: [value] as never, shape: [...chunkShape], stride: inner.map(() => 0), offset: 0 }, inner, out, outer)
}
