import { type DataOf, DTYPES, type DType, isFloat, type ScalarOf, toElement } from '../../core/dtype.ts'
import { invalidArgument, within } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { type Checks, checkOptions, checkValue } from '../../core/options.ts'
import { eachIndex, showShape, sizeOf } from '../../core/shape.ts'
import type { Tensor } from '../../core/tensor.ts'
import { ChunkGrid, READ_BYTES, RegularChunks } from '../../grid/chunks.ts'
import { commonChunks, refineChunks } from '../../grid/common-chunks.ts'
import type { Box } from '../../grid/range.ts'
import { missingElement, missingElements } from '../missing.ts'
import { missingTest } from '../missing-test.ts'
import { type BlockSource, bytesOf } from '../source.ts'
import { promote } from './astype.ts'
import { deriveSource, inCommon } from './derive.ts'
import { computed } from './map.ts'
import { READS_AT_A_TIME, readFresh } from './picks.ts'

/** Options of `broadcast`. */
export interface BroadcastOptions<D extends DType> {
  /** Data type of the results; what those of the arrays are promoted to when left out. */
  readonly dtype?: D
  /**
   * The result where an element is missing; results that equal it are missing. When left out it is NaN for
   * floats, and otherwise the missing value of the first array of the same type that has one.
   */
  readonly fillValue?: ScalarOf<D>
  /**
   * Spare the function missing elements; true when left out. Given all of them, no result is missing but by
   * `fillValue`.
   */
  readonly skipMissing?: boolean
}

const CHECKS: Checks<BroadcastOptions<DType>> = { dtype: DTYPES, fillValue: 'value', skipMissing: 'boolean' }

/** An array, or one value for all positions. */
export type Operand = BlockSource | { readonly value: unknown }

/**
 * A function of the elements of several arrays and scalars at the same position, by numpy's rules: shapes are
 * aligned at their last axes, and axes that are missing or of length 1 are repeated. Of each array that is
 * used more than once, a block is read once. Where an element of an array is missing, the result is.
 * @throws InvalidArgumentError when shapes do not go together, there is no array, or no value for missing
 *   results; reading, when a result is not of the data type
 */
export function broadcastSource<D extends DType>(
  fn: (...values: never[]) => unknown,
  operands: readonly Operand[],
  options: BroadcastOptions<D> = {},
): BlockSource<D> {
  checkValue('broadcast', 'fn', fn, 'function')
  checkOptions('broadcast', options, CHECKS)
  const { dtype, fillValue, skipMissing = true } = options
  const sources = operands.filter((operand): operand is BlockSource => 'readBlock' in operand)
  const first = sources[0] ?? invalidArgument('there is no array to broadcast', undefined)
  const shape = commonShape(sources.map((source) => source.shape))
  const to = dtype ?? (promote(sources.map((source) => source.dtype)) as D)
  const kind = computed(to, fillValue, skipMissing ? sources : [])
  const spared = skipMissing ? missingElement(missingElements(kind)) : undefined
  const missing = operands.flatMap((operand, k): MissingInput[] => {
    const test = spared !== undefined && 'readBlock' in operand ? missingTest(missingElements(operand)) : undefined
    if (test === undefined) return []
    return [{ k, test: (operand as BlockSource).dtype === 'bool' ? (value) => test(Number(value)) : test }]
  })
  const label = first.label ?? {}
  return deriveSource(
    inCommon(sources, shape.length),
    {
      chunks: commonGrid(sources, shape),
      capabilities: {},
      readBlock: async (box, out, options) => {
        const tensors = new Map<BlockSource, Tensor>()
        await forEachLimited(new Set(sources), READS_AT_A_TIME, async (source) => {
          options?.signal?.throwIfAborted()
          await within(
            source.label ?? {},
            async () => void tensors.set(source, await readFresh(source, ownBox(source, box), options)),
          )
        })
        const inputs = operands.map((operand) =>
          'readBlock' in operand
            ? asShown(operand.dtype, spread(tensors.get(operand)!, out.shape))
            : { data: [operand.value], shape: out.shape, stride: out.shape.map(() => 0), offset: 0 },
        )
        await within(label, async () =>
          apply(fn as (...values: unknown[]) => unknown, inputs, out, to, { missing, value: spared }),
        )
      },
    },
    kind,
  )
}

/** Shapes aligned at their last axes. */
export function commonShape(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map(({ length }) => length))
  return Array.from({ length: rank }, (_, axis) => {
    const lengths = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1)
    const length = lengths.find((each) => each !== 1) ?? 1
    if (lengths.every((each) => each === 1 || each === length)) return length
    return invalidArgument(`shapes ${shapes.map(showShape).join(', ')} do not go together`, shapes)
  })
}

/** What an array is asked for when the result is asked for a box. */
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
  /** Its number. */
  readonly k: number
  readonly test: (value: unknown) => boolean
}

const asShown = (dtype: DType, tensor: Strided): Strided =>
  dtype === 'bool' ? { ...tensor, data: Array.from(tensor.data, (element) => element !== 0) } : tensor

function apply<D extends DType>(
  fn: (...values: unknown[]) => unknown,
  inputs: readonly Strided[],
  out: Tensor<D>,
  dtype: D,
  { missing, value }: { readonly missing: readonly MissingInput[]; readonly value: unknown },
): void {
  const target = out.data as DataOf<D> & { [index: number]: unknown }
  // What is stored as it comes needs no look at each value but whether it is a number.
  const store = isFloat(dtype)
    ? (value: unknown): unknown => (typeof value === 'number' ? value : toElement(dtype, value))
    : (value: unknown): unknown => toElement(dtype, value)
  const all: readonly Strided[] = [...inputs, out]
  const last = out.shape.length - 1
  const run = last < 0 ? 1 : out.shape[last]!
  const steps = all.map(({ stride }) => stride[last] ?? 0)
  const values = new Array<unknown>(inputs.length)
  eachIndex(out.shape.slice(0, Math.max(0, last)), (index) => {
    const at = all.map(({ stride, offset }) => index.reduce((sum, position, axis) => sum + position * stride[axis]!, offset))
    for (let i = 0; i < run; i++) {
      for (let k = 0; k < values.length; k++) values[k] = inputs[k]!.data[at[k]! + i * steps[k]!]
      const skips = missing.length > 0 && missing.some(({ k, test }) => test(values[k]))
      target[at[values.length]! + i * steps[values.length]!] = (skips ? value : store(fn(...values))) as never
    }
  })
}

/**
 * Chunks for going through several arrays that are broadcast to one shape: made of whole chunks of each where
 * that stays small, cut at the borders of all along as many axes, from the first on, as it takes otherwise.
 * Axes that no array really has are cut into some MiB.
 */
function commonGrid(sources: readonly BlockSource[], shape: readonly number[]): ChunkGrid {
  const bytes = Math.max(...sources.map(({ dtype }) => bytesOf(dtype)))
  const room = Math.max(READ_BYTES / bytes, ...sources.map(({ chunks }) => sizeOf(chunks.chunkShape)))
  const estimated = ChunkGrid.estimate(shape, bytes)
  const given = shape.map((length, axis) =>
    sources.flatMap(({ chunks }) => {
      const own = chunks.axes[axis - shape.length + chunks.axes.length]
      return own !== undefined && own.length === length ? [own] : []
    }),
  )
  const axes = given.map((all, axis) => (all.length === 0 ? estimated.axes[axis]! : commonChunks(all)))
  for (let axis = 0; axis < shape.length; axis++) {
    if (sizeOf(axes.map(({ chunkLength, length }) => Math.min(chunkLength, length))) <= room) break
    const pieces = given[axis]!.map((chunks) => ({ origin: 0, chunks }))
    axes[axis] = pieces.length === 0 ? new RegularChunks(1, shape[axis]!) : refineChunks(shape[axis]!, pieces)
  }
  return new ChunkGrid(axes)
}
