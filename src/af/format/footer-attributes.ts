import {
  allocate,
  type DataOf,
  type DType,
  fromBytes,
  isFloat,
  isNumeric,
  NUMERIC_DTYPES,
  type NumericDType,
  readElement,
  type TypedArray,
  toBytes,
  toElement,
} from '../../core/dtype.ts'
import { type Archived, mapped, struct, union } from '../rkyv/layout.ts'
import {
  bool,
  checkedBits,
  type FloatWithBits,
  float32WithBits,
  float64WithBits,
  safeUint64,
  scalar,
  uint16,
  uint32,
} from '../rkyv/leaves.ts'
import { binary, checkClass, className, listLayout, numbers, VEC_BYTES, vec, vecCount, vecTarget } from '../rkyv/pointers.ts'
import { checkText, string } from '../rkyv/string.ts'

type NumericList = { [D in NumericDType]: { type: `${D}[]`; value: DataOf<D> } }[NumericDType]

/**
 * Value of an attribute. NaNs that were read have `bits`, so that rewriting a file keeps their bit patterns.
 */
export type AttributeValue =
  | { type: 'bool'; value: boolean }
  | { type: 'int8' | 'int16' | 'int32' | 'uint8' | 'uint16' | 'uint32'; value: number }
  | { type: 'int64' | 'uint64'; value: bigint }
  | { type: 'float32'; value: number; bits?: number }
  | { type: 'float64'; value: number; bits?: bigint }
  | { type: 'string'; value: string }
  | { type: 'binary'; value: Uint8Array }
  | { type: 'bool[]'; value: boolean[] }
  | NumericList
  | { type: 'string[]'; value: string[] }
  | { type: 'binary[]'; value: Uint8Array[] }

type OptionalBits<Bits> = { value: number; bits?: Bits }

const nanKeepsBits = <Bits extends number | bigint>(layout: Archived<FloatWithBits<Bits>>) =>
  mapped(
    layout as Archived<OptionalBits<Bits>>,
    ({ value, bits }): OptionalBits<Bits> => (Number.isNaN(value) ? { value, bits: bits! } : { value }),
    ({ value, bits }) => ({ value: toElement('float64', value) as number, bits: bits! }),
  )

const each = (layoutOf: (dtype: NumericDType) => Archived<unknown>, suffix = ''): Record<string, Archived<object>> =>
  Object.fromEntries(NUMERIC_DTYPES.map((dtype) => [dtype + suffix, struct({ value: layoutOf(dtype) })]))

export const VARIANTS = {
  bool: struct({ value: bool }),
  ...each(scalar),
  float32: nanKeepsBits(float32WithBits),
  float64: nanKeepsBits(float64WithBits),
  string: struct({ value: string }),
  // The types from here on exist since footer version 5.
  binary: struct({ value: binary }),
  'bool[]': struct({ value: vec(bool) }),
  ...each(numbers, '[]'),
  'string[]': struct({ value: vec(string) }),
  'binary[]': struct({ value: vec(binary) }),
}

/** 24 bytes; a scalar at +1, +2, +4 or +8 according to its size, all other fields at +8. */
export const attributeValueLayout = union('attribute value', 'type', VARIANTS) as Archived<AttributeValue>

/**
 * Returns the value that a read returns after this one was written. Lists may be plain arrays of numbers.
 * @throws InvalidArgumentError for a value that does not match its type
 */
export function copyAttribute(attribute: {
  type: AttributeValue['type']
  value: unknown
  bits?: number | bigint
}): AttributeValue {
  const { type, value } = attribute
  const dtype = type.replace('[]', '') as DType
  return { type, ...(dtype === type ? copyOne(dtype, attribute) : { value: copyList(dtype, value) }) } as AttributeValue
}

function copyOne(dtype: DType, { value, bits }: { value: unknown; bits?: number | bigint }): object {
  const copy = copyElement(dtype, value)
  if (!isFloat(dtype)) return { value: copy }
  const checked = checkedBits(dtype, copy as number, bits)
  return { value: copy, ...(Number.isNaN(copy) && { bits: checked }) }
}

function copyList(dtype: DType, values: unknown): unknown {
  const isPlain = Array.isArray(values)
  checkClass(values, isNumeric(dtype) && !isPlain ? className(allocate(dtype, 0)) : 'Array')
  if (!isPlain) return fromBytes(dtype as NumericDType, toBytes(values as TypedArray).slice())
  const copies = values.map((value) => copyElement(dtype, value))
  return isNumeric(dtype) ? Object.assign(allocate(dtype, copies.length), copies) : copies
}

function copyElement(dtype: DType, value: unknown): unknown {
  if (dtype === 'string') return checkText(value)
  if (dtype !== 'binary') return readElement(dtype, [toElement(dtype, value)] as never, 0)
  checkClass(value, 'Uint8Array')
  return new Uint8Array(value as Uint8Array)
}

/** All attribute types, in the order of their tags. */
export const ATTRIBUTE_TYPES = Object.keys(VARIANTS) as AttributeValue['type'][]

/** Whether footer version 4 has the type: it has scalars and strings only. */
export const isVersion4Attribute = (type: AttributeValue['type']): boolean => ATTRIBUTE_TYPES.indexOf(type) < 12

/**
 * Attributes of an array: `keys[i]` is an index into the attribute keys, `values[i]` one into the attribute
 * values, of this footer or of a layer below. The writer sorts the keys, because readers search them by
 * bisection. `width` is the number of bits of an index in the file.
 */
export interface AttributePairs {
  width: 16 | 32 | 64
  keys: number[]
  values: number[]
}

export type PairColumns = Pick<AttributePairs, 'keys' | 'values'>

/** A Vec of pairs, read as columns, because an object for each pair takes ten times the memory. */
export function pairs(index: Archived<number>): Archived<PairColumns> {
  return {
    size: VEC_BYTES,
    align: 8,
    read(from, at) {
      const target = vecTarget(from, at)
      const count = vecCount(from, at)
      from.claim(at, target, count * 2 * index.size, index.align)
      const [keys, values] = [listLayout<number>(count), listLayout<number>(count)]
      for (let i = 0, place = target; i < count; i++, place += 2 * index.size) {
        keys[i] = index.read(from, place)
        values[i] = index.read(from, place + index.size)
      }
      return { keys, values }
    },
    form: ['pairs', index],
  }
}

/** 24 bytes; the Vec of pairs at +8, each two integers of the variant's width. */
const pairsLayout = union('attribute indices', 'width', { u16: pairs(uint16), u32: pairs(uint32), u64: pairs(safeUint64) })

export const attributePairsLayout: Archived<AttributePairs> = mapped(
  pairsLayout,
  ({ width, keys, values }) => ({ width: Number(width.slice(1)) as AttributePairs['width'], keys, values }),
  ({ width, keys, values }) => ({ width: `u${width}` as const, keys, values }),
)
