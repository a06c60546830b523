import { type Cursor, damaged, refuse } from '../cursor.ts'

/** Index of chunks, with its parameters. */
export type IndexKind =
  | { readonly kind: 'btree1' }
  | { readonly kind: 'single'; readonly bytes: number | undefined; readonly mask: number }
  | { readonly kind: 'implicit' }
  | { readonly kind: 'fixed' }
  | { readonly kind: 'extensible' }
  | { readonly kind: 'btree2' }

/** Place of the elements of an array. */
export type Layout =
  | { readonly kind: 'compact'; readonly bytes: Uint8Array }
  | { readonly kind: 'contiguous'; readonly address: number | undefined; readonly bytes: number | undefined }
  | {
      readonly kind: 'chunked'
      readonly chunkShape: readonly number[]
      readonly elementBytes: number
      readonly address: number | undefined
      readonly index: IndexKind
      /** Whether chunks that end behind the array are stored without filters. */
      readonly hasPlainEdges: boolean
    }
  | { readonly kind: 'virtual'; readonly address: number | undefined; readonly object: number }

export function parseLayout(cursor: Cursor): Layout {
  const version = cursor.version('the data layout', [1, 2, 3, 4, 5])
  return version < 3 ? parseOld(cursor) : parseNew(cursor, version)
}

/** Chunk shapes are followed by the bytes of an element. */
function chunked(dims: readonly number[], cursor: Cursor): { chunkShape: readonly number[]; elementBytes: number } {
  if (dims.length < 1 || dims.some((length) => length < 1)) damaged(`chunks of [${dims.join(', ')}]`, cursor.start)
  return { chunkShape: dims.slice(0, -1), elementBytes: dims.at(-1)! }
}

function parseOld(cursor: Cursor): Layout {
  const rank = cursor.u8()
  const kind = cursor.u8()
  cursor.skip(5)
  const address = kind === 0 ? undefined : cursor.address()
  const dims = Array.from({ length: rank }, () => cursor.u32())
  if (kind === 0) return { kind: 'compact', bytes: cursor.slice(cursor.u32()) }
  if (kind === 1) return { kind: 'contiguous', address, bytes: undefined }
  if (kind !== 2) return refuse(`the data layout ${kind} is not read here`, kind)
  return { kind: 'chunked', ...chunked(dims, cursor), address, index: { kind: 'btree1' }, hasPlainEdges: false }
}

function parseNew(cursor: Cursor, version: number): Layout {
  const kind = cursor.u8()
  if (kind === 0) return { kind: 'compact', bytes: cursor.slice(cursor.u16()) }
  if (kind === 1) return { kind: 'contiguous', address: cursor.address(), bytes: cursor.length() }
  if (kind === 3 && version > 3) return { kind: 'virtual', address: cursor.address(), object: cursor.u32() }
  if (kind !== 2) return refuse(`the data layout ${kind} is not read here`, kind)
  if (version === 3) {
    const rank = cursor.u8()
    const address = cursor.address()
    const dims = Array.from({ length: rank }, () => cursor.u32())
    return { kind: 'chunked', ...chunked(dims, cursor), address, index: { kind: 'btree1' }, hasPlainEdges: false }
  }
  const flags = cursor.u8()
  const rank = cursor.u8()
  const size = cursor.u8()
  if (size < 1 || size > 8) damaged(`lengths of chunks have ${size} bytes`, cursor.start, size)
  const dims = Array.from({ length: rank }, () => cursor.uint(size))
  const index = parseIndex(cursor, flags)
  return { kind: 'chunked', ...chunked(dims, cursor), address: cursor.address(), index, hasPlainEdges: (flags & 1) !== 0 }
}

/** Most parameters of an index are in its header, too. */
function parseIndex(cursor: Cursor, flags: number): IndexKind {
  const kind = cursor.u8()
  switch (kind) {
    case 1:
      if ((flags & 2) === 0) return { kind: 'single', bytes: undefined, mask: 0 }
      return { kind: 'single', bytes: cursor.length(), mask: cursor.u32() }
    case 2:
      return { kind: 'implicit' }
    case 3:
      cursor.skip(1)
      return { kind: 'fixed' }
    case 4:
      cursor.skip(5)
      return { kind: 'extensible' }
    case 5:
      cursor.skip(6)
      return { kind: 'btree2' }
    default:
      return refuse(`the chunk index ${kind} is not read here`, kind)
  }
}
