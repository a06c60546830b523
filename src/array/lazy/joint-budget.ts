import type { MemoryBudget } from '../../core/memory-budget.ts'
import type { Signal } from '../../core/signal.ts'
import type { BlockSource } from '../source.ts'

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
export function jointBudget(sources: readonly BlockSource[]): BlockSource['budget'] {
  const budgets: MemoryBudget[] = []
  for (const { budget } of sources) {
    if (budget === undefined) return undefined
    if ('budgets' in budget) budgets.push(...(budget as JointBudget).budgets)
    else budgets.push(budget as MemoryBudget)
  }
  return new Set(budgets).size === 1 ? budgets[0] : new JointBudget(budgets)
}

/** What several sources together let an operation go through. */
export const leastElements = (sources: readonly BlockSource[]): number =>
  Math.min(...sources.map(({ maxElements = Number.POSITIVE_INFINITY }) => maxElements))
