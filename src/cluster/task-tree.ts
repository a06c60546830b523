/**
 * A tree of tasks and merges. Nodes are identified by level and index. Level 0 has the tasks, the last level
 * has one node, and nodes of levels between merge up to `fanIn` consecutive nodes of the level below.
 */
export interface TaskTree {
  /** Identifies the run: letters and digits only. */
  readonly id: string
  /** Number of nodes of each level, tasks first. */
  readonly counts: readonly number[]
  /** Maximum number of children of a node. The last node has as many for each phase. */
  readonly fanIn: number
  /**
   * Number of nodes of each phase, by levels below the last one. Default: one phase. A phase begins after the
   * one before has ended, so that its tasks can read the output of earlier phases.
   */
  readonly phases?: readonly (readonly number[])[] | undefined
  /**
   * Whether another attempt after a failure starts from the beginning, because results of nodes are useless
   * then. Otherwise it continues from the merged results.
   */
  readonly restarts?: boolean | undefined
}

/** Returns a tree of phases with the given numbers of tasks, none of which is 0. */
export function treeOfPhases(id: string, tasks: readonly number[], fanIn: number): TaskTree {
  const phases = tasks.map((count) => [count])
  while (phases.some((levels) => levels.at(-1)! > fanIn))
    for (const levels of phases) levels.push(Math.ceil(levels.at(-1)! / fanIn))
  // A tree without tasks consists of the last merge, which has no children.
  const counts = (phases[0] ?? [0]).map((_, level) => phases.reduce((sum, levels) => sum + levels[level]!, 0))
  return { id, counts: [...counts, 1], fanIn, phases }
}

/** Returns the children of a node, as a range of indices. */
export function childRange(tree: TaskTree, level: number, index: number): readonly [from: number, to: number] {
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

/** Returns the unfinished children of a node, in the first unfinished phase. */
export function missingChildren(tree: TaskTree, level: number, index: number, isDone: (child: number) => boolean): number[] {
  const [from, to] = childRange(tree, level, index)
  const ends = level === tree.counts.length - 1 && tree.phases !== undefined ? phaseEnds(tree.phases, level - 1) : [to]
  let start = from
  for (const end of ends) {
    const missing = Array.from({ length: end - start }, (_, i) => start + i).filter((child) => !isDone(child))
    if (missing.length > 0) return missing
    start = end
  }
  return []
}

/** Returns the indices of a level at which phases end. */
export function phaseEnds(phases: readonly (readonly number[])[], level: number): number[] {
  let end = 0
  return phases.map((levels) => {
    end += levels[level]!
    return end
  })
}

/** Returns the number of tasks below a node; 1 for a task. */
export function tasksBelow(tree: TaskTree, level: number, index: number): number {
  let [from, to] = [index, index + 1]
  for (let at = level; at > 0; at--) [from, to] = [childRange(tree, at, from)[0], childRange(tree, at, to - 1)[1]]
  return to - from
}
