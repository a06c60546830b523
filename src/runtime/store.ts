/**
 * The contract of stores, for authors of stores, and the types of options of the stores of `hyperslab`.
 * @module hyperslab/store
 */

export type { AsyncBuffer } from '../core/async-buffer.ts'
export type { FileStoreOptions } from '../store/fs/file.ts'
export type { BlobLike, DirectoryHandleLike, FileHandleLike, WritableLike } from '../store/handles.ts'
export type { Fetch, FetchInit, FetchResponse } from '../store/http/fetch.ts'
export type { HttpStoreOptions } from '../store/http/http.ts'
export type { PersistentStats } from '../store/persistent/entries.ts'
export type { R2BucketLike, R2StoreOptions } from '../store/r2.ts'
export type { RequestLog, RequestOptions } from '../store/requester.ts'
export { parseS3Url, type S3Location } from '../store/s3/address.ts'
export type { S3StoreOptions } from '../store/s3/s3.ts'
export type { S3Credentials, S3CredentialsSource } from '../store/s3/sign.ts'
export type {
  ByteRange,
  ConditionalWrites,
  DeleteOptions,
  FoldedNames,
  Leftover,
  ListOptions,
  LocalFiles,
  ObjectInfo,
  ObjectStart,
  ObjectTail,
  OpenUpload,
  PublishCondition,
  PutOptions,
  QuickRanges,
  RangeOptions,
  SharedUpload,
  SharedUploads,
  Stage,
  StartOptions,
  Store,
  StoreOptions,
  WholeOptions,
  WritableStore,
} from '../store/store.ts'
export type { ZipOptions } from '../store/zip/zip.ts'
export { PersistentCache, type PersistentCacheOptions, type PersistentCacheStats } from '../tree/persistent-cache.ts'
