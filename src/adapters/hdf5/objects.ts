import { type Codec, inKernel, type KernelCodec } from '../../codec/codec.ts'
import { kept, readOnce } from '../../core/kept.ts'
import { withArena } from '../../kernels/arena.ts'
import { decodeAttribute, type Hdf5Attribute, Hdf5Attributes, parseAttribute, type StoredAttribute } from './attributes.ts'
import { type Cursor, copyCursor, damaged, refuse } from './cursor.ts'
import type { FileBytes } from './file-bytes.ts'
import { type Filter, filterCodec } from './filters/index.ts'
import { LIMITS } from './limits.ts'
import { type Dataspace, parseDataspace } from './messages/dataspace.ts'
import { type Link, parseLink, parseLinkInfo } from './messages/link.ts'
import {
  findMessage,
  isShared,
  MESSAGE,
  type Message,
  missingMessage,
  type ObjectHeader,
  parseShared,
  readObjectHeader,
} from './object-header.ts'
import { allRecords } from './structures/btree2.ts'
import { FractalHeap } from './structures/fractal-heap.ts'
import { GlobalHeap } from './structures/global-heap.ts'
import { readSymbolTable } from './structures/symbol-table.ts'

/** Object headers that are kept. */
const MAX_HEADERS = 10_000
/** Objects whose attributes are kept parsed. */
const MAX_PARSED = 256
/** Messages within messages that are stored elsewhere. */
const MAX_SHARED = 8

/** Kinds of objects that links lead to. */
export type ObjectKind = 'group' | 'dataset' | 'type' | 'unknown'

/** Index of the table of shared messages. */
interface SharedIndex {
  readonly types: number
  readonly heap: number | undefined
}

/** The objects of a file: their headers, links and attributes. */
export class Objects {
  readonly file: FileBytes
  readonly heap: GlobalHeap
  readonly #headers = new Map<number, Promise<ObjectHeader>>()
  readonly #links = new Map<number, Promise<ReadonlyMap<string, Link>>>()
  readonly #attributes = new Map<number, Promise<readonly StoredAttribute[]>>()
  readonly #heaps = new Map<number, Promise<FractalHeap>>()
  readonly #shared = readOnce(() => this.#readShared())
  readonly #extension: ObjectHeader | undefined

  /** Returns the paths of objects by their addresses. Reads the links of all groups. */
  readonly paths: () => Promise<ReadonlyMap<number, string>>

  /**
   * @param root address of the root group
   * @param extension of the superblock
   */
  constructor(file: FileBytes, root: number, extension: ObjectHeader | undefined) {
    this.file = file
    this.paths = readOnce(async () => (await import('./object-paths.ts')).readPaths(this, root))
    this.heap = new GlobalHeap(file)
    this.#extension = extension
  }

  header(address: number): Promise<ObjectHeader> {
    return kept(this.#headers, address, () => readObjectHeader(this.file, address), MAX_HEADERS)
  }

  classify(header: ObjectHeader): ObjectKind {
    const has = (type: number): boolean => findMessage(header, type) !== undefined
    if (has(MESSAGE.layout) || (has(MESSAGE.dataspace) && has(MESSAGE.datatype))) return 'dataset'
    if (has(MESSAGE.symbolTable) || has(MESSAGE.linkInfo) || has(MESSAGE.groupInfo) || has(MESSAGE.link)) return 'group'
    return has(MESSAGE.datatype) ? 'type' : 'unknown'
  }

  /** Returns the data of a message of an object, wherever they are stored; undefined if there is none. */
  async message(header: ObjectHeader, type: number): Promise<Cursor | undefined> {
    const found = findMessage(header, type)
    return found && this.resolve(found)
  }

  /** @throws FormatError if there is none */
  async required(header: ObjectHeader, type: number, what: string): Promise<Cursor> {
    return (await this.message(header, type)) ?? missingMessage(what, header)
  }

  /** @throws FormatError if the object is no array */
  async dataspace(header: ObjectHeader): Promise<Dataspace> {
    return parseDataspace(await this.required(header, MESSAGE.dataspace, 'dataspace'))
  }

  /** Returns the data of a message. */
  async resolve(message: Message, depth = 0): Promise<Cursor> {
    const data = copyCursor(message.data)
    return isShared(message) ? this.#resolveShared(message.type, data, depth) : data
  }

  async #resolveShared(type: number, data: Cursor, depth = 0): Promise<Cursor> {
    if (depth > MAX_SHARED) damaged('messages refer to one another without end', data.start)
    const place = parseShared(data)
    if (place.kind === 'object') {
      const header = await this.header(place.address)
      const found = findMessage(header, type) ?? missingMessage(`message of type ${type}, which another object shares`, header)
      return this.resolve(found, depth + 1)
    }
    const index = (await this.#shared()).find(({ types }) => ((types >> type) & 1) === 1)
    if (index?.heap === undefined) return damaged(`there is no table of shared messages of type ${type}`, data.start, type)
    return (await this.#heap(index.heap)).object(place.id)
  }

  async #readShared(): Promise<SharedIndex[]> {
    const message = this.#extension && (await this.message(this.#extension, MESSAGE.sharedTable))
    if (message === undefined) return damaged('messages are shared, and the file has no table of them', this.file.base)
    message.version('the table of shared messages', [0])
    const address = message.definedAddress('the table of shared messages')
    const count = message.u8()
    const { offsets } = this.file.sizes
    const table = await this.file.checked(address, 8 + count * (14 + 2 * offsets), 'the table of shared messages')
    table.signature('SMTB')
    return Array.from({ length: count }, () => {
      const types = table.skip(2).u16()
      table.skip(10)
      table.address()
      return { types, heap: table.address() }
    })
  }

  #heap(address: number): Promise<FractalHeap> {
    return kept(this.#heaps, address, () => FractalHeap.open(this.file, address, decodeFiltered), MAX_HEADERS)
  }

  /** Returns the links of a group, by name, in the order of creation if it is stored. */
  links(header: ObjectHeader): Promise<ReadonlyMap<string, Link>> {
    return kept(this.#links, header.address, () => this.#readLinks(header), MAX_HEADERS)
  }

  async #readLinks(header: ObjectHeader): Promise<ReadonlyMap<string, Link>> {
    const links = await this.#listLinks(header)
    if (links.every(({ order }) => order !== undefined)) links.sort((a, b) => a.order! - b.order!)
    const byName = new Map<string, Link>()
    for (const link of links) {
      const isName = link.name !== '' && link.name !== '.' && !link.name.includes('/')
      if (!isName || byName.has(link.name))
        damaged(`a group has two links, or an invalid one, named '${link.name}'`, header.address)
      byName.set(link.name, link)
    }
    return byName
  }

  async #listLinks(header: ObjectHeader): Promise<Link[]> {
    const table = await this.message(header, MESSAGE.symbolTable)
    if (table !== undefined) {
      const tree = table.definedAddress('the links of a group')
      return readSymbolTable(this.file, tree, table.definedAddress('the names of a group'))
    }
    const links = header.messages.filter(({ type }) => type === MESSAGE.link)
    const compact = await Promise.all(links.map(async (message) => parseLink(await this.resolve(message))))
    const message = await this.message(header, MESSAGE.linkInfo)
    const { heap, names } = message === undefined ? {} : parseLinkInfo(message)
    if (heap === undefined || names === undefined) return compact
    const [opened, records] = await Promise.all([this.#heap(heap), allRecords(this.file, names)])
    // A hash of the name comes first.
    const dense = records.map(async (record) => parseLink(await opened.object(record.skip(4).slice(opened.idBytes))))
    return [...compact, ...(await Promise.all(dense))]
  }

  /**
   * Returns the attributes of an object, in the order of creation if it is stored.
   * @param omitted names of attributes whose values are not read
   */
  async attributes(header: ObjectHeader, omitted?: ReadonlySet<string>): Promise<Hdf5Attributes> {
    const stored = (await this.storedAttributes(header)).filter(({ name }) => !omitted?.has(name))
    const values = await Promise.all(
      stored.map(async (each): Promise<[string, Hdf5Attribute]> => [each.name, await decodeAttribute(each, this)]),
    )
    return new Hdf5Attributes(new Map(values))
  }

  /** Returns the attributes of an object without decoding their values. They are parsed once. */
  storedAttributes(header: ObjectHeader): Promise<readonly StoredAttribute[]> {
    return kept(this.#attributes, header.address, () => this.#parseAttributes(header), MAX_PARSED)
  }

  async #parseAttributes(header: ObjectHeader): Promise<readonly StoredAttribute[]> {
    const resolve = (type: number, data: Cursor): Promise<Cursor> => this.#resolveShared(type, data)
    const messages = header.messages.filter(({ type }) => type === MESSAGE.attribute)
    const [compact, dense] = await Promise.all([
      Promise.all(messages.map((message) => this.resolve(message))),
      this.#denseAttributes(header),
    ])
    return Promise.all([...compact, ...dense].map((data) => parseAttribute(data, resolve)))
  }

  async #denseAttributes(header: ObjectHeader): Promise<Cursor[]> {
    const info = await this.message(header, MESSAGE.attributeInfo)
    if (info === undefined) return []
    info.version('the attributes of an object', [0])
    const flags = info.u8()
    if (flags & 1) info.skip(2)
    const heap = info.address()
    const names = info.address()
    if (heap === undefined || names === undefined) return []
    const [opened, records] = await Promise.all([this.#heap(heap), allRecords(this.file, names)])
    if (records.length > LIMITS.entries) refuse(`the object has ${records.length} attributes`)
    const entries = records.map((record) => {
      const id = record.slice(8)
      return { id, isShared: (record.u8() & 2) !== 0, order: record.u32() }
    })
    entries.sort((a, b) => a.order - b.order)
    return Promise.all(
      entries.map(({ id, isShared }) => (isShared ? this.#sharedAttribute(id) : opened.object(id.subarray(0, opened.idBytes)))),
    )
  }

  /** Returns a dense attribute that is in the heap of shared messages. */
  async #sharedAttribute(id: Uint8Array): Promise<Cursor> {
    const index = (await this.#shared()).find(({ types }) => ((types >> MESSAGE.attribute) & 1) === 1)
    if (index?.heap === undefined) return damaged('there is no table of shared attributes', this.file.base)
    return (await this.#heap(index.heap)).object(id)
  }
}

/** Decodes a filtered block of a heap. */
async function decodeFiltered(
  filters: readonly Filter[],
  mask: number,
  bytes: Uint8Array,
  decodedBytes: number,
): Promise<Uint8Array> {
  const codec = filterCodec('a heap', filters, mask, { bytes: 1, mostBytes: LIMITS.structureBytes })
  await codec.ready()
  if (!inKernel(codec)) return (codec as Codec).decode(bytes, decodedBytes)
  return withArena((arena) => {
    const pointer = (codec as KernelCodec).decodeIn(arena, arena.put(bytes), bytes.length, decodedBytes)
    return arena.bytes(pointer, decodedBytes).slice()
  })
}
