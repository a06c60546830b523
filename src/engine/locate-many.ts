import type { DataOf, DType } from '../core/dtype.ts'
import { Pace } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'
import { fillTensor, type Tensor, viewTensor } from '../core/tensor.ts'
import { type Box, viewOf } from '../grid/range.ts'
import { cutBox, TouchedChunks } from '../grid/touched.ts'
import { withArena } from '../kernels/arena.ts'
import type { ChunkAddress } from './block.ts'
import type { ChunkSnapshot, StoredChunk } from './chunk-index.ts'
import { type Placement, placeChunk } from './scatter.ts'
import { visitChunks } from './visit-chunks.ts'

/** Elements that nobody wrote which are set at once. */
const FILL_SIZE = 2 ** 20

/** Where a box goes that touches very many chunks. */
interface Target<D extends DType> {
  readonly dtype: D
  /** What missing chunks hold, as stored. */
  readonly fill: DataOf<D>[number]
  readonly out: Tensor<D>
  /** Takes what is to be fetched. */
  add(found: ChunkAddress, chunk: Placement & { readonly out: Tensor<D> }): void
}

/**
 * Finds the chunks that a box touches. Those that need no I/O are placed on the way, runs of missing ones at
 * once.
 */
export async function locateMany<D extends DType>(
  snapshot: ChunkSnapshot,
  box: Box,
  { dtype, fill, out, add }: Target<D>,
  signal: Signal | undefined,
): Promise<void> {
  const { grid } = snapshot
  const touched = new TouchedChunks(box, grid)
  const pace = new Pace(signal)
  const stored = (at: number, found: StoredChunk): void => {
    const projections = touched.projections(at)
    const placement = {
      chunkShape: grid.shapeOf(projections.map(({ chunk }) => chunk)),
      inner: projections.map(({ inner }) => inner),
      outer: projections.map(({ outer }) => outer),
    }
    if (found instanceof Uint8Array) withArena((arena) => placeChunk(arena, dtype, found, placement, out))
    else add(found, { ...placement, out })
  }
  const missing = async (from: number, to: number): Promise<void> => {
    for (const part of touched.boxes(from, to)) {
      for (const piece of cutBox(part, FILL_SIZE)) {
        if (pace.due()) await pace.turn()
        fillTensor(viewTensor(out, piece.map(viewOf)), fill)
      }
    }
  }
  await visitChunks(snapshot, touched, { stored, missing }, (at) => touched.number(at), signal)
}
