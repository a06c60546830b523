import type { Missing } from '../../array/missing.ts'
import type { Step } from '../../codec/chain.ts'
import type { Codec } from '../../codec/codec.ts'
import type { DType, ScalarOf } from '../../core/dtype.ts'
import type { BlockOrigin } from '../../engine/block.ts'
import type { ChunkLengths } from './stored-grid.ts'

/** A codec as metadata name it. */
export interface CodecMetadata {
  readonly name: string
  readonly configuration: Readonly<Record<string, unknown>>
}

/** Element that codecs see, if it contains more than one value: a complex number or a structure. */
export interface StoredElement {
  /** `complex64` or `complex128`; for a field, its path in the structure. */
  readonly name: string
  /** Bytes of the element. */
  readonly bytes: number
  /** Lengths of the axes that its values add at the end of the array. Chunks are never cut along them. */
  readonly shape: readonly number[]
  /** Whether the last axis has the parts of complex numbers. */
  readonly isComplex: boolean
  /** Place of a field in its structure; undefined for complex numbers. */
  readonly field?: FieldLocation
}

/** Place of the values of a field in a structure. */
export interface FieldLocation {
  /** Position of the first value in bytes. */
  readonly offset: number
  /**
   * Bytes between neighbours along the first axes of the field, which belong to lists of nested structures.
   * Along the other axes, values are adjacent.
   */
  readonly strides: readonly number[]
  readonly isBigEndian: boolean
}

/** Type of complex numbers, of which both parts are float32 or float64. */
export type ComplexDType = 'complex64' | 'complex128'

/** Stored form of one value, and the type that it is read as. */
export interface StoredType {
  /** Element that contains the values. Undefined if each value is an element. */
  readonly element?: StoredElement | undefined
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
  /** Bytes of one stored value; undefined for values of variable length. */
  readonly bytes: number | undefined
  /** Unit of datetimes and timedeltas as numpy writes it, with its multiple: 's', '10ms'. */
  readonly unit?: string
}

/**
 * Parsed metadata of an array, for both versions. Shape, chunks and names include the axes of stored elements
 * with several values; codecs are those of the stored elements.
 */
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
  /** Value of all elements of unwritten chunks; undefined if the values of a stored element differ. */
  readonly fillValue: ScalarOf<DType> | undefined
  /** Values of an unwritten stored element in C order, if they differ. */
  readonly fillValues?: readonly ScalarOf<DType>[] | undefined
  /** Form of elements with several values; see `elements.ts`. */
  readonly form?: ElementForm | undefined
  readonly missing: Missing<DType> | undefined
  /** Returns the key of a chunk, relative to the path of the array. */
  readonly chunkKey: (coords: readonly number[]) => string
  readonly dimensionNames: readonly string[] | undefined
  readonly attrs: Readonly<Record<string, unknown>>
}

/**
 * One level of shards: each is divided into chunks of `innerShape`, which may be shards themselves, and has a
 * table of their positions.
 */
export interface ShardLevel {
  /** Shape of an inner chunk, by the axes of the array. */
  readonly innerShape: readonly number[]
  /** Axes of the array, in the order in which shards store them. */
  readonly order: readonly number[]
  readonly indexCodecs: readonly CodecMetadata[]
  readonly indexAtStart: boolean
}

/** Arrangement of the chunks of an array in its objects. */
export interface ChunkPlan {
  /** Lengths of the objects of the store, which are shards or chunks. */
  readonly objects: ChunkLengths
  /** Levels from the outermost to the innermost; empty if objects are chunks. */
  readonly levels: readonly ShardLevel[]
  /** Lengths of the chunks. */
  readonly chunks: ChunkLengths
  /** Codecs of one chunk. */
  readonly codecs: readonly CodecMetadata[]
}

/** Type of values that are parts of stored elements, and their fill value if they share one. */
export interface GivenType {
  readonly type: StoredType
  readonly endian: 'little' | 'big' | undefined
  readonly fillValue: ScalarOf<DType> | undefined
}

/** Parts of an array that differ if a stored element contains several values. */
export interface ElementForm extends ElementCodec {
  readonly plan: ChunkPlan
  /** Origin of unwritten chunks, which has no bytes. Defined if the values of an unwritten element differ. */
  readonly unwritten: BlockOrigin | undefined
  /** Part of the cache keys of a field, because all fields of a structure share their objects; else ''. */
  readonly cacheKey: string
}

/** Decoding of chunks. */
export interface ElementCodec {
  chunkSteps(
    codecs: readonly CodecMetadata[],
    type: StoredType,
    shape: readonly number[],
    users: readonly Codec[],
  ): Promise<readonly Step[]>
  /** @param fill what the metadata have: one value, or the values of a stored element */
  absentChunk(dtype: DType, fill: FillValues, count: number, mostBytes: number): Uint8Array
}

/** Fill value of an array, in one of two members. */
export type FillValues = Pick<ZarrArrayMetadata, 'fillValue' | 'fillValues'>

/** Returns the part of a shape or of coordinates that counts stored elements, without their inner axes. */
export const storedAxes = <T>(axes: readonly T[], { element }: Pick<StoredType, 'element'>): readonly T[] =>
  element === undefined ? axes : axes.slice(0, axes.length - element.shape.length)
