/**
 * Chunk grids, selections and plans of reads, before any I/O, and the contract of sources.
 * @module hyperslab/plan
 */

export type { PartialAggregate, PlacedAggregate, Reduction } from '../aggregate/reduction.ts'
export { type ZippedBlocks, zipBlocks } from '../array/combine.ts'
export type { RankKind } from '../array/reductions/fold-kinds.ts'
export type {
  BlockOptions,
  BlockSource,
  BoxRead,
  BulkAccess,
  NamedValues,
  PartStats,
  PartVisitor,
  ReduceBoxOptions,
  ScalarMode,
  ScalarOptions,
  ScalarReads,
  SourceLike,
  SourceOptions,
} from '../array/source.ts'
export type { AxisIndices } from '../core/axis-indices.ts'
export { type AxisChunks, ChunkGrid, RegularChunks } from '../grid/chunks.ts'
export { axisChunks, IrregularChunks } from '../grid/irregular-chunks.ts'
export type { LinearPositions } from '../grid/linear.ts'
export type { Plan, PlanContext, PlanOptions, Transfer } from '../grid/plan.ts'
export { type AxisProjection, projectAxis, projectBox } from '../grid/projection.ts'
export type { Box, Range } from '../grid/range.ts'
export { type NamedSelection, type ResolvedSelection, resolveSelection, type SelectionPart } from '../grid/selection.ts'
export type { ChunkSelector, LinearSelector, PointsSelector } from '../grid/selectors.ts'
export type { Slice } from '../grid/slice.ts'
export { plan } from '../grid/split-list.ts'
export type { ReduceOp, SkipRule } from '../kernels/reduce.ts'
