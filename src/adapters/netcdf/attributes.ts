import { ReadonlyAttributes } from '../../core/attributes.ts'
import { decodeText } from '../../core/characters.ts'
import { allocate, type DataOf, type ScalarOf } from '../../core/dtype.ts'
import { encodeChunk } from '../../engine/write-box.ts'
import type { HeaderAttribute } from './header.ts'
import { type ClassicDType, TYPE_BYTES } from './types.ts'

type NumericList = { [D in ClassicDType]: { type: `${D}[]`; value: DataOf<D> } }[ClassicDType]
type NumericScalar = { [D in ClassicDType]: { type: D; value: ScalarOf<D> } }[ClassicDType]

/** Value of an attribute: a scalar for one number, a list for several or no numbers, a string for text. */
export type NetcdfAttribute = NumericScalar | NumericList | { type: 'string'; value: string }

/** Attributes of a NetCDF file or variable, by name. */
export type NetcdfAttributes = ReadonlyAttributes<NetcdfAttribute>

/** Returns the attributes by name. If a damaged file repeats a name, its first attribute counts. */
export function toAttributes(stored: readonly HeaderAttribute[]): NetcdfAttributes {
  const attributes = new Map<string, NetcdfAttribute>()
  for (const attribute of stored) {
    if (!attributes.has(attribute.name)) attributes.set(attribute.name, toAttribute(attribute))
  }
  return new ReadonlyAttributes(() => attributes)
}

function toAttribute({ type, bytes }: HeaderAttribute): NetcdfAttribute {
  if (type === 'char') return { type: 'string', value: decodeText(bytes) }
  const list = readNumbers(type, bytes)
  return (list.length === 1 ? { type, value: list[0]! } : { type: `${type}[]`, value: list }) as NetcdfAttribute
}

/** Reads numbers that are stored in big-endian order. */
function readNumbers(type: ClassicDType, stored: Uint8Array): DataOf<ClassicDType> {
  const size = TYPE_BYTES[type]
  // Reversed as a whole, each number is little-endian, and the last one comes first.
  const bytes = stored.slice().reverse()
  const list = allocate(type, bytes.length / size)
  new Uint8Array(list.buffer).set(bytes)
  return list.reverse() as DataOf<ClassicDType>
}

/** Converts stored texts, all of the same length in bytes, to the payload of a chunk of strings. */
export const payloadOfText = (stored: Uint8Array, count: number, encoding?: unknown): Uint8Array => {
  const width = stored.length / count
  return encodeChunk(
    'string',
    Array.from({ length: count }, (_, i) => decodeText(stored.subarray(i * width, (i + 1) * width), encoding)),
  )
}
