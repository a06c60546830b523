import type { Missing } from '../../array/missing.ts'
import type { DType, ScalarOf } from '../../core/dtype.ts'

/** A codec as metadata name it. */
export interface CodecMetadata {
  readonly name: string
  readonly configuration: Readonly<Record<string, unknown>>
}

/** How one element is stored, and what it is read as. */
export interface StoredType {
  /** What elements are read as. */
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
  /** Of one element as stored; undefined where each has its own length. */
  readonly bytes: number | undefined
  /** The unit of datetimes and timedeltas as numpy writes it, with its multiple: 's', '10ms'. */
  readonly unit?: string
}

/** What the metadata of an array say, of either version. */
export interface ZarrArrayMetadata {
  readonly version: 2 | 3
  readonly shape: readonly number[]
  /** Along each axis the length of all chunks, or, in rectilinear grids, of each. */
  readonly chunks: readonly (number | readonly number[])[]
  readonly type: StoredType
  /**
   * In the order of encoding, as version 3 writes them; version 2 is put in the same order: transpose where
   * elements are in order F, bytes with the byte order of the type, filters, compressor. Ids of version 2
   * stay what they are; the prefix `numcodecs.` of version 3 is left out.
   */
  readonly codecs: readonly CodecMetadata[]
  /** What chunks are full of that nobody wrote. */
  readonly fillValue: ScalarOf<DType> | undefined
  readonly missing: Missing<DType> | undefined
  /** The key of a chunk, relative to the path of the array. */
  readonly chunkKey: (coords: readonly number[]) => string
  readonly dimensionNames: readonly string[] | undefined
  readonly attrs: Readonly<Record<string, unknown>>
}
