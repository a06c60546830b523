/**
 * Jobs on many machines: planned once, run in tasks on any of them, merged to the same bits.
 * @module hyperslab/cluster
 */

export type { Allowed } from '../cluster/bullmq/allow.ts'
export { type BullmqOptions, bullmq } from '../cluster/bullmq/bullmq.ts'
export { type JobQueue, openJobQueue } from '../cluster/bullmq/job-queue.ts'
export type { JobState, JobStatus, QueueOptions, WorkerSettings, WorkReport } from '../cluster/bullmq/options.ts'
export { type WorkOptions, work } from '../cluster/bullmq/work.ts'
export type { CopyPlan, CopyResult, PlannedCopy } from '../cluster/copy-plan.ts'
export { type CopiedArrayEstimate, estimateJob, type JobEstimate } from '../cluster/estimate.ts'
export type { Executor, JobProgress, RunJobOptions } from '../cluster/executor.ts'
export { Job, type OpenJobOptions, openJob } from '../cluster/job.ts'
export type {
  CopiedArrays,
  CopiedDataset,
  CopyOperation,
  CopySettings,
  CopySource,
  JobOperation,
  JsonValue,
  ReduceOperation,
} from '../cluster/job-operation.ts'
export {
  type JobPlan,
  MERGE_FAN_IN,
  nodeCounts,
  type PlanJobOptions,
  planJob,
  readPlan,
} from '../cluster/job-plan.ts'
export { type LocalOptions, local } from '../cluster/local.ts'
export type { PartialResult } from '../cluster/partial-results.ts'
export type { PinnedVersions } from '../cluster/pins.ts'
export type { AnyPlan, PlannedSource } from '../cluster/plan-parts.ts'
export type {
  ArrayRecipe,
  AxisRecipe,
  CoarsenRecipe,
  JoinedRecipe,
  LinearRecipe,
  SelectRecipe,
  StoredArrayRecipe,
  TransposeRecipe,
  VariableRecipe,
  ViewRecipe,
} from '../cluster/recipe.ts'
export type { ReducePlan } from '../cluster/reduce-plan.ts'
export { type TreeSourceOptions, treeSource } from '../cluster/tree-source.ts'
