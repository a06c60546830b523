import { type JobPlan, MERGE_FAN_IN, nodeCounts } from '../job-plan.ts'
import type { TaskTree } from './nodes.ts'

/** A job as the tree of its tasks and merges. */
export const treeOfJob = (plan: JobPlan): TaskTree => ({ id: plan.id, counts: nodeCounts(plan), fanIn: MERGE_FAN_IN })
