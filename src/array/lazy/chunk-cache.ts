import { ByteCache } from '../../core/byte-cache.ts'
import { cloneTensor } from '../../core/dense.ts'
import type { DType } from '../../core/dtype.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { sizeOf } from '../../core/shape.ts'
import { jointly, type Signal } from '../../core/signal.ts'
import { SingleFlight } from '../../core/single-flight.ts'
import { type AxisView, copyTensor, type Tensor, viewTensor } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import { projectBox } from '../../grid/projection.ts'
import { type Box, boxShape, viewOf } from '../../grid/range.ts'
import { filledBox } from '../../grid/touched.ts'
import { type BlockOptions, type BlockSource, bytesOf } from '../source.ts'
import type { WriteWhere } from './derive.ts'
import { writeWhere } from './picked.ts'
import { READS_AT_A_TIME, readFresh } from './picks.ts'

interface Entry<D extends DType> {
  readonly tensor: Tensor<D>
  readonly byteLength: number
}

/** A chunk that a box touches. */
interface Touched {
  readonly chunkIndex: number
  readonly from: readonly AxisView[]
  readonly to: readonly AxisView[]
}

/** Cache of the most recently used chunks of a source. */
export class ChunkCache<D extends DType> {
  readonly #source: BlockSource<D>
  /** The grid at creation, because resizing the source changes the numbers of its chunks. */
  readonly #grid: ChunkGrid
  readonly #entries: ByteCache<number, Entry<D>>
  readonly #maxBytes: number
  readonly #loads = new SingleFlight<string, Tensor<D>>()
  /** Counts starts and ends of writes. Chunks whose load overlaps one are not cached. */
  #version = 0

  constructor(source: BlockSource<D>, grid: ChunkGrid, maxBytes: number) {
    this.#source = source
    this.#grid = grid
    this.#entries = new ByteCache(maxBytes)
    this.#maxBytes = maxBytes
  }

  async read(box: Box, out: Tensor<D>, options?: BlockOptions): Promise<void> {
    const place = (tensor: Tensor<D>, { from, to }: Touched): void => copyTensor(viewTensor(tensor, from), viewTensor(out, to))
    const missing: Touched[] = []
    for (const chunk of this.#touched(box)) {
      const entry = this.#entries.get(chunk.chunkIndex)
      if (entry === undefined) missing.push(chunk)
      else place(entry.tensor, chunk)
    }
    // Chunks that are being loaded already are not read again.
    const fresh = missing.filter(({ chunkIndex }) => !this.#loads.has(this.#key(chunkIndex)))
    const together = this.#together(fresh)
    const own = new Set(together && fresh)
    await forEachLimited(missing, together === undefined ? READS_AT_A_TIME : missing.length, async (chunk) => {
      options?.signal?.throwIfAborted()
      const start = (signal: Signal): Promise<Tensor<D>> => this.#load(chunk, signal, own.has(chunk) ? together : undefined)
      place(await this.#loads.share(this.#key(chunk.chunkIndex), start, options?.signal), chunk)
    })
  }

  #key(chunkIndex: number): string {
    return `${this.#version} ${chunkIndex}`
  }

  async #load({ chunkIndex }: Touched, signal: Signal, together: Together<D> | undefined): Promise<Tensor<D>> {
    const version = this.#version
    const box = this.#grid.box(this.#grid.index(chunkIndex))
    const tensor = await (together === undefined ? readFresh(this.#source, box, { signal }) : together(box, signal))
    if (version === this.#version) this.#entries.set(chunkIndex, { tensor, byteLength: bytesIn(tensor) })
    return tensor
  }

  /** Returns a read that several chunks which form a box share; it is aborted when all of them are. */
  #together(chunks: readonly Touched[]): Together<D> | undefined {
    if (chunks.length < 2) return undefined
    const boxes = chunks.map(({ chunkIndex }) => this.#grid.box(this.#grid.index(chunkIndex)))
    const hull = filledBox(boxes)
    if (hull === undefined || sizeOf(boxShape(hull)) * bytesOf(this.#source.dtype) > this.#maxBytes) return undefined
    const joint = jointly()
    let reading: Promise<Tensor<D>> | undefined
    return async (box, signal) => {
      joint.join(signal)
      reading ??= readFresh(this.#source, hull, { signal: joint.signal })
      const part = box.map((range, axis) => ({ ...viewOf(range), start: range.start - hull[axis]!.start }))
      return cloneTensor(this.#source.dtype, viewTensor(await reading, part))
    }
  }

  async write(...[box, values, mask, options]: Parameters<WriteWhere<D>>): Promise<void> {
    const forget = (): void => {
      this.#version++
      for (const { chunkIndex } of this.#touched(box)) this.#entries.delete(chunkIndex)
    }
    forget()
    try {
      await writeWhere(this.#source, box, values, mask, options)
    } finally {
      forget()
    }
  }

  #touched(box: Box): Touched[] {
    const touched: Touched[] = []
    projectBox(box, this.#grid, (chunkIndex, projections) => {
      touched.push({ chunkIndex, from: projections.map(({ from }) => from), to: projections.map(({ to }) => to) })
    })
    return touched
  }
}

type Together<D extends DType> = (box: Box, signal: Signal) => Promise<Tensor<D>>

function bytesIn({ data }: Tensor): number {
  if (ArrayBuffer.isView(data)) return data.byteLength
  return (data as (string | Uint8Array)[]).reduce(
    (sum, each) => sum + (typeof each === 'string' ? 2 * each.length : each.byteLength),
    0,
  )
}
