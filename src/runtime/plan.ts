/**
 * Chunk grids, selections and plans of reads, before any I/O; the contract of sources; and the types of the
 * options of calls on arrays, for programs that wrap these calls.
 * @module hyperslab/plan
 */

export type { PartialAggregate, PlacedAggregate, Reduction } from '../aggregate/reduction.ts'
export { type ZippedBlocks, zipBlocks } from '../array/combine.ts'
export type { FindWhereOptions, ValueRange, WhereMatchInArray, WhereMatchInPart, WhereSearch } from '../array/find-where.ts'
export type { ReadPlan } from '../array/get.ts'
export type { BlocksOptions, EqualsOptions } from '../array/iteration.ts'
export type { BroadcastOptions } from '../array/lazy/broadcast.ts'
export type { CacheOptions } from '../array/lazy/cache.ts'
export type { ConcatOptions, StackOptions } from '../array/lazy/concat.ts'
export type { GenerateOptions } from '../array/lazy/generate.ts'
export type { MapOptions } from '../array/lazy/map.ts'
export type { MosaicOptions } from '../array/lazy/mosaic.ts'
export type { PadOptions } from '../array/lazy/pad.ts'
export type { RechunkOptions } from '../array/lazy/rechunk-to.ts'
export type { ScaledOptions } from '../array/lazy/scaled.ts'
export type { CumulativeOptions } from '../array/reductions/cumulative-sum.ts'
export type { FoldKind, RankKind, WindowOptions } from '../array/reductions/fold-kinds.ts'
export type { HistogramOptions } from '../array/reductions/histogram.ts'
export type { CountOptions, GroupOptions, TruthOptions } from '../array/reductions/options.ts'
export type { QuantileOptions } from '../array/reductions/quantile.ts'
export type { DescribeOptions } from '../array/reductions/reduce.ts'
export type { UniqueOptions } from '../array/reductions/unique.ts'
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
export type { BlockCacheOptions, BlockCacheStats } from '../engine/block-cache.ts'
export type { IoStats } from '../engine/block-fetcher.ts'
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
