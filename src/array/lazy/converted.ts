import { type DType, toElement } from '../../core/dtype.ts'
import { HyperslabError, rethrowWithin, within } from '../../core/errors.ts'
import { eachIndex } from '../../core/shape.ts'
import { cloneTensor, eachMasked, placeAt, type Tensor, tensorOf } from '../../core/tensor.ts'
import { type Box, boxShape, viewOf } from '../../grid/range.ts'
import { type Element, isAnyMissing, type MissingOf, missingElement, missingElements } from '../missing.ts'
import { missingTest } from '../missing-test.ts'
import type { BlockOptions, BlockSource, PartStats, PartVisitor } from '../source.ts'
import type { Kind, WriteWhere } from './derive.ts'
import { readPicks, requestsThrough, writePicks } from './picked.ts'

/** From one element to another, both as they are stored. */
export type Convert = (element: never) => unknown

/**
 * What happens to missing elements. `spare`: they become what is missing in the result. `convert`: the same
 * as to others. `distinguish`: so, too, but an element that would become equal to one of them is refused.
 */
export type Treatment = 'spare' | 'convert' | 'distinguish'

/** Elements that lie `step` apart in memory, the first of them at `at`. */
export interface ElementRun {
  readonly data: ArrayLike<unknown>
  readonly at: number
  readonly step: number
}

/** How elements are made of others. */
export interface Converting {
  /** From an element below to one above. */
  readonly forth: Convert
  /** The same for `count` elements, where one loop is faster than a call for each. */
  readonly forthAll?: ((below: ElementRun, above: ElementRun, count: number) => void) | undefined
  /** From an element above to one below, so that the array can be written. */
  readonly back?: Convert | undefined
  /** `convert` when left out. */
  readonly treatment?: Treatment
  /** What is known of elements, from what is known of those they are made of; nothing when left out. */
  readonly statsOf?: ((below: PartStats) => PartStats | undefined) | undefined
}

/** What loads how elements are made, when some of them are. */
export interface Loading {
  readonly load: () => Converting | Promise<Converting>
  /** Whether there is a way back, so that the array can be written. */
  readonly back: boolean
}

/** What an array is made of whose elements are made of others. */
export interface Conversion {
  readonly source: BlockSource
  readonly kind: Kind<DType>
  readonly converting: Converting | Loading
}

/** A conversion of elements of one source into those of another that treats missing ones as it should. */
function treating(treatment: Treatment = 'convert', from: MissingOf, to: MissingOf, convert: Convert): Convert {
  const [below, above] = [missingElements(from), missingElements(to)]
  if (treatment === 'convert' || !isAnyMissing(below) || !isAnyMissing(above)) return convert
  const isMissing = missingTest(below)!
  const missing = missingElement(above)
  if (treatment === 'spare') return (element: Element) => (isMissing(element) ? missing : convert(element as never))
  const becomesMissing = missingTest({ ...above, nan: false }) ?? (() => false)
  const { dtype } = to
  return (element: Element) => {
    const converted = convert(element as never)
    // As it will be stored.
    const stored = dtype === 'float32' ? toElement(dtype, converted) : converted
    if (!becomesMissing(stored) || isMissing(element)) return converted
    const text = `${String(element)} as ${dtype} is ${String(stored)}, which stands for missing elements`
    throw new HyperslabError('InvalidArgumentError', text, { actual: element, expected: dtype })
  }
}

const loaded = async ({ converting }: Conversion): Promise<Converting> => ('load' in converting ? converting.load() : converting)

async function forthOf(
  conversion: Conversion,
): Promise<Pick<Converting, 'statsOf'> & { convert: Convert; all: Converting['forthAll'] }> {
  const { treatment, forth, forthAll, statsOf } = await loaded(conversion)
  const convert = treating(treatment, conversion.source, conversion.kind, forth)
  return { convert, all: convert === forth ? forthAll : undefined, statsOf }
}

/** Blocks that reading some boxes fetches. */
export const requestsOfConverted = ({ source }: Conversion, boxes: readonly Box[]): Promise<number | undefined> =>
  requestsThrough(source, boxes.map((box) => box.map(viewOf))) // biome-ignore format: one line

/** Reads a box and puts what is made of its elements into `out`. */
export async function readConverted(conversion: Conversion, box: Box, out: Tensor, options?: BlockOptions): Promise<void> {
  const { source } = conversion
  const { convert, all } = await forthOf(conversion)
  const below = tensorOf(source.dtype, out.shape)
  await readPicks(source, box.map(viewOf), below, options)
  await within(source.label ?? {}, async () => convertTensor(below, out, convert, { all }))
}

/** Visits what is made of the elements of a box. */
export async function* visitConverted<D extends DType, R>(
  conversion: Conversion,
  box: Box,
  visitor: PartVisitor<D, R>,
  options?: BlockOptions,
): AsyncGenerator<R, void, undefined> {
  const { source, kind } = conversion
  const { convert, all, statsOf } = await forthOf(conversion)
  const below: PartVisitor<DType, R> = {
    shouldRead: (part, stats) => visitor.shouldRead(part, stats && statsOf?.(stats)),
    visit: (part, elements) => {
      const converted = tensorOf(kind.dtype as D, elements.shape)
      try {
        // Functions of users may do anything: what they are given does not lie in memory that others hold.
        convertTensor(cloneTensor(source.dtype, elements), converted, convert, { all })
      } catch (error) {
        rethrowWithin(error, source.label ?? {})
      }
      return visitor.visit(part, converted)
    },
  }
  yield* source.bulk!.visit!(box, below, options)
}

/** Writes what is made of `values` to a box. */
export async function writeConverted(
  conversion: Conversion,
  ...[box, values, mask, options]: Parameters<WriteWhere<DType>>
): Promise<void> {
  const { source, kind } = conversion
  const { treatment, back } = await loaded(conversion)
  const convert = treating(treatment, kind, source, back!)
  const below = tensorOf(source.dtype, boxShape(box))
  await within(source.label ?? {}, async () => convertTensor(values, below, convert, { mask }))
  await writePicks(source, box.map(viewOf), below, mask, options)
}

/**
 * Converts every element of a tensor into another one of its shape, the innermost axis in a loop of its own;
 * with a mask those where it is 1, for others need not be of a kind that can be converted.
 */
function convertTensor(
  from: Tensor,
  to: Tensor,
  convert: Convert,
  { mask, all = oneByOne(convert) }: { readonly mask?: Tensor<'bool'> | undefined; readonly all?: Converting['forthAll'] } = {},
): void {
  if (mask !== undefined) {
    eachMasked(mask, (index) => {
      to.data[placeAt(to, index)] = convert(from.data[placeAt(from, index)] as never) as never
    })
    return
  }
  const { shape } = from
  const isMerged = (tensor: Tensor, axis: number): boolean => tensor.stride[axis - 1] === tensor.stride[axis]! * shape[axis]!
  let last = shape.length - 1
  let count = last < 0 ? 1 : shape[last]!
  const [stepFrom, stepTo] = [from.stride[last] ?? 0, to.stride[last] ?? 0]
  // Axes that lie one within the other in both are one.
  while (last > 0 && isMerged(from, last) && isMerged(to, last)) count *= shape[--last]!
  eachIndex(shape.slice(0, Math.max(0, last)), (index) => {
    all(
      { data: from.data, at: placeAt(from, index), step: stepFrom },
      { data: to.data, at: placeAt(to, index), step: stepTo },
      count,
    )
  })
}

const oneByOne =
  (convert: Convert): NonNullable<Converting['forthAll']> =>
  (below, above, count) => {
    const [input, output] = [below.data, above.data as unknown[]]
    let [a, b] = [below.at, above.at]
    for (let i = 0; i < count; i++, a += below.step, b += above.step) output[b] = convert(input[a] as never)
  }
