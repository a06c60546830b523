import { type Cursor, damaged, refuse } from '../cursor.ts'
import { LIMITS } from '../limits.ts'

/** A member of a compound. */
export interface Member {
  readonly name: string
  readonly offset: number
  readonly type: Datatype
}

/** Bits of a number in its bytes. */
export interface Bits {
  readonly isBigEndian: boolean
  /** Position of the lowest bit, and number of bits. */
  readonly offset: number
  readonly precision: number
}

/** Parts of a floating-point number, by the positions of their lowest bits. */
export interface FloatBits extends Bits {
  readonly isVax: boolean
  readonly signAt: number
  readonly exponentAt: number
  readonly exponentBits: number
  readonly mantissaAt: number
  readonly mantissaBits: number
  readonly bias: number
  /** 2: the highest bit of the mantissa is implied; 1: it is stored; 0: the mantissa is not normalised. */
  readonly normalisation: number
}

/** TextPadding of texts: ends with NUL, filled up with NULs, filled up with spaces. */
export type TextPadding = 'terminated' | 'nulls' | 'spaces'

/** Type of elements. `size` is the number of bytes of one. */
export type Datatype = { readonly size: number } & (
  | ({ readonly kind: 'integer'; readonly isSigned: boolean } & Bits)
  | ({ readonly kind: 'float' } & FloatBits)
  | { readonly kind: 'string'; readonly padding: TextPadding }
  | { readonly kind: 'opaque'; readonly tag: string }
  | { readonly kind: 'compound'; readonly members: readonly Member[] }
  | { readonly kind: 'reference'; readonly type: number }
  | { readonly kind: 'enum'; readonly base: Datatype; readonly names: readonly string[]; readonly values: readonly Uint8Array[] }
  | { readonly kind: 'vlen'; readonly isString: boolean; readonly base: Datatype }
  | { readonly kind: 'array'; readonly shape: readonly number[]; readonly base: Datatype }
  | { readonly kind: 'complex'; readonly base: Datatype }
  | { readonly kind: 'time' }
)

const PADDINGS: readonly TextPadding[] = ['terminated', 'nulls', 'spaces']

/** @throws UnsupportedError for classes that the specification does not have; FormatError */
export function parseDatatype(cursor: Cursor, depth = 0): Datatype {
  if (depth > LIMITS.typeDepth) damaged(`datatypes nest deeper than ${LIMITS.typeDepth} levels`, cursor.position)
  const first = cursor.u8()
  const version = first >> 4
  if (version < 1 || version > 5) refuse(`version ${version} of datatypes is not read here`, version)
  const bits = cursor.uint(3)
  const size = cursor.u32()
  const parse = PARSERS[first & 15] ?? refuse(`the datatype class ${first & 15} is not read here`, first & 15)
  return { ...parse({ cursor, version, bits, size, depth }), size }
}

interface Parsing {
  readonly cursor: Cursor
  readonly version: number
  readonly bits: number
  readonly size: number
  readonly depth: number
}

/** Distributes over the union. */
type Unsized<T> = T extends unknown ? Omit<T, 'size'> : never
type Parser = (parsing: Parsing) => Unsized<Datatype>

function parseBits({ cursor, bits, size }: Parsing): Bits {
  const [offset, precision] = [cursor.u16(), cursor.u16()]
  if (precision < 1 || offset + precision > 8 * size)
    damaged(`${precision} bits from bit ${offset} on in ${size} bytes`, cursor.position, precision)
  return { isBigEndian: (bits & 1) !== 0, offset, precision }
}

const parseFloating: Parser = (parsing) => {
  const { cursor, bits } = parsing
  const common = parseBits(parsing)
  const [exponentAt, exponentBits, mantissaAt, mantissaBits] = [cursor.u8(), cursor.u8(), cursor.u8(), cursor.u8()]
  const isVax = (bits & 0x41) === 0x41
  const normalisation = (bits >> 4) & 3
  const signAt = (bits >> 8) & 0xff
  return {
    kind: 'float',
    ...common,
    isVax,
    signAt,
    exponentAt,
    exponentBits,
    mantissaAt,
    mantissaBits,
    bias: cursor.u32(),
    normalisation,
  }
}

const parseCompound: Parser = ({ cursor, version, bits, size, depth }) => {
  const count = bits & 0xffff
  const offsetBytes = version < 3 ? 4 : size < 2 ** 8 ? 1 : size < 2 ** 16 ? 2 : size < 2 ** 24 ? 3 : 4
  const members = Array.from({ length: count }, (): Member => {
    const name = cursor.terminated(version < 3 ? 8 : 1)
    const offset = cursor.uint(offsetBytes)
    const rank = version === 1 ? cursor.u8() : 0
    const shape = version === 1 ? fourLengths(cursor.skip(11), rank) : []
    const base = parseDatatype(cursor, depth + 1)
    const count = shape.reduce((product, length) => product * length, 1)
    const type: Datatype = shape.length === 0 ? base : { kind: 'array', shape, base, size: base.size * count }
    if (offset + type.size > size) damaged(`the member '${name}' ends behind its compound of ${size} bytes`, cursor.position)
    return { name, offset, type }
  })
  const names = new Set(members.map(({ name }) => name))
  if (names.size < count || names.has('')) damaged('two members of a compound have one name, or one has none', cursor.position)
  for (const name of names) if (name.includes('/')) refuse(`the member '${name}' of a compound cannot be named in a path`)
  return { kind: 'compound', members }
}

/** Reads the lengths of an array in a compound of version 1, which has room for four. */
function fourLengths(cursor: Cursor, rank: number): number[] {
  if (rank > 4) damaged(`a member has ${rank} axes`, cursor.position, rank)
  return Array.from({ length: 4 }, () => cursor.u32()).slice(0, rank)
}

const parseEnum: Parser = ({ cursor, version, bits, depth }) => {
  const count = bits & 0xffff
  const base = parseDatatype(cursor, depth + 1)
  const names = Array.from({ length: count }, () => cursor.terminated(version < 3 ? 8 : 1))
  return { kind: 'enum', base, names, values: names.map(() => cursor.slice(base.size)) }
}

const parseArray: Parser = ({ cursor, version, size, depth }) => {
  const rank = cursor.u8()
  if (rank < 1 || rank > LIMITS.rank) damaged(`an array type of ${rank} axes`, cursor.position, rank)
  if (version < 3) cursor.skip(3)
  const shape = Array.from({ length: rank }, () => cursor.u32())
  if (version < 3) cursor.skip(4 * rank)
  const base = parseDatatype(cursor, depth + 1)
  const bytes = shape.reduce((product, length) => product * length, base.size)
  if (bytes !== size) damaged(`an array of ${bytes} bytes in a type of ${size}`, cursor.position, bytes)
  return { kind: 'array', shape, base }
}

const integer =
  (isAlwaysUnsigned: boolean): Parser =>
  (parsing) => ({ kind: 'integer', ...parseBits(parsing), isSigned: !isAlwaysUnsigned && (parsing.bits & 8) !== 0 })

const PARSERS: readonly Parser[] = [
  integer(false),
  parseFloating,
  ({ cursor }) => {
    cursor.skip(2)
    return { kind: 'time' }
  },
  ({ bits }) => ({
    kind: 'string',
    padding: PADDINGS[bits & 15] ?? refuse(`the padding ${bits & 15} of texts is not read here`),
  }),
  integer(true),
  ({ cursor, bits }) => ({ kind: 'opaque', tag: cursor.text(Math.ceil((bits & 0xff) / 8) * 8) }),
  parseCompound,
  ({ bits }) => ({ kind: 'reference', type: bits & 15 }),
  parseEnum,
  ({ cursor, bits, depth }) => ({ kind: 'vlen', isString: (bits & 15) === 1, base: parseDatatype(cursor, depth + 1) }),
  parseArray,
  ({ cursor, depth }) => ({ kind: 'complex', base: parseDatatype(cursor, depth + 1) }),
]
