import { checkSize } from '../../../codec/bounds.ts'
import type { Step } from '../../../codec/chain.ts'
import { HyperslabError } from '../../../core/errors.ts'
import { rareFilters } from '../../../kernels/rare-filters.ts'
import { malformedFilter } from './basic.ts'

/** Classes of types in the parameters. */
const NUMBER = 1
const ARRAY = 2
const COMPOUND = 3
const AS_IT_IS = 4

/** Largest number of fields of an element, and depth of types in types. */
const MOST_FIELDS = 65_536
const MOST_DEPTH = 32
/** The kernel's description of a field: five i32. */
const FIELD_NUMBERS = 5

/**
 * Returns the decoder of n-bit; undefined if it leaves bytes as they are. Parameters are their count, whether
 * nothing is packed, the number of elements, and a type:
 *
 *     number:    1 | bytes | order (0: little-endian) | precision | lowest bit
 *     array:     2 | bytes | the type of its elements
 *     compound:  3 | bytes | members | for each member: position | its type
 *     other:     4 | bytes
 */
export function createUnpacking(parameters: readonly number[]): NonNullable<Step['decodeIn']> | undefined {
  if (parameters[1] === 1) return undefined
  const count = parameters[2] ?? 0
  const type = new TypeReader(parameters)
  const elementBytes = type.read(0, 0)
  const { fields, bits } = type
  const fieldCount = fields.length / FIELD_NUMBERS
  return (arena, pointer, length, expected, mostBytes) => {
    const decodedBytes = count * elementBytes
    checkSize('nbit', decodedBytes, expected, mostBytes)
    const needed = Math.ceil((count * bits) / 8)
    if (length < needed) throw malformedFilter('nbit', `${count} elements of ${bits} bits need ${needed} bytes, of ${length}`)
    const target = arena.alloc(decodedBytes)
    arena.scratch(() => {
      const described = arena.int32s(fields)
      rareFilters(arena).unpackFields(pointer, target, count, elementBytes, described, fieldCount)
    })
    return { pointer: target, length: decodedBytes }
  }
}

/** Reads a type from the parameters, as the fields that its elements are packed from. */
class TypeReader {
  readonly fields: number[] = []
  /** Bits of a packed element. */
  bits = 0
  readonly #parameters: readonly number[]
  #at = 3

  constructor(parameters: readonly number[]) {
    this.#parameters = parameters
  }

  /** Reads a type whose elements begin at `start`; returns their bytes. */
  read(start: number, depth: number): number {
    if (depth > MOST_DEPTH) throw malformedFilter('nbit', `more than ${MOST_DEPTH} types in types`)
    const kind = this.#next()
    const bytes = this.#next()
    if (bytes === 0) throw malformedFilter('nbit', 'a type of 0 bytes')
    if (kind === NUMBER) this.#addNumber(start, bytes)
    else if (kind === AS_IT_IS) this.#addBytes(start, bytes)
    else if (kind === ARRAY) this.#addArray(start, bytes, depth)
    else if (kind === COMPOUND) this.#addMembers(start, bytes, depth)
    else throw malformedFilter('nbit', `a type of class ${kind}`)
    return bytes
  }

  #next(): number {
    const value = this.#parameters[this.#at++]
    if (value === undefined) throw malformedFilter('nbit', `its ${this.#parameters.length} parameters end within a type`)
    return value
  }

  #addNumber(start: number, bytes: number): void {
    const [order, precision, lowest] = [this.#next(), this.#next(), this.#next()]
    if (order > 1 || precision < 1 || precision + lowest > 8 * bytes)
      throw malformedFilter('nbit', `${precision} bits from bit ${lowest} on of ${bytes} bytes, in order ${order}`)
    if (bytes > 8)
      throw new HyperslabError('UnsupportedError', `nbit: numbers of ${bytes} bytes are not read here; repack the file`, {
        actual: bytes,
        expected: 8,
      })
    this.#add([start, bytes, order, precision, lowest])
  }

  #addBytes(start: number, bytes: number): void {
    for (let i = 0; i < bytes; i++) this.#add([start + i, 1, 0, 8, 0])
  }

  #addArray(start: number, bytes: number, depth: number): void {
    const type = this.#at
    for (let at = 0; at < bytes; ) {
      this.#at = type
      at += this.read(start + at, depth + 1)
      if (at > bytes) throw malformedFilter('nbit', `elements of an array of ${bytes} bytes end at byte ${at}`)
    }
  }

  #addMembers(start: number, bytes: number, depth: number): void {
    const members = this.#next()
    if (members === 0) throw malformedFilter('nbit', 'a compound without members')
    for (let i = 0; i < members; i++) {
      const at = this.#next()
      const end = at + this.read(start + at, depth + 1)
      if (end > bytes) throw malformedFilter('nbit', `a member of a compound of ${bytes} bytes ends at byte ${end}`)
    }
  }

  #add(field: readonly number[]): void {
    if (this.fields.length >= MOST_FIELDS * FIELD_NUMBERS)
      throw new HyperslabError('UnsupportedError', `nbit: elements of more than ${MOST_FIELDS} fields are not read here`, {
        expected: MOST_FIELDS,
      })
    this.fields.push(...field)
    this.bits += field[3]!
  }
}
