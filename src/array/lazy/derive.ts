import type { DType, ScalarOf } from '../../core/dtype.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import type { Tensor } from '../../core/tensor.ts'
import type { Box } from '../../grid/range.ts'
import type { Missing } from '../missing.ts'
import type { BlockOptions, BlockSource, NamedValues } from '../source.ts'

/** What a lazy array says of itself; the rest is as below. */
export type DerivedSource<D extends DType> = Pick<BlockSource<D>, 'readBlock'> &
  Partial<Pick<BlockSource<D>, 'chunks' | 'dimensionNames' | 'capabilities' | 'bulk'>> & {
    /** Writes by way of what is below, with masks where that takes them; left out of what is only read. */
    readonly write?: WriteWhere<D> | false | undefined
  }

/** Writes a box of an array, or those elements of it whose mask is 1. */
export type WriteWhere<D extends DType> = (
  box: Box,
  values: Tensor<D>,
  mask: Tensor<'bool'> | undefined,
  options?: BlockOptions,
) => Promise<void>

/** What a source says of its elements. */
export interface Kind<D extends DType> {
  readonly dtype: D
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
  readonly attrs?: NamedValues | undefined
}

/** What is passed on from below: of one source, or of what several have in common. */
type Below = Pick<BlockSource, 'dimensionNames' | 'capabilities' | 'maxElements' | 'budget' | 'label'> & {
  readonly [way in 'writeBlock' | 'writeMasked']?: object | boolean | undefined
}

/**
 * A lazy source on top of others: the one place that decides what is passed on. Chunks, names, capabilities,
 * budget, bounds and label are as below unless `layer` has its own, and so is what is said of elements unless
 * they are of another kind. What lies between elements that are written is left alone where masks are taken
 * below: read and put back, it would undo what others write. Bulk operations are those of `layer`; without
 * any, nobody knows how many requests reading makes.
 * @param below a source; or what several have in common, and then `layer` has chunks, and elements are of a
 *   kind of their own
 */
export function deriveSource<D extends DType>(below: BlockSource, layer: DerivedSource<D>, kind?: Kind<D>): BlockSource<D>
export function deriveSource<D extends DType>(
  below: Below,
  layer: DerivedSource<D> & Pick<BlockSource, 'chunks'>,
  kind: Kind<D>,
): BlockSource<D>
export function deriveSource<D extends DType>(
  below: Below,
  { write, ...layer }: DerivedSource<D>,
  { dtype, fillValue, missing, attrs }: Kind<D> = below as BlockSource<D>,
): BlockSource<D> {
  const chunks = layer.chunks ?? (below as BlockSource).chunks
  return {
    dtype,
    shape: chunks.shape,
    dimensionNames: below.dimensionNames,
    fillValue,
    missing,
    attrs,
    capabilities: below.capabilities ?? {},
    maxElements: below.maxElements,
    budget: below.budget,
    label: below.label ?? {},
    bulk: { requests: async () => undefined },
    ...(write && below.writeBlock && { writeBlock: (box, values, options) => write(box, values, undefined, options) }),
    ...(write && below.writeMasked && { writeMasked: write }),
    ...layer,
    chunks,
  }
}

/**
 * What several sources have in common: the names of the first of so many axes that has some, steps where all
 * take them, the least that one lets an operation go through, the budgets of all, and what their labels
 * share.
 */
export const inCommon = (sources: readonly BlockSource[], rank: number): Below => ({
  dimensionNames: sources.find(({ dimensionNames }) => dimensionNames?.length === rank)?.dimensionNames,
  capabilities: { steps: sources.every(({ capabilities }) => capabilities?.steps) },
  maxElements: Math.min(...sources.map(({ maxElements = Number.POSITIVE_INFINITY }) => maxElements)),
  budget: jointBudget(sources),
  label: sharedLabel(sources),
})

function sharedLabel(sources: readonly BlockSource[]): { file?: string; array?: string } {
  const shared = <T>(values: readonly (T | undefined)[]): T | undefined =>
    values.every((value) => value === values[0]) ? values[0] : undefined
  const file = shared(sources.map(({ label }) => label?.file))
  const array = shared(sources.map(({ label }) => label?.array))
  return { ...(file !== undefined && { file }), ...(file !== undefined && array !== undefined && { array }) }
}

/** Those of the first tile, where all have the same. */
export function sharedAttributes(sources: readonly BlockSource[]): NamedValues | undefined {
  const first = sources[0]!.attrs
  if (first === undefined) return undefined
  const names = [...first.keys()]
  const alike = ({ attrs }: BlockSource): boolean => {
    if (attrs === first) return true
    return (
      attrs !== undefined &&
      [...attrs.keys()].length === names.length &&
      names.every((name) => isEqual(attrs.get(name), first.get(name)))
    )
  }
  return sources.every(alike) ? first : undefined
}

/** Whether attributes have the same value: lists do where their elements have. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  const [one, other] = [a, b] as ArrayLike<unknown>[]
  const areLists = [a, b].every((each) => ArrayBuffer.isView(each) || Array.isArray(each))
  return areLists && one!.length === other!.length && Array.from(one!).every((value, i) => Object.is(value, other![i]))
}

/**
 * The budgets of several arrays that are read together: results are held in each of them, always in the order
 * they were made, so that nobody waits in a circle.
 */
class JointBudget {
  readonly budgets: readonly MemoryBudget[]

  constructor(budgets: readonly MemoryBudget[]) {
    this.budgets = [...new Set(budgets)].sort((a, b) => a.order - b.order)
  }

  result<T>(bytes: number, work: () => Promise<T>, signal?: Signal): Promise<T> {
    return this.budgets.reduceRight<() => Promise<T>>((inner, budget) => () => budget.result(bytes, inner, signal), work)()
  }
}

/** Of sources whose reads wait for nobody's budget. */
export const NO_BUDGET: Pick<JointBudget, 'budgets' | 'result'> = { budgets: [], result: (_, work) => work() }

/**
 * What results of reading several sources share. Undefined unless all of them say: one of a user may ask
 * arrays with budgets of their own, which nothing may be held for.
 */
function jointBudget(sources: readonly BlockSource[]): BlockSource['budget'] {
  const budgets: MemoryBudget[] = []
  for (const { budget } of sources) {
    if (budget === undefined) return undefined
    if ('budgets' in budget) budgets.push(...(budget as JointBudget).budgets)
    else budgets.push(budget as MemoryBudget)
  }
  return new Set(budgets).size === 1 ? budgets[0] : new JointBudget(budgets)
}
