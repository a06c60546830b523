import type { AttributeValue, FillValue } from '../../src/af/format/footer.ts'
import { allocate, type DataOf, type DType, type TypedArray, toBytes } from '../../src/core/dtype.ts'
import { encodeChunk } from '../../src/engine/write-box.ts'

/**
 * Values as the Rust peer reads and writes them: numbers as the hexadecimal form of their bytes in a file.
 */
export interface WireScalar {
  readonly kind: string
  readonly value: unknown
}

export interface WireAttribute {
  readonly type: string
  readonly value: unknown
}

export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
export const fromHex = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'hex'))

/** Elements as the payload of a chunk. */
export const wireData = <D extends DType>(dtype: D, data: DataOf<D>): string => toHex(encodeChunk(dtype, data))

const KIND_DTYPES = { int: 'int64', uint: 'uint64', float: 'float64', timestamp_ns: 'int64' } as const

const number = (dtype: DType, value: number | bigint): string => {
  const data = allocate(dtype, 1)
  data[0] = value as never
  return wireData(dtype, data)
}

/** A fill value or an extreme of statistics. */
export function wireScalar(
  scalar: Pick<FillValue, 'kind' | 'value'> | { kind: 'bytes'; value: Uint8Array } | null,
): WireScalar | null {
  if (scalar === null) return null
  const { kind, value } = scalar
  if (kind === 'bytes') return { kind, value: toHex(value) }
  if (kind === 'bool' || kind === 'string') return { kind, value }
  return { kind, value: number(KIND_DTYPES[kind], value as number | bigint) }
}

export function wireAttribute({ type, value }: AttributeValue): WireAttribute {
  if (value instanceof Uint8Array && type === 'binary') return { type, value: toHex(value) }
  if (type === 'binary[]') return { type, value: (value as Uint8Array[]).map(toHex) }
  if (ArrayBuffer.isView(value)) return { type, value: toHex(toBytes(value as TypedArray)) }
  if (typeof value === 'number' || typeof value === 'bigint') return { type, value: number(type as DType, value) }
  return { type, value }
}
