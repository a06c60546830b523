import { Cursor, damaged } from '../cursor.ts'
import { type FileBytes, Walk } from '../file-bytes.ts'
import { LIMITS } from '../limits.ts'
import type { Link } from '../messages/link.ts'

/** Kind of an entry whose scratch space names the target of a soft link. */
const SOFT_LINK = 2

/** Returns the links of a group that is stored as a symbol table, in the order of their names. */
export async function readSymbolTable(file: FileBytes, tree: number, heap: number): Promise<Link[]> {
  const names = await readLocalHeap(file, heap)
  const walk = new Walk('nodes of a group')
  const tables = await tablesBelow(file, tree, walk, 0)
  return (await Promise.all(tables.map((address) => readTable(file, address, names)))).flat()
}

/** Returns the bytes of a local heap. */
export async function readLocalHeap(file: FileBytes, address: number): Promise<Cursor> {
  const { offsets, lengths } = file.sizes
  const cursor = (await file.cursor(address, 8 + 2 * lengths + offsets)).signature('HEAP')
  cursor.version('a local heap', [0])
  const size = cursor.skip(3).length()
  cursor.skip(lengths)
  return file.cursor(cursor.definedAddress('the data of a local heap'), size)
}

/** Returns the addresses of the tables at the leaves of a B-tree, in their order. */
async function tablesBelow(file: FileBytes, address: number, walk: Walk, depth: number): Promise<number[]> {
  walk.visit(address)
  const { offsets, lengths } = file.sizes
  if (depth > LIMITS.depth) damaged('a B-tree has too many levels', file.position(address))
  const head = (await file.cursor(address, 8 + 2 * offsets)).signature('TREE')
  if (head.u8() !== 0) damaged('a B-tree of chunks instead of links', head.start)
  const level = head.u8()
  const count = head.u16()
  const entries = await file.cursor(address + 8 + 2 * offsets, count * (lengths + offsets))
  const children = Array.from({ length: count }, () => entries.skip(lengths).definedAddress('a node of a group'))
  if (level === 0) return children
  return (await Promise.all(children.map((child) => tablesBelow(file, child, walk, depth + 1)))).flat()
}

async function readTable(file: FileBytes, address: number, names: Cursor): Promise<Link[]> {
  const head = (await file.cursor(address, 8)).signature('SNOD')
  head.version('a symbol table', [1])
  const count = head.skip(1).u16()
  const { offsets } = file.sizes
  const entries = await file.cursor(address + 8, count * (2 * offsets + 24))
  return Array.from({ length: count }, (): Link => {
    const name = nameAt(names, entries.uint(offsets))
    const { position } = entries
    const header = entries.address()
    const kind = entries.u32()
    const scratch = entries.skip(4).part(16)
    if (kind === SOFT_LINK) return { kind: 'soft', name, target: nameAt(names, scratch.u32()) }
    if (header === undefined) return damaged(`the link '${name}' leads nowhere`, position)
    return { kind: 'hard', name, address: header }
  })
}

/** Returns the text at a position of a local heap. */
export function nameAt(names: Cursor, offset: number): string {
  return new Cursor(names.bytes, names.sizes, names.start).skip(offset).terminated()
}
