import { type DataOf, type DType, isFloat, toElement } from '../../core/dtype.ts'
import { within } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { eachIndex } from '../../core/shape.ts'
import type { Tensor } from '../../core/tensor.ts'
import { placeAt } from '../../core/tensor-index.ts'
import type { Box } from '../../grid/range.ts'
import { missingElement, missingElements } from '../missing.ts'
import { missingTest } from '../missing-test.ts'
import type { BlockOptions, BlockSource } from '../source.ts'
import type { Kind } from './derive.ts'
import { READS_AT_A_TIME, readFresh } from './picks.ts'

/** An array, or one value for all positions. */
export type Operand = BlockSource | { readonly value: unknown }

/** Inputs of a broadcast, and the function that is applied to their elements. */
export interface Broadcast {
  readonly fn: (...values: unknown[]) => unknown
  readonly operands: readonly Operand[]
  /** The arrays among the operands. */
  readonly sources: readonly BlockSource[]
  readonly kind: Kind<DType>
  readonly keepMissing: boolean
}

/** Reads a box of each array, and writes the function's results to `out`. */
export async function readBroadcast(
  { fn, operands, sources, kind, keepMissing }: Broadcast,
  box: Box,
  out: Tensor,
  options: BlockOptions | undefined,
): Promise<void> {
  const spared = keepMissing ? missingElement(missingElements(kind)) : undefined
  const missing = operands.flatMap((operand, k): MissingInput[] => {
    const test = spared !== undefined && 'readBlock' in operand ? missingTest(missingElements(operand)) : undefined
    if (test === undefined) return []
    return [{ k, test: (operand as BlockSource).dtype === 'bool' ? (value) => test(Number(value)) : test }]
  })
  const tensors = new Map<BlockSource, Tensor>()
  await forEachLimited(new Set(sources), READS_AT_A_TIME, async (source) => {
    options?.signal?.throwIfAborted()
    await within(source.label ?? {}, async () => void tensors.set(source, await readFresh(source, ownBox(source, box), options)))
  })
  const inputs = operands.map((operand) =>
    'readBlock' in operand
      ? asShown(operand.dtype, spread(tensors.get(operand)!, out.shape))
      : { data: [operand.value], shape: out.shape, stride: out.shape.map(() => 0), offset: 0 },
  )
  await within(sources[0]!.label ?? {}, async () => apply(fn, inputs, out, kind.dtype, { missing, value: spared }))
}

/** Returns the box of an array that corresponds to a box of the result. */
const ownBox = ({ shape }: BlockSource, box: Box): Box =>
  shape.map((length, axis) => (length === 1 ? { start: 0, stop: 1, step: 1 } : box[axis + box.length - shape.length]!))

interface Strided {
  readonly data: ArrayLike<unknown>
  readonly shape: readonly number[]
  readonly stride: readonly number[]
  readonly offset: number
}

function spread({ data, shape: own, stride, offset }: Tensor, shape: readonly number[]): Strided {
  const skipped = shape.length - own.length
  return {
    data,
    shape,
    stride: shape.map((_, axis) => (axis < skipped || own[axis - skipped] === 1 ? 0 : stride[axis - skipped]!)),
    offset,
  }
}

/** An input with missing elements. */
interface MissingInput {
  /** Index of the input. */
  readonly k: number
  readonly test: (value: unknown) => boolean
}

const asShown = (dtype: DType, tensor: Strided): Strided =>
  dtype === 'bool' ? { ...tensor, data: Array.from(tensor.data, (element) => element !== 0) } : tensor

function apply(
  fn: (...values: unknown[]) => unknown,
  inputs: readonly Strided[],
  out: Tensor,
  dtype: DType,
  { missing, value }: { readonly missing: readonly MissingInput[]; readonly value: unknown },
): void {
  const target = out.data as DataOf<DType> & { [index: number]: unknown }
  // Floats are stored unchanged, so only their JavaScript type is checked.
  const store = isFloat(dtype)
    ? (value: unknown): unknown => (typeof value === 'number' ? value : toElement(dtype, value))
    : (value: unknown): unknown => toElement(dtype, value)
  const all: readonly Strided[] = [...inputs, out]
  const last = out.shape.length - 1
  const run = last < 0 ? 1 : out.shape[last]!
  const steps = all.map(({ stride }) => stride[last] ?? 0)
  const values = new Array<unknown>(inputs.length)
  eachIndex(out.shape.slice(0, Math.max(0, last)), (index) => {
    const at = all.map((each) => placeAt(each, index))
    for (let i = 0; i < run; i++) {
      for (let k = 0; k < values.length; k++) values[k] = inputs[k]!.data[at[k]! + i * steps[k]!]
      const skips = missing.length > 0 && missing.some(({ k, test }) => test(values[k]))
      target[at[values.length]! + i * steps[values.length]!] = (skips ? value : store(fn(...values))) as never
    }
  })
}
