import type { Cursor } from '../cursor.ts'
import { damaged, numberBytes } from '../cursor.ts'
import { type FileBytes, Walk } from '../file-bytes.ts'
import { LIMITS } from '../limits.ts'
import { checkSum } from '../lookup3.ts'

/** Bytes of a node besides its records: signature, version, type, checksum. */
const NODE_OVERHEAD = 10

/** Header of a B-tree of version 2. */
export interface Tree2 {
  readonly type: number
  readonly nodeBytes: number
  readonly recordBytes: number
  readonly depth: number
  readonly root: number | undefined
  readonly rootRecords: number
  /** Number of records in all nodes. */
  readonly total: number
}

/** A node: its records, and for internal nodes its children. */
export interface Node2 {
  readonly records: readonly Cursor[]
  readonly children: readonly Child2[]
}

/** A child of an internal node. */
export interface Child2 {
  readonly address: number
  readonly count: number
  readonly depth: number
}

export async function readTree2(file: FileBytes, address: number): Promise<Tree2> {
  const { offsets, lengths } = file.sizes
  const cursor = await file.checked(address, 22 + offsets + lengths, 'the header of a B-tree')
  cursor.signature('BTHD').version('a B-tree', [0])
  const type = cursor.u8()
  const nodeBytes = cursor.u32()
  const recordBytes = cursor.u16()
  const depth = cursor.u16()
  cursor.skip(2)
  const root = cursor.address()
  const rootRecords = cursor.u16()
  const total = cursor.length()
  if (depth > LIMITS.depth) damaged(`a B-tree of ${depth} levels`, cursor.start, depth)
  if (recordBytes < 1 || nodeBytes <= NODE_OVERHEAD) damaged(`a B-tree of nodes of ${nodeBytes} bytes`, cursor.start, nodeBytes)
  return { type, nodeBytes, recordBytes, depth, root, rootRecords, total }
}

/** Returns the root as a child; undefined for an empty tree. */
export const rootNode = ({ root, rootRecords, depth }: Tree2): Child2 | undefined =>
  root === undefined ? undefined : { address: root, count: rootRecords, depth }

/** Sizes of the pointers to children of a node at a level. */
function pointerSizes({ nodeBytes, recordBytes, depth }: Tree2, offsets: number): { count: number; total: number[] } {
  const leaf = Math.floor((nodeBytes - NODE_OVERHEAD) / recordBytes)
  const count = numberBytes(leaf)
  /** Bytes of the number of records below a node, by its level. */
  const total = [0]
  let below = leaf
  for (let level = 1; level <= depth; level++) {
    const pointer = offsets + count + total[level - 1]!
    const most = Math.floor((nodeBytes - NODE_OVERHEAD - pointer) / (recordBytes + pointer))
    below = (most + 1) * below + most
    total.push(numberBytes(below))
  }
  return { count, total }
}

/** Reads a node. */
export async function readNode2(file: FileBytes, tree: Tree2, { address, count, depth }: Child2): Promise<Node2> {
  const isLeaf = depth === 0
  const sizes = pointerSizes(tree, file.sizes.offsets)
  const total = isLeaf ? 0 : sizes.total[depth - 1]!
  const pointer = file.sizes.offsets + sizes.count + total
  const bytes = NODE_OVERHEAD + count * tree.recordBytes + (isLeaf ? 0 : (count + 1) * pointer)
  if (bytes > tree.nodeBytes) damaged(`a node of ${count} records in ${tree.nodeBytes} bytes`, file.position(address), count)
  const cursor = await file.cursor(address, bytes)
  checkSum(cursor.bytes, cursor.start, 'a node of a B-tree')
  cursor.signature(isLeaf ? 'BTLF' : 'BTIN').version('a B-tree', [0])
  if (cursor.u8() !== tree.type) damaged('a node belongs to another kind of B-tree', cursor.start)
  const records = Array.from({ length: count }, () => cursor.part(tree.recordBytes))
  const children: Child2[] = []
  for (let i = 0; !isLeaf && i <= count; i++) {
    const child = cursor.definedAddress('a node of a B-tree')
    children.push({ address: child, count: cursor.uint(sizes.count), depth: depth - 1 })
    cursor.skip(total)
  }
  return { records, children }
}

/** Returns all records of a tree, in their order. */
export async function allRecords(file: FileBytes, address: number): Promise<Cursor[]> {
  const tree = await readTree2(file, address)
  if (tree.total > LIMITS.entries) damaged(`a B-tree of ${tree.total} records`, file.position(address), tree.total)
  const walk = new Walk('nodes of a B-tree')
  const visit = async (child: Child2): Promise<Cursor[]> => {
    walk.visit(child.address)
    const { records, children } = await readNode2(file, tree, child)
    if (children.length === 0) return [...records]
    const below = await Promise.all(children.map(visit))
    return below.flatMap((list, i) => (i < records.length ? [...list, records[i]!] : list))
  }
  const root = rootNode(tree)
  return root === undefined ? [] : visit(root)
}
