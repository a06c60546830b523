import { type DataOf, type DType, type FixedDType, isBigInt, isFixed, isFloat } from '../../core/dtype.ts'
import { sizeOf } from '../../core/shape.ts'
import { mergedAxes, type Tensor } from '../../core/tensor.ts'
import type { SkipRule } from '../../kernels/reduce.ts'
import { missingElements, type SkipMissingOptions } from '../missing.ts'
import type { BlockSource } from '../source.ts'

/** Elements that a reduction of arrays skips. */
export interface SkipOptions extends SkipMissingOptions {
  /** Whether to skip NaN even if it is not missing. Default: false; results that include it are NaN. */
  readonly skipNaN?: boolean
}

/** Skipped values: elements equal to `fill` (undefined equals nothing) and, with `nan`, NaN. */
export interface Skipped {
  readonly fill: unknown
  readonly nan: boolean
}

/** @param source has at most one missing value */
export function skippedOf(source: BlockSource, { skipMissing = true, skipNaN = false }: SkipOptions): Skipped {
  const { values, nan } = missingElements(skipMissing ? source : { dtype: source.dtype })
  return { fill: values[0], nan: nan || (skipNaN && isFloat(source.dtype)) }
}

/** Returns the skipped values in the form of the kernels. */
export function toSkipRule(source: BlockSource, options: SkipOptions): SkipRule {
  const { fill, nan } = skippedOf(source, options)
  if (fill === undefined) return nan ? 'nan' : 'none'
  return nan ? { fill: fill as number, nan } : { fill: fill as number | bigint }
}

/** Elements as loops receive them. */
export type RowValues = { readonly [index: number]: number | bigint }

/**
 * Processes a row of `length` contiguous elements from `at` on. The first belongs to `cell` and `place`; for
 * each further element, these grow by `cellStep` and `placeStep`.
 */
export type Row<V = never> = (
  values: V,
  at: number,
  length: number,
  cell: number,
  cellStep: number,
  place: number,
  placeStep: number,
) => void

/** Positions that accompany elements: that of the first one, and the step along each axis. */
export interface Strided {
  readonly start: number
  readonly stride: readonly number[]
}

const PIECE = 4096
/** Rows shorter than this are converted together if they are contiguous. */
const SHORT = 64

/**
 * Form of the elements that loops receive, so that they process one kind of array. `float` is float64 (64-bit
 * integers are rounded). `exact` is float64, or 64-bit integers unchanged. `raw` is the stored form.
 */
export type RowMode = 'float' | 'exact' | 'raw'

/** Passes the elements of tensors to a function in C order, in rows as long as their layout allows. */
export class RowReader {
  /** Skipped values among the elements passed on. */
  readonly skipped: Skipped
  readonly #converts: boolean
  readonly #bigFill: bigint | undefined
  readonly #wide: boolean
  #scratch = new Float64Array(0)

  constructor(dtype: DType, mode: RowMode, skipped: Skipped) {
    this.#wide = isBigInt(dtype)
    this.#converts = isFixed(dtype) && dtype !== 'float64' && (mode === 'float' || (mode === 'exact' && !this.#wide))
    const rounds = this.#wide && mode === 'float'
    this.#bigFill = rounds ? (skipped.fill as bigint | undefined) : undefined
    // Rounding could make other values equal to the fill value. It becomes NaN instead, which no integer is.
    this.skipped = rounds ? { fill: undefined, nan: skipped.fill !== undefined } : skipped
  }

  each(tensor: Tensor, cells: Strided, places: Strided, row: Row): void {
    if (sizeOf(tensor.shape) === 0) return
    const { shape: lengths, strides } = mergedAxes(tensor.shape, [tensor.stride, cells.stride, places.stride])
    const length = lengths.pop() ?? 1
    const [step, cellStep, placeStep] = (strides.pop() ?? [1, 0, 0]) as [number, number, number]
    const first = [tensor.offset, cells.start, places.start] as const
    const whole = this.#converts && length < SHORT && 2 * sizeOf(tensor.shape) >= tensor.data.length
    const data = whole ? this.#converted(tensor.data, 0, tensor.data.length, 1) : tensor.data
    const rows = sizeOf(lengths)
    for (let number = 0; number < rows; number++) {
      let [at, cell, place] = first as readonly [number, number, number]
      for (let axis = lengths.length - 1, rest = number; axis >= 0; axis--) {
        const position = rest % lengths[axis]!
        rest = (rest - position) / lengths[axis]!
        at += position * strides[axis]![0]!
        cell += position * strides[axis]![1]!
        place += position * strides[axis]![2]!
      }
      if (step === 1 && (whole || !this.#converts)) {
        row(data as never, at, length, cell, cellStep, place, placeStep)
        continue
      }
      for (let from = 0; from < length; from += PIECE) {
        const part = Math.min(PIECE, length - from)
        const values = this.#piece(data, whole, at + from * step, part, step)
        row(values as never, 0, part, cell + from * cellStep, cellStep, place + from * placeStep, placeStep)
      }
    }
  }

  #piece(data: unknown, converted: boolean, at: number, length: number, step: number): unknown {
    if (this.#converts && !converted) return this.#converted(data as DataOf<FixedDType>, at, length, step)
    return Array.from({ length }, (_, i) => (data as RowValues)[at + i * step])
  }

  #converted(data: DataOf<DType>, at: number, length: number, step: number): Float64Array {
    if (this.#scratch.length < length) this.#scratch = new Float64Array(length)
    const scratch = this.#scratch
    if (this.#wide) {
      for (let i = 0, from = at; i < length; i++, from += step) {
        const value = data[from] as bigint
        scratch[i] = value === this.#bigFill ? Number.NaN : Number(value)
      }
    } else if (step === 1 && length >= SHORT) scratch.set((data as Float32Array).subarray(at, at + length))
    else for (let i = 0, from = at; i < length; i++, from += step) scratch[i] = data[from] as number
    return scratch
  }
}
