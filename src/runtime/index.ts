import { ArrayFile } from '../af/file.js'
import type { ArrayTypes, CreateOptions, OpenOptions } from '../af/layers/file-options.js'
import type { Verification, VerifyOptions } from '../af/verify/verify.js'
import { type Location, resolveLocation } from './location.js'

/**
 * Opens a container.
 * @throws NotFoundError, FormatError (not a container, or a damaged one), UnsupportedError; UnknownArrayError and InvalidArgumentError for
 *   `arrays` that are not there, or are others
 */
export async function open<const A extends ArrayTypes = Record<never, never>>(
  location: Location,
  options?: OpenOptions<A>,
): Promise<ArrayFile<A>> {
  const { store, path } = await resolveLocation(location)
  return ArrayFile.open(store, path, options)
}

/**
 * Creates an empty container.
 * @throws AlreadyExistsError unless `overwrite` is set; ReadOnlyError; InvalidArgumentError for a name not ending in `.af`
 */
export async function create(location: Location, options?: CreateOptions): Promise<ArrayFile> {
  const { store, path } = await resolveLocation(location)
  return ArrayFile.create(store, path, options)
}

/**
 * Looks through a container, which need not open: `verify` of {@link ArrayFile}, with damage of any of its files among the findings.
 * @throws NotFoundError when there is none; ConflictError when another writer compacts it meanwhile; errors of the store
 */
export async function verify(
  location: Location,
  options: Pick<OpenOptions, 'codecs' | 'limits' | 'layer'> & VerifyOptions = {},
): Promise<Verification> {
  const [{ store, path }, { verifyPath }] = await Promise.all([resolveLocation(location), import('../af/verify/verify.js')])
  try {
    return await verifyPath(store, path, options)
  } finally {
    await store.close?.()
  }
}

export type { ArrayFile, LayerInfo } from '../af/file.js'
export type { ArrayStorage, FileArray } from '../af/file-array.js'
export type { ArrayOptions } from '../af/format/definition.js'
export type { AttributeValue } from '../af/format/footer.js'
export type { Limits } from '../af/format/limits.js'
export type { Attributes, PlainAttribute, TypedAttribute } from '../af/layers/attributes.js'
export type { ArrayTypes, CreateOptions, FileOptions, OpenOptions } from '../af/layers/file-options.js'
export type { Statistics } from '../af/layers/statistics.js'
export type { Checked, Finding, Verification, VerifyOptions } from '../af/verify/verify.js'
export type { NewShape } from '../af/write/append.js'
export type { Axis } from '../array/axes.js'
export { type BroadcastOperand, broadcast, concat, generate, mosaic, roll, scaled, stack, zip } from '../array/combine.js'
export { DiskArray, type GetOptions, type ReadPlan } from '../array/disk-array.js'
export type { Block, BlocksOptions, EqualsOptions, ProgressOptions } from '../array/iteration.js'
export type { BroadcastOptions } from '../array/lazy/broadcast.js'
export type { CacheOptions } from '../array/lazy/cache.js'
export type { ConcatOptions, StackOptions, TileGrid } from '../array/lazy/concat.js'
export type { GenerateOptions } from '../array/lazy/generate.js'
export type { MapOptions } from '../array/lazy/map.js'
export type { MosaicOptions } from '../array/lazy/mosaic.js'
export type { Padding, PadOptions } from '../array/lazy/pad.js'
export type { RechunkOptions } from '../array/lazy/rechunk-to.js'
export type { ScaledOptions } from '../array/lazy/scaled.js'
export type { CumulativeOptions } from '../array/reductions/cumulative-sum.js'
export type { FoldKind } from '../array/reductions/fold-kinds.js'
export type { TruthOptions } from '../array/reductions/folded.js'
export type { Grouped, GroupOptions } from '../array/reductions/group-by.js'
export type { Histogram, HistogramOptions } from '../array/reductions/histogram.js'
export type { QuantileOptions } from '../array/reductions/quantile.js'
export type { ReduceOptions } from '../array/reductions/reduce.js'
export type { Unique, UniqueOptions } from '../array/reductions/unique.js'
export type { Weights } from '../array/reductions/weighted-mean.js'
export { coarsen, type Lengths, rolling, type WindowOptions } from '../array/reductions/windows.js'
export type { Selected } from '../array/selected.js'
export type {
  BlockOptions,
  BlockSource,
  BoxRead,
  BulkAccess,
  ChunkFacts,
  ChunkScan,
  EstimateOptions,
  Missing,
  NamedValues,
  ReduceBoxOptions,
  SourceLike,
} from '../array/source.js'
export type { Progress, TransferOptions, TransferProgress } from '../array/transfers.js'
export type { Values } from '../array/values.js'
export {
  type Found,
  type FoundInArray,
  type FoundInChunk,
  type ValueRange,
  type Where,
  type WhereOptions,
  where,
} from '../array/where.js'
export { type ZippedBlocks, zipBlocks } from '../array/zip-blocks.js'
export type { Codec } from '../codec/codec.js'
export type { AsyncBuffer } from '../core/async-buffer.js'
export type { CacheStats } from '../core/byte-cache.js'
export type { DataOf, DType, NumericDType, ScalarOf, TypedArray } from '../core/dtype.js'
export { type ErrorDetails, type ErrorTag, HyperslabError, isHyperslabError } from '../core/errors.js'
export { MemoryBudget } from '../core/memory-budget.js'
export type { AxisIndices } from '../core/places.js'
export type { Tensor, TensorLike } from '../core/tensor.js'
export { dateOf, type InstantLike, isoOf, timestampOf } from '../core/timestamp.js'
export { BlockCache, type BlockCacheOptions, type BlockCacheStats } from '../engine/block-cache.js'
export type { IoStats } from '../engine/block-fetcher.js'
export { type AxisChunks, ChunkGrid, RegularChunks } from '../grid/chunks.js'
export { IrregularChunks } from '../grid/irregular-chunks.js'
export { type Plan, type PlanContext, type PlanOptions, plan, type Transfer } from '../grid/plan.js'
export { type AxisProjection, projectAxis, projectBox } from '../grid/projection.js'
export type { Box, Range } from '../grid/range.js'
export {
  type NamedSelection,
  type ResolvedSelection,
  resolveSelection,
  type Selection,
  type SelectionPart,
  type Selector,
} from '../grid/selection.js'
export { type ChunkSelector, chunk, newAxis, type PointsSelector, points } from '../grid/selectors.js'
export { type Slice, slice } from '../grid/slice.js'
export { initKernels, type KernelsInput } from '../kernels/instance.js'
export { createPool, type Pool, type PoolOptions } from '../pool/pool.js'
export type { WorkerLike } from '../pool/spawn.js'
export type { WorkerPool } from '../pool/task.js'
export { BlobStore } from '../store/blob.js'
export { FileStore } from '../store/fs/file.js'
export type { BlobLike, DirectoryHandleLike, FileHandleLike, WritableLike } from '../store/handles.js'
export type { Fetch, FetchInit, FetchResponse } from '../store/http/fetch.js'
export { HttpStore, type HttpStoreOptions } from '../store/http/http.js'
export { MemoryStore } from '../store/memory.js'
export { OpfsStore } from '../store/opfs/opfs.js'
export { type R2BucketLike, R2Store, type R2StoreOptions } from '../store/r2.js'
export type { RequestLog, RequestOptions } from '../store/requester.js'
export { parseS3Url, type S3Location } from '../store/s3/address.js'
export { S3Store, type S3StoreOptions } from '../store/s3/s3.js'
export type { S3Credentials, S3CredentialsSource } from '../store/s3/sign.js'
export type { ByteRange, ObjectInfo, Stage, Store, Tail } from '../store/store.js'
export { type ZipOptions, ZipStore } from '../store/zip/zip.js'
export type { Location } from './location.js'
