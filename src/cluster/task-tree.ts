/**
 * A tree of tasks and merges. Nodes are told by level and index: level 0 has the tasks, the last level has
 * one node, and what is between merges up to `fanIn` neighbours of the level below.
 */
export interface TaskTree {
  /** Tells the run from others: letters and digits only. */
  readonly id: string
  /** Nodes of each level, tasks first. */
  readonly counts: readonly number[]
  /** Children of a node, at most; the last one has as many of each phase. */
  readonly fanIn: number
  /**
   * Nodes of each phase, by levels below the last one; all in one phase when left out. A phase begins when
   * the one before is over, so that its tasks may read what those before have written.
   */
  readonly phases?: readonly (readonly number[])[] | undefined
  /**
   * What nodes came to is of no use once the run has failed: another try begins anew. Otherwise it goes on
   * with what was merged.
   */
  readonly restarts?: boolean | undefined
}

/** A tree of phases of so many tasks each, of which none is empty. */
export function treeOfPhases(id: string, tasks: readonly number[], fanIn: number): TaskTree {
  const phases = tasks.map((count) => [count])
  while (phases.some((levels) => levels.at(-1)! > fanIn))
    for (const levels of phases) levels.push(Math.ceil(levels.at(-1)! / fanIn))
  // A tree without tasks consists of the last merge, which has no children.
  const counts = (phases[0] ?? [0]).map((_, level) => phases.reduce((sum, levels) => sum + levels[level]!, 0))
  return { id, counts: [...counts, 1], fanIn, phases }
}

/** The children of a node, as a range of indices. */
export function childrenOf(tree: TaskTree, level: number, index: number): readonly [from: number, to: number] {
  const { counts, fanIn, phases } = tree
  if (level === 0) return [0, 0]
  if (phases === undefined) return [index * fanIn, Math.min((index + 1) * fanIn, counts[level - 1]!)]
  if (level === counts.length - 1) return [0, counts[level - 1]!]
  let [first, below] = [0, 0]
  for (const levels of phases) {
    const stop = below + levels[level - 1]!
    const from = below + (index - first) * fanIn
    if (index < first + levels[level]!) return [from, Math.min(from + fanIn, stop)]
    first += levels[level]!
    below = stop
  }
  return [below, below]
}

/** The children of a node that are still to be done, of the first phase that is not over. */
export function missingChildren(tree: TaskTree, level: number, index: number, isDone: (child: number) => boolean): number[] {
  const [from, to] = childrenOf(tree, level, index)
  const ends = level === tree.counts.length - 1 && tree.phases !== undefined ? phaseEnds(tree.phases, level - 1) : [to]
  let start = from
  for (const end of ends) {
    const missing = Array.from({ length: end - start }, (_, i) => start + i).filter((child) => !isDone(child))
    if (missing.length > 0) return missing
    start = end
  }
  return []
}

/** The numbers of a level at which phases end. */
export function phaseEnds(phases: readonly (readonly number[])[], level: number): number[] {
  let end = 0
  return phases.map((levels) => {
    end += levels[level]!
    return end
  })
}

/** The number of tasks below a node, or of the task that it is. */
export function tasksBelow(tree: TaskTree, level: number, index: number): number {
  let [from, to] = [index, index + 1]
  for (let at = level; at > 0; at--) [from, to] = [childrenOf(tree, at, from)[0], childrenOf(tree, at, to - 1)[1]]
  return to - from
}
