const BUDGETS = ['quick', 'full', 'soak'] as const

/** Effort of the tests: `quick` in `npm test`, `full` in `.ci/run`, `soak` overnight. */
export type Budget = (typeof BUDGETS)[number]

const given = process.env['HYPERSLAB_BUDGET'] ?? 'quick'
if (!(BUDGETS as readonly string[]).includes(given))
  throw new Error(`HYPERSLAB_BUDGET is ${given}, expected ${BUDGETS.join(', ')}`)

const budget = given as Budget

/** Whether tests try only a part of their cases. */
export const isQuick = budget === 'quick'

/** Whether tests try as much as a night allows, from new seeds. */
export const isSoak = budget === 'soak'

/** Returns the value for the budget of this run. */
export const byBudget = <T>(values: Readonly<Record<Budget, T>>): T => values[budget]

/**
 * Returns the number of cases that a property is tried on: half of `count` in a full run, a quarter in a
 * quick one, ten times as many in a soak.
 */
export const runs = (count: number): number =>
  byBudget({ quick: Math.ceil(count / 4), full: Math.ceil(count / 2), soak: 10 * count })

/** Returns the time limit of a test whose number of cases depends on the budget: a day in a soak. */
export const timeLimit = (ms: number): number => (isSoak ? 86_400_000 : ms)

/** All of the cases listed, or every fourth in a quick run. */
export const some = <T>(cases: readonly T[]): readonly T[] => (isQuick ? cases.filter((_, i) => i % 4 === 0) : cases)

/**
 * Returns HYPERSLAB_SEED where it is given, otherwise a new seed in a soak and the usual one in other runs.
 */
export function drawSeed(usual: number): number {
  const asked = process.env['HYPERSLAB_SEED']
  const seed = asked !== undefined ? Number(asked) : isSoak ? Math.floor(Math.random() * 2 ** 31) : usual
  if (!Number.isSafeInteger(seed)) throw new Error(`HYPERSLAB_SEED is ${asked}, expected an integer`)
  return seed
}

/** Returns the seed of a suite, and prints it unless it is the usual one. */
export function seedOf(suite: string, usual: number): number {
  const seed = drawSeed(usual)
  if (seed !== usual) console.info(`${suite}: HYPERSLAB_BUDGET=${budget} HYPERSLAB_SEED=${seed}`)
  return seed
}
