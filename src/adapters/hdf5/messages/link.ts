import { decodeText } from '../../../core/characters.ts'
import { type Cursor, refuse } from '../cursor.ts'

/** A link of a group. */
export type Link = { readonly name: string; readonly order?: number } & (
  | { readonly kind: 'hard'; readonly address: number }
  | { readonly kind: 'soft'; readonly target: string }
  | { readonly kind: 'external'; readonly file: string; readonly target: string }
  | { readonly kind: 'user'; readonly type: number }
)

export function parseLink(cursor: Cursor): Link {
  cursor.version('a link', [1])
  const flags = cursor.u8()
  const type = flags & 8 ? cursor.u8() : 0
  const order = flags & 4 ? { order: Number(cursor.u64()) } : {}
  if (flags & 16) cursor.skip(1)
  const name = decodeText(cursor.slice(cursor.uint(1 << (flags & 3))))
  if (type === 0) return { kind: 'hard', name, ...order, address: cursor.definedAddress(`the link '${name}'`) }
  const value = cursor.part(cursor.u16())
  if (type === 1) return { kind: 'soft', name, ...order, target: decodeText(value.bytes) }
  if (type !== 64) return { kind: 'user', name, ...order, type }
  value.skip(1)
  return { kind: 'external', name, ...order, file: value.terminated(), target: value.terminated() }
}

/** Message of a group whose links may be stored densely. */
export interface LinkInfo {
  readonly heap: number | undefined
  /** B-tree of the names. */
  readonly names: number | undefined
  /** B-tree of the order of creation; undefined if it is not stored. */
  readonly orders: number | undefined
  /** Whether the order of creation is stored. */
  readonly isOrdered: boolean
}

export function parseLinkInfo(cursor: Cursor): LinkInfo {
  cursor.version('the links of a group', [0])
  const flags = cursor.u8()
  if (flags & 1) cursor.skip(8)
  const heap = cursor.address()
  const names = cursor.address()
  return { heap, names, orders: flags & 2 ? cursor.address() : undefined, isOrdered: (flags & 1) !== 0 }
}

/** @throws UnsupportedError for links that are not followed */
export function checkFollowed(link: Link): asserts link is Exclude<Link, { kind: 'user' }> {
  if (link.kind === 'user') refuse(`the link is of the user-defined type ${link.type}, which is not read here`, link.name)
}
