import type { BlockOptions, BlockSource, Missing } from '../../array/source.ts'
import type { AsyncBuffer } from '../../core/async-buffer.ts'
import type { ScalarOf } from '../../core/dtype.ts'
import { within } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { raceAbort } from '../../core/signal.ts'
import type { Tensor } from '../../core/tensor.ts'
import type { ChunkGrid } from '../../grid/chunks.ts'
import type { Box } from '../../grid/range.ts'
import { readBytes } from './async-buffer.ts'
import type { NetcdfAttributes } from './attributes.ts'
import type { VariableLayout } from './layout.ts'
import { placeElements } from './place.ts'
import { planFileReads } from './requests.ts'
import type { ClassicDType } from './types.ts'

/**
 * Requests of one read under way at the same time; with 8 MiB each at most, this bounds the memory of any
 * read.
 */
const CONCURRENT_REQUESTS = 4

export interface NetcdfSourceOptions<D extends ClassicDType | 'string'> {
  readonly dtype: D
  readonly layout: VariableLayout
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
  readonly attrs: NetcdfAttributes
  readonly label: { readonly file: string; readonly array: string }
}

/** A variable of a classic NetCDF file, read straight from its bytes. */
export class NetcdfSource<D extends ClassicDType | 'string' = ClassicDType | 'string'> implements BlockSource<D> {
  readonly dtype: D
  readonly shape: readonly number[]
  readonly chunks: ChunkGrid
  readonly dimensionNames: readonly string[]
  readonly fillValue: ScalarOf<D> | undefined
  readonly missing: Missing<D> | undefined
  readonly attrs: NetcdfAttributes
  /**
   * Steps are free: what lies between is read where it is short, left out where it is long, and never kept.
   */
  readonly capabilities = { steps: true }
  readonly label: { readonly file: string; readonly array: string }
  readonly #file: AsyncBuffer
  readonly #layout: VariableLayout

  constructor(file: AsyncBuffer, { dtype, layout, fillValue, missing, attrs, label }: NetcdfSourceOptions<D>) {
    this.dtype = dtype
    this.shape = layout.shape
    this.chunks = layout.chunks
    this.dimensionNames = layout.dimensionNames
    this.fillValue = fillValue
    this.missing = missing
    this.attrs = attrs
    this.label = label
    this.#file = file
    this.#layout = layout
  }

  async readBlock(box: Box, out: Tensor<D>, options: BlockOptions = {}): Promise<void> {
    await within(this.label, () =>
      forEachLimited(planFileReads(this.#layout, box, out), CONCURRENT_REQUESTS, async (request) => {
        options.signal?.throwIfAborted()
        // The read goes on, but nobody waits for it.
        const read = readBytes(this.#file, request.start, request.start + request.byteLength)
        const bytes = await raceAbort(read, options.signal)
        placeElements(this.dtype, this.#layout.elementBytes, request, bytes, out.data)
      }),
    )
  }
}
