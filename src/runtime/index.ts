/**
 * Containers, arrays of any source, and their locations.
 * @module hyperslab
 */

export type { ArrayFile, LayerInfo } from '../af/file.ts'
export type { ArrayStorage, FileArray } from '../af/file-array.ts'
export type { ArrayOptions } from '../af/format/definition.ts'
export type { AttributeValue } from '../af/format/footer.ts'
export type { Limits } from '../af/format/limits.ts'
export type { Attributes, PlainAttribute, TypedAttribute } from '../af/layers/attributes.ts'
export type { ArrayTypes, CreateOptions, FileOptions, OpenOptions, Untyped } from '../af/layers/file-options.ts'
export type { Statistics } from '../af/layers/statistics.ts'
export type { Finding, Verification, VerifiedCounts, VerifyOptions } from '../af/verify/verify.ts'
export type { PartialAggregate, PlacedAggregate, Reduction } from '../aggregate/reduction.ts'
export type { Axis } from '../array/axes.ts'
export {
  type BroadcastOperand,
  broadcast,
  concat,
  generate,
  mosaic,
  roll,
  scaled,
  stack,
  type ZippedBlocks,
  zip,
  zipBlocks,
} from '../array/combine.ts'
export { DiskArray } from '../array/disk-array.ts'
export {
  type FindWhereOptions,
  findWhere,
  type ValueRange,
  type WhereMatch,
  type WhereMatchInArray,
  type WhereMatchInPart,
  type WhereSearch,
} from '../array/find-where.ts'
export type { GetAsOptions, GetOptions, ReadPlan } from '../array/get.ts'
export type { Block, BlocksOptions, EqualsOptions, ProgressOptions } from '../array/iteration.ts'
export type { BroadcastOptions } from '../array/lazy/broadcast.ts'
export type { CacheOptions } from '../array/lazy/cache.ts'
export type { ConcatOptions, StackOptions, TileGrid } from '../array/lazy/concat.ts'
export type { GenerateOptions } from '../array/lazy/generate.ts'
export type { MapOptions } from '../array/lazy/map.ts'
export type { MosaicOptions } from '../array/lazy/mosaic.ts'
export type { Padding, PadOptions } from '../array/lazy/pad.ts'
export type { RechunkOptions } from '../array/lazy/rechunk-to.ts'
export type { ScaledOptions } from '../array/lazy/scaled.ts'
export type { Missing } from '../array/missing.ts'
export type { NewShape } from '../array/new-shape.ts'
export type { ArrayNode, GroupNode, NodeLevel, NodePyramid, NodeStatistics, StorageInfo } from '../array/nodes.ts'
export type { CumulativeOptions } from '../array/reductions/cumulative-sum.ts'
export type { FoldKind, WindowOptions } from '../array/reductions/fold-kinds.ts'
export type { GroupByResult } from '../array/reductions/group-by.ts'
export type { Histogram, HistogramOptions } from '../array/reductions/histogram.ts'
export type { CountOptions, GroupOptions, TruthOptions } from '../array/reductions/options.ts'
export type { QuantileOptions } from '../array/reductions/quantile.ts'
export type { DescribeOptions, DescribeResult, ReduceOptions } from '../array/reductions/reduce.ts'
export type { Unique, UniqueOptions } from '../array/reductions/unique.ts'
export type { Weights } from '../array/reductions/weighted-mean.ts'
export { type AxisLengths, coarsen, rolling } from '../array/reductions/windows.ts'
export type { Selected } from '../array/selected.ts'
export type {
  BlockOptions,
  BlockSource,
  BoxRead,
  BulkAccess,
  EstimateOptions,
  NamedValues,
  PartStats,
  PartVisitor,
  ReduceBoxOptions,
  SourceLike,
} from '../array/source.ts'
export type { Progress, TransferOptions, TransferProgress } from '../array/transfers.ts'
export type { Values } from '../array/values.ts'
export type { Codec } from '../codec/codec.ts'
export type { ImmutableSource, WriteImmutableOptions, WritesItself } from '../copy/immutable-source.ts'
export type { ImportResult } from '../copy/import-arrays.ts'
export type { AttributeValues, ImmutableArray } from '../copy/named-arrays.ts'
export { writeImmutable } from '../copy/write-immutable.ts'
export type { AsyncBuffer } from '../core/async-buffer.ts'
export type { CacheStats } from '../core/byte-cache.ts'
export type { DataOf, DType, NumericDType, ScalarOf, TypedArray } from '../core/dtype.ts'
export { type ErrorDetails, type ErrorTag, HyperslabError, isErrorOfPackage as isHyperslabError } from '../core/errors.ts'
export { MemoryBudget } from '../core/memory-budget.ts'
export type { AxisIndices } from '../core/places.ts'
export type { Signal } from '../core/signal.ts'
export type { Tensor, TensorLike } from '../core/tensor.ts'
export { type InstantLike, toDate, toISO, toTimestamp } from '../core/timestamp.ts'
export { BlockCache, type BlockCacheOptions, type BlockCacheStats } from '../engine/block-cache.ts'
export type { IoStats } from '../engine/block-fetcher.ts'
export { type AxisChunks, ChunkGrid, RegularChunks } from '../grid/chunks.ts'
export { IrregularChunks } from '../grid/irregular-chunks.ts'
export { plan } from '../grid/list-pieces.ts'
export type { Plan, PlanContext, PlanOptions, Transfer } from '../grid/plan.ts'
export { type AxisProjection, projectAxis, projectBox } from '../grid/projection.ts'
export type { Box, Range } from '../grid/range.ts'
export {
  type NamedSelection,
  type ResolvedSelection,
  resolveSelection,
  type Selection,
  type SelectionPart,
  type Selector,
} from '../grid/selection.ts'
export { type ChunkSelector, chunk, newAxis, type PointsSelector, points } from '../grid/selectors.ts'
export { type Slice, slice } from '../grid/slice.ts'
export { initKernels, type KernelsInput } from '../kernels/instance.ts'
export type { ReduceOp, SkipRule } from '../kernels/reduce.ts'
export { createPool, type Pool, type PoolOptions } from '../pool/pool.ts'
export type { WorkerLike } from '../pool/spawn.ts'
export type { WorkerPool } from '../pool/task.ts'
export { BlobStore } from '../store/blob.ts'
export { FileStore } from '../store/fs/file.ts'
export type { BlobLike, DirectoryHandleLike, FileHandleLike, WritableLike } from '../store/handles.ts'
export type { Fetch, FetchInit, FetchResponse } from '../store/http/fetch.ts'
export { HttpStore, type HttpStoreOptions } from '../store/http/http.ts'
export { MemoryStore } from '../store/memory.ts'
export { OpfsStore } from '../store/opfs/opfs.ts'
export { type R2BucketLike, R2Store, type R2StoreOptions } from '../store/r2.ts'
export type { RequestLog, RequestOptions } from '../store/requester.ts'
export { parseS3Url, type S3Location } from '../store/s3/address.ts'
export { S3Store, type S3StoreOptions } from '../store/s3/s3.ts'
export type { S3Credentials, S3CredentialsSource } from '../store/s3/sign.ts'
export type {
  ByteRange,
  ConditionalWrites,
  DeleteOptions,
  Leftover,
  ListOptions,
  ObjectInfo,
  ObjectTail,
  OpenUpload,
  PublishCondition,
  PutOptions,
  RangeOptions,
  SharedUpload,
  SharedUploads,
  Stage,
  Store,
  StoreOptions,
  WholeOptions,
} from '../store/store.ts'
export { type ZipOptions, ZipStore } from '../store/zip/zip.ts'
export { create, open, verify } from '../tree/containers.ts'
export type { Location } from '../tree/location.ts'
export { type OpenTreeOptions, openTree, type Tree } from '../tree/open-tree.ts'
