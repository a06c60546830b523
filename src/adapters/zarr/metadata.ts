import type { Missing } from '../../array/missing.ts'
import type { DType, ScalarOf } from '../../core/dtype.ts'

/** A codec as metadata name it. */
export interface CodecMetadata {
  readonly name: string
  readonly configuration: Readonly<Record<string, unknown>>
}

/** Stored form of one element, and the type that it is read as. */
export interface StoredType {
  /** Type that elements are read as. */
  readonly dtype: DType
  readonly kind:
    | 'bool'
    | 'int'
    | 'uint'
    | 'float'
    | 'bfloat16'
    | 'datetime'
    | 'timedelta'
    | 'fixed-bytes'
    | 'fixed-text'
    | 'raw'
    | 'string'
    | 'binary'
  /** Bytes of one stored element; undefined for elements of variable length. */
  readonly bytes: number | undefined
  /** Unit of datetimes and timedeltas as numpy writes it, with its multiple: 's', '10ms'. */
  readonly unit?: string
}

/** Parsed metadata of an array, for both versions. */
export interface ZarrArrayMetadata {
  readonly version: 2 | 3
  readonly shape: readonly number[]
  /** Chunk lengths along each axis: one for all chunks or, in rectilinear grids, one for each chunk. */
  readonly chunks: readonly (number | readonly number[])[]
  readonly type: StoredType
  /**
   * Codecs in the order of encoding, as version 3 writes them. Those of version 2 are put in the same order:
   * transpose for arrays in order F, bytes with the byte order of the type, filters, compressor. Ids of
   * version 2 are kept; the prefix `numcodecs.` of version 3 is removed.
   */
  readonly codecs: readonly CodecMetadata[]
  /** Value of all elements of unwritten chunks. */
  readonly fillValue: ScalarOf<DType> | undefined
  readonly missing: Missing<DType> | undefined
  /** Returns the key of a chunk, relative to the path of the array. */
  readonly chunkKey: (coords: readonly number[]) => string
  readonly dimensionNames: readonly string[] | undefined
  readonly attrs: Readonly<Record<string, unknown>>
}
