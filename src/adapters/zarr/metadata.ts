import type { Missing } from '../../array/missing.ts'
import type { DType, ScalarOf } from '../../core/dtype.ts'

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
  readonly missing: Missing<DType> | undefined
  /** Returns the key of a chunk, relative to the path of the array. */
  readonly chunkKey: (coords: readonly number[]) => string
  readonly dimensionNames: readonly string[] | undefined
  readonly attrs: Readonly<Record<string, unknown>>
}

/** Returns the part of a shape or of coordinates that counts stored elements, without their inner axes. */
export const storedAxes = <T>(axes: readonly T[], { element }: Pick<StoredType, 'element'>): readonly T[] =>
  element === undefined ? axes : axes.slice(0, axes.length - element.shape.length)
