import type { BlockSource, NamedValues } from '../../src/array/source.ts'
import type { DType, ScalarOf } from '../../src/core/dtype.ts'
import { stridesOf } from '../../src/core/shape.ts'
import { copyTensor, type Tensor, viewTensor } from '../../src/core/tensor.ts'
import type { ChunkGrid } from '../../src/grid/chunks.ts'
import { type Box, boxShape, rangeLength } from '../../src/grid/range.ts'
import type { Plain } from './oracle.ts'

/** A source over a plain array that logs every call and refuses boxes that break the contract. */
export class CountingSource<D extends DType> implements BlockSource<D> {
  readonly reads: Box[] = []
  readonly writes: Box[] = []
  readonly dtype: D
  readonly shape: readonly number[]
  readonly chunks: ChunkGrid
  readonly fillValue: ScalarOf<D> | undefined
  readonly capabilities: { readonly steps: boolean }
  readonly dimensionNames: readonly string[] | undefined
  readonly attrs: NamedValues | undefined
  readonly label = { file: 'counting', array: 'plain' }
  readonly #tensor: Tensor<D>

  constructor(
    plain: Plain<D>,
    chunks: ChunkGrid,
    options: { steps?: boolean; fillValue?: ScalarOf<D>; dimensionNames?: readonly string[]; attrs?: NamedValues } = {},
  ) {
    this.dtype = plain.dtype
    this.shape = plain.shape
    this.chunks = chunks
    this.fillValue = options.fillValue
    this.capabilities = { steps: options.steps ?? false }
    this.dimensionNames = options.dimensionNames
    this.attrs = options.attrs
    this.#tensor = { data: plain.data, shape: [...plain.shape], stride: stridesOf(plain.shape), offset: 0 }
  }

  async readBlock(box: Box, out: Tensor<D>): Promise<void> {
    this.#check(box, out)
    this.reads.push(box)
    copyTensor(this.#view(box), out)
  }

  async writeBlock(box: Box, source: Tensor<D>): Promise<void> {
    this.#check(box, source)
    this.writes.push(box)
    copyTensor(source, this.#view(box))
  }

  #view(box: Box): Tensor<D> {
    return viewTensor(
      this.#tensor,
      box.map((range) => ({ start: range.start, step: range.step, length: rangeLength(range) })),
    )
  }

  #check(box: Box, tensor: Tensor<D>): void {
    const problems = box.flatMap(({ start, stop, step }, axis) => [
      ...(start >= 0 && start < stop && stop <= this.shape[axis]! ? [] : [`range ${start}:${stop} of axis ${axis}`]),
      ...(step === 1 || (this.capabilities.steps && step > 1) ? [] : [`step ${step}`]),
    ])
    if (box.length !== this.shape.length) problems.push(`${box.length} ranges`)
    if (String(boxShape(box)) !== String(tensor.shape)) problems.push(`tensor of shape ${tensor.shape}`)
    if (problems.length > 0) throw new Error(`the source was asked for ${problems.join(', ')}`)
  }
}
