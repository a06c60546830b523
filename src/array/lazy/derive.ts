import type { DType, ScalarOf } from '../../core/dtype.ts'
import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import type { Tensor } from '../../core/tensor.ts'
import type { Box } from '../../grid/range.ts'
import type { Missing } from '../missing.ts'
import type { BlockOptions, BlockSource, NamedValues, ScalarReads } from '../source.ts'

/** Members that a lazy array defines itself; all others are inherited. */
export type DerivedSource<D extends DType> = Pick<BlockSource<D>, 'readBlock'> &
  Partial<Pick<BlockSource<D>, 'chunks' | 'dimensionNames' | 'capabilities' | 'bulk'>> & {
    /** Writes through to the parent, masked if it supports masks. Optional: read-only arrays omit it. */
    readonly write?: WriteWhere<D> | false | undefined
  }

/** Writes a box of an array, or those elements of it whose mask is 1. */
export type WriteWhere<D extends DType> = (
  box: Box,
  values: Tensor<D>,
  mask: Tensor<'bool'> | undefined,
  options?: BlockOptions,
) => Promise<void>

/** The facts of a source about its elements. */
export interface Kind<D extends DType> {
  readonly dtype: D
  readonly fillValue?: ScalarOf<D> | undefined
  readonly missing?: Missing<D> | undefined
  readonly attrs?: NamedValues | undefined
}

/** Members inherited from one source, or common to several. */
type Below = Pick<
  BlockSource,
  'dimensionNames' | 'capabilities' | 'maxElements' | 'budget' | 'label' | 'origins' | 'scalarReads'
> & {
  readonly [way in 'writeBlock' | 'writeMasked']?: object | boolean | undefined
}

/**
 * Creates a lazy source on top of others; all inheritance is decided here. Chunks, names, capabilities,
 * budget, limits, label, origins and the rule for reads of single elements are inherited unless `layer`
 * defines its own. Facts about elements are inherited unless `kind` is given. If the parent accepts masks,
 * elements between written ones are not read and written back, because that would undo concurrent writes.
 * Bulk operations are those of `layer`; without any, the number of requests of a read is unknown.
 * @param below a source; or the common members of several, which requires chunks in `layer`, and a `kind`
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
    origins: below.origins,
    scalarReads: below.scalarReads,
    bulk: { requests: async () => undefined },
    ...(write && below.writeBlock && { writeBlock: (box, values, options) => write(box, values, undefined, options) }),
    ...(write && below.writeMasked && { writeMasked: write }),
    ...layer,
    chunks,
  }
}

/**
 * Returns the common members of several sources: the names of the first that has `rank` axes, and steps if
 * all accept them. Also the smallest limit of elements, the budgets and origins of all, and the equal
 * parts of their labels.
 */
export const inCommon = (sources: readonly BlockSource[], rank: number): Below => ({
  dimensionNames: sources.find(({ dimensionNames }) => dimensionNames?.length === rank)?.dimensionNames,
  capabilities: { steps: sources.every(({ capabilities }) => capabilities?.steps) },
  maxElements: Math.min(...sources.map(({ maxElements = Number.POSITIVE_INFINITY }) => maxElements)),
  budget: jointBudget(sources),
  label: sharedLabel(sources),
  origins: { below: sources.flatMap(({ origins }) => origins ?? []) },
  scalarReads: strictest(sources.flatMap(({ scalarReads }) => scalarReads ?? [])),
})

/** Returns the rule for reads of single elements that refuses or warns first. */
const strictest = (rules: readonly ScalarReads[]): ScalarReads | undefined =>
  ['refuse', 'warn', 'read'].flatMap((mode) => rules.find((rule) => rule.mode === mode) ?? [])[0]

function sharedLabel(sources: readonly BlockSource[]): { file?: string; array?: string } {
  const shared = <T>(values: readonly (T | undefined)[]): T | undefined =>
    values.every((value) => value === values[0]) ? values[0] : undefined
  const file = shared(sources.map(({ label }) => label?.file))
  const array = shared(sources.map(({ label }) => label?.array))
  return { ...(file !== undefined && { file }), ...(file !== undefined && array !== undefined && { array }) }
}

/** Returns the attributes of the first source, if all have the same. */
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

/** Whether attributes have the same value; lists are compared by their elements. */
function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  const [one, other] = [a, b] as ArrayLike<unknown>[]
  const areLists = [a, b].every((each) => ArrayBuffer.isView(each) || Array.isArray(each))
  return areLists && one!.length === other!.length && Array.from(one!).every((value, i) => Object.is(value, other![i]))
}

/**
 * The budgets of several arrays that are read together. Results are accounted for in each of them, always in
 * order of creation, so that no cycle of waiting can occur.
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

/** Budget of sources whose reads never wait for a budget. */
export const NO_BUDGET: Pick<JointBudget, 'budgets' | 'result'> = { budgets: [], result: (_, work) => work() }

/**
 * Returns the common budget of results of reading several sources. Undefined unless all have one: a user's
 * source may read arrays with budgets of their own, so nothing may be held meanwhile.
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
