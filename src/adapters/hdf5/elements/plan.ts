import { decodeText } from '../../../core/characters.ts'
import type { DType, FixedDType } from '../../../core/dtype.ts'
import { sizeOf, stridesOf } from '../../../core/shape.ts'
import { encodeChunk } from '../../../engine/write-box.ts'
import { refuse } from '../cursor.ts'
import type { Datatype, Member, TextPadding } from '../messages/datatype.ts'
import type { ValueConversion } from './conversion.ts'
import { floatConversion, isNativeFloat } from './floats.ts'
import { integerConversion } from './integers.ts'

/**
 * Description of the values in stored elements. An element contains one value, or several along more axes.
 */
export interface ElementPlan {
  readonly dtype: DType
  /** Bytes of a stored element. */
  readonly recordBytes: number
  /** Position of the first value in it. */
  readonly offset: number
  /** Lengths of the axes in an element, and bytes between neighbours along them. */
  readonly innerShape: readonly number[]
  readonly innerStrides: readonly number[]
  /** Stored bytes of a value. */
  readonly valueBytes: number
  readonly isBigEndian: boolean
  /** Whether the last axis has the real and the imaginary part of complex numbers. */
  readonly isComplex: boolean
  /** Conversion of stored values. Optional: numbers that are stored in the form of their type omit it. */
  readonly convert?: ValueConversion | undefined
  /**
   * Values that stored ones refer to. Optional: values that are stored in the elements omit it.
   */
  readonly target?: ReferenceTarget | undefined
  /** Names of the values of an enumeration. */
  readonly flags?: Flags | undefined
}

/** Values outside the elements: texts and lists of numbers in the global heap, or paths of objects. */
export type ReferenceTarget =
  | { readonly kind: 'text' }
  | { readonly kind: 'path' }
  | { readonly kind: 'list'; readonly items: ElementPlan }

/** Names of the values of an enumeration, and the values as they are stored, of one type. */
export interface Flags {
  readonly type: Datatype
  readonly names: readonly string[]
  readonly values: Uint8Array
}

/** Options of types that are read on request. */
export interface TypeOptions {
  /** Read references to objects as the paths of these, as texts. By default, they are refused. */
  readonly references?: 'paths' | undefined
  /** Read opaque elements as bytes. By default, they are refused. */
  readonly opaque?: 'bytes' | undefined
}

type Value = Pick<ElementPlan, 'dtype' | 'valueBytes' | 'isBigEndian' | 'convert' | 'flags' | 'target'>

/** A place in elements: of a field of a compound, or of whole elements. */
export interface FieldSlot {
  readonly type: Datatype
  readonly offset: number
  /** Lengths of the lists of compounds that contain it, and bytes between their members. */
  readonly lengths: readonly number[]
  readonly strides: readonly number[]
}

/**
 * Plans the values of elements.
 * @param recordBytes bytes of a whole element
 * @throws UnsupportedError for types that are not read
 */
export function planElements(place: FieldSlot, recordBytes: number, options: TypeOptions = {}): ElementPlan {
  const lengths = [...place.lengths]
  const strides = [...place.strides]
  let { type } = place
  while (type.kind === 'array') {
    const { shape, base } = type
    lengths.push(...shape)
    strides.push(...stridesOf(shape).map((stride) => stride * base.size))
    type = base
  }
  const part = findComplexPart(type)
  if (part !== undefined) {
    lengths.push(2)
    strides.push(part.size)
  }
  if (lengths.includes(0)) refuse(`the elements have no values: their lists have the lengths [${lengths.join(', ')}]`)
  const value = planValue(part ?? type, options)
  const common = { recordBytes, offset: place.offset, innerShape: lengths, innerStrides: strides, isComplex: part !== undefined }
  return { ...value, ...common }
}

/** Returns the type of the parts of complex numbers: of their own class, or a compound as h5py writes it. */
export function findComplexPart(type: Datatype): Datatype | undefined {
  if (type.kind === 'complex')
    return type.base.kind === 'float' && type.size === 2 * type.base.size
      ? type.base
      : refuse('complex numbers whose parts are no floats are not read here')
  if (type.kind !== 'compound' || type.members.length !== 2) return undefined
  const [real, imaginary] = type.members as [Member, Member]
  const isPair = real.name === 'r' && imaginary.name === 'i' && real.offset === 0 && imaginary.offset === real.type.size
  const isFloat = real.type.kind === 'float' && imaginary.type.kind === 'float' && type.size === 2 * real.type.size
  return isPair && isFloat && JSON.stringify(real.type) === JSON.stringify(imaginary.type) ? real.type : undefined
}

/** @throws UnsupportedError for types that are not read */
function planValue(type: Datatype, options: TypeOptions): Value {
  switch (type.kind) {
    case 'integer':
      return planInteger(type)
    case 'float':
      return planFloat(type)
    case 'string':
      return {
        dtype: 'string',
        valueBytes: type.size,
        isBigEndian: false,
        convert: textConversion(type.padding, type.size),
      }
    case 'enum':
      return planEnum(type)
    case 'vlen':
      if (type.isString) return { dtype: 'string', valueBytes: type.size, isBigEndian: false, target: { kind: 'text' } }
      return planList(type)
    case 'compound':
      return refuse('elements are compounds: open their fields, as arrays in a group of this name')
    case 'reference':
      return planReference(type, options)
    case 'opaque':
      return planOpaque(type, options)
    case 'time':
      return refuse('elements are of the class "time", which HDF5 never defined')
    default:
      return refuse(`elements of the class '${type.kind}' are not read here`)
  }
}

/** Plans lists of numbers. Each list is read as bytes: its numbers in little-endian order. */
function planList({ base, size }: Datatype & { readonly kind: 'vlen' }): Value {
  if (base.kind !== 'integer' && base.kind !== 'float' && base.kind !== 'enum')
    refuse(`elements are lists of variable length of the class '${base.kind}', which are not read here, only lists of numbers`)
  const items = planElements({ type: base, offset: 0, lengths: [], strides: [] }, base.size)
  return { dtype: 'binary', valueBytes: size, isBigEndian: false, target: { kind: 'list', items } }
}

/** Class of references to whole objects, as versions before 1.12 write them. */
const OBJECT_REFERENCE = 0

function planReference({ type, size }: Datatype & { readonly kind: 'reference' }, { references }: TypeOptions): Value {
  if (type !== OBJECT_REFERENCE)
    return refuse(`elements are references of type ${type}: only references to objects, of type 0, are read, as paths`, type)
  if (references === undefined)
    return refuse("elements are references to other objects; pass `references: 'paths'` to openHdf5 to read their paths")
  return { dtype: 'string', valueBytes: size, isBigEndian: false, target: { kind: 'path' } }
}

function planOpaque({ tag, size }: Datatype & { readonly kind: 'opaque' }, { opaque }: TypeOptions): Value {
  const name = tag === '' ? '' : ` ('${tag}')`
  if (opaque === undefined) return refuse(`elements are opaque bytes${name}; pass \`opaque: 'bytes'\` to openHdf5 to read them`)
  const convert: ValueConversion = (stored, count) =>
    encodeChunk(
      'binary',
      Array.from({ length: count }, (_, i) => stored.slice(i * size, (i + 1) * size)),
    )
  return { dtype: 'binary', valueBytes: size, isBigEndian: false, convert }
}

/** Returns the bytes of the type that holds an integer. */
const holdingBytes = (size: number): 1 | 2 | 4 | 8 => ([1, 2, 4, 8] as const).find((bytes) => bytes >= size)!

function planInteger(type: Datatype & { readonly kind: 'integer' }): Value {
  const { size, isSigned, isBigEndian, offset, precision } = type
  if (size > 8) refuse(`integers of ${size} bytes are not read here, at most of 8`, size)
  const bytes = holdingBytes(size)
  const dtype = `${isSigned ? 'int' : 'uint'}${8 * bytes}` as FixedDType
  if (size === bytes && offset === 0 && precision === 8 * size)
    return { dtype, valueBytes: size, isBigEndian: isBigEndian && size > 1 }
  return { dtype, valueBytes: size, isBigEndian: false, convert: integerConversion(type, bytes) }
}

function planFloat(type: Datatype & { readonly kind: 'float' }): Value {
  if (isNativeFloat(type))
    return { dtype: type.size === 4 ? 'float32' : 'float64', valueBytes: type.size, isBigEndian: type.isBigEndian }
  const { dtype, convert } = floatConversion(type)
  return { dtype, valueBytes: type.size, isBigEndian: false, convert }
}

function planEnum({ base, names, values }: Datatype & { readonly kind: 'enum' }): Value {
  const plan = planValue(base, {})
  const isBool = base.size === 1 && names.length === 2 && names.every((name, i) => name === BOOLS[i] && values[i]![0] === i)
  if (isBool) return { dtype: 'bool', valueBytes: 1, isBigEndian: false, convert: toBools }
  const bytes = new Uint8Array(sizeOf([values.length, base.size]))
  for (const [i, value] of values.entries()) bytes.set(value, i * base.size)
  return { ...plan, flags: { type: base, names, values: bytes } }
}

/** Names of the values that h5py gives bools. */
const BOOLS = ['FALSE', 'TRUE']

/** Any value except 0 is true, and becomes 1. */
const toBools: ValueConversion = (stored) => stored.map((byte) => (byte === 0 ? 0 : 1))

const SPACE = 0x20

function textConversion(padding: TextPadding, width: number): ValueConversion {
  const trim = (bytes: Uint8Array): Uint8Array => {
    if (padding === 'spaces') {
      let end = bytes.length
      while (end > 0 && bytes[end - 1] === SPACE) end--
      return bytes.subarray(0, end)
    }
    const end = padding === 'terminated' ? bytes.indexOf(0) : -1
    return end < 0 ? bytes : bytes.subarray(0, end)
  }
  return (stored, count) =>
    encodeChunk(
      'string',
      Array.from({ length: count }, (_, i) => decodeText(trim(stored.subarray(i * width, (i + 1) * width)))),
    )
}
