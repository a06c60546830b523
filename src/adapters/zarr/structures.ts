import { isUnreadable } from '../../array/walk.ts'
import { decodeBase64 } from '../../core/base64.ts'
import { type DType, readElement, type ScalarOf } from '../../core/dtype.ts'
import { HyperslabError, isHyperslabError, rethrowWithin, within } from '../../core/errors.ts'
import { wrongKey } from '../../core/foreign-key.ts'
import { member } from '../../core/member.ts'
import { quoted } from '../../core/quoted.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import { decodeChunk } from '../../engine/chunk-values.ts'
import { withArena } from '../../kernels/arena.ts'
import { parseNamed } from './data-types.ts'
import { asList, asObject, asShape, asText, badMetadata, isObject, type JsonObject, showJson, unsupported } from './document.ts'
import { elementSteps, elementTypeV2, elementTypeV3, parseElements, parseFillValues, parseStored } from './elements.ts'
import {
  type DescribedArray,
  type DescribedGroup,
  type Hierarchy,
  parentPath,
  type UnparsedArray,
  type UnreadableNode,
  type ZarrNode,
} from './hierarchy.ts'
import type { CodecMetadata, StoredType } from './metadata.ts'
import type { ArrayDocument } from './parse-array.ts'
import { parseCodecs } from './v3.ts'

// Fields of structures as arrays. A field has the metadata of its structured array, except for its type and
// fill value. Its own axes come last.

/** Longest structure in bytes, and limits of its fields. Real structures are far below them. */
const MAX_BYTES = 2 ** 24
const MAX_FIELDS = 2 ** 16
const MAX_DEPTH = 32
/** Bytes of a pointer, which numpy counts for an object. */
const POINTER_BYTES = 8

/** Content of one element of a field. */
type Content =
  | { readonly kind: 'value'; readonly type: StoredType; readonly isBigEndian: boolean }
  | { readonly kind: 'structure'; readonly fields: ReadonlyMap<string, FieldLayout> }
  | { readonly kind: 'unreadable'; readonly error: HyperslabError }

/** A field, relative to the structure that contains it. */
interface FieldLayout {
  readonly offset: number
  /** Lengths of its list of elements; [] for one element. */
  readonly shape: readonly number[]
  /** Bytes of one element. */
  readonly bytes: number
  readonly content: Content
}

/** Fields of a structure, and its bytes. */
interface Layout {
  readonly fields: ReadonlyMap<string, FieldLayout>
  readonly bytes: number
}

type FieldNode = DescribedArray | Structure

/** A structured array, or a nested structure in one. */
interface Structure extends DescribedGroup {
  readonly structure: UnparsedArray
}

/** Layouts of structured arrays by their metadata, which all nodes of an array share. */
const known = new WeakMap<ArrayDocument, Layout>()

/** Finds fields of structures, and parses arrays of complex numbers. */
export class FieldFinder {
  readonly #hierarchy: Hierarchy
  readonly #file: string
  /** Paths of groups, which are no structures. */
  readonly #groups: ReadonlySet<string>
  readonly #structures = new Map<string, Structure>()

  constructor(hierarchy: Hierarchy, file: string, groups: ReadonlySet<string>) {
    this.#hierarchy = hierarchy
    this.#file = file
    this.#groups = groups
  }

  /**
   * Returns the node at a path.
   * @param stored what is stored there; undefined if it may be a field
   * @throws FormatError if a node is stored at the path of a field; UnsupportedError, FormatError for arrays
   *   and fields that cannot be read
   */
  async find(path: string, stored: ZarrNode | UnparsedArray | undefined): Promise<ZarrNode | undefined> {
    const node = stored?.kind === 'unparsed' ? this.#parse(stored) : stored
    for (let at = path; at !== ''; ) {
      at = parentPath(at)
      const above = await this.#structureAt(at, node === undefined)
      if (above !== undefined) return this.#field(above, path, node)
      if (this.#groups.has(at) || node !== undefined) break
    }
    return node
  }

  /**
   * Returns the structure at a path; undefined if there is none.
   * @param isRead whether metadata may be fetched for it
   */
  async #structureAt(path: string, isRead: boolean): Promise<Structure | undefined> {
    const found = this.#structures.get(path)
    if (found !== undefined || this.#groups.has(path) || !(isRead || this.#hierarchy.isComplete(path))) return found
    try {
      const node = await this.#hierarchy.node(path)
      if (node?.kind === 'unparsed') this.#parse(node)
    } catch (error) {
      if (!isUnreadable(error) && !isHyperslabError(error, 'NotFoundError')) throw error
    }
    return this.#structures.get(path)
  }

  #field(structure: Structure, path: string, node: ZarrNode | undefined): Promise<ZarrNode | undefined> {
    return within(whereIs(this.#file, path), async () => {
      const place = placeOf(structure, path)
      if (place === undefined) return node
      if (node !== undefined) {
        const text = `'${structure.path}' is an array of structures with a field of this name, and a node is stored at the same path: move the node elsewhere`
        return badMetadata(text, path)
      }
      const field = await readStructureNode(structure.structure, path, place)
      if (field.kind === 'group') this.#structures.set(path, field)
      return field
    })
  }

  /** @throws UnsupportedError, FormatError if it cannot be read */
  #parse(array: UnparsedArray): FieldNode {
    const { path, version, stored } = array
    const file = this.#file
    if (!isStructured(stored)) {
      return { kind: 'array', path, metadata: parseStored(stored, { file, ...(path !== '' && { array: path }) }) }
    }
    return withinSync(whereIs(file, path), () => {
      layoutOf(stored)
      const attrs = stored.version === 3 ? member(stored.metadata as JsonObject, 'attributes') : stored.attributes
      const structure: Structure = {
        kind: 'group',
        path,
        version,
        attrs: asObject(attrs ?? {}, 'the attributes'),
        structure: array,
      }
      this.#structures.set(path, structure)
      return structure
    })
  }

  /** Parses a node that is not parsed yet, and returns it or the reason why it cannot be read. */
  resolve(node: ZarrNode | UnparsedArray | UnreadableNode): ZarrNode | UnreadableNode {
    if (node.kind !== 'unparsed') return node
    try {
      return this.#parse(node)
    } catch (error) {
      if (!isHyperslabError(error)) throw error
      return { kind: 'unreadable', path: node.path, error }
    }
  }

  /** Returns all fields of a structure. Each unreadable one has the reason. */
  async list(path: string, structure: UnparsedArray): Promise<(FieldNode | UnreadableNode)[]> {
    const place = placeOf({ path, structure }, path)
    if (place?.content.kind !== 'structure') return []
    const { fields } = place.content
    const read = async (name: string): Promise<FieldNode | UnreadableNode> => {
      const field = joined(path, name)
      try {
        return await within(whereIs(this.#file, field), () => readStructureNode(structure, field, placeIn(fields, place, name)!))
      } catch (error) {
        if (!isHyperslabError(error)) throw error
        return { kind: 'unreadable', path: field, name, error }
      }
    }
    return Promise.all([...fields.keys()].map(read))
  }

  /** @throws ReadOnlyError, always */
  refuse(): never {
    throw new HyperslabError('ReadOnlyError', 'structures are read but not written: write its fields to arrays of their own')
  }
}

/** Whether the elements of an array are structures. */
function isStructured({ version, metadata }: ArrayDocument): boolean {
  const type = member(metadata as JsonObject, version === 3 ? 'data_type' : 'dtype')
  return version === 3 ? isObject(type) && /^struct(ured)?$/.test(String(member(type, 'name'))) : Array.isArray(type)
}

/** Place of a field in the whole structure. */
interface Place {
  readonly offset: number
  /** Lengths of the lists of structures that contain it, and the bytes between their elements. */
  readonly lengths: readonly number[]
  readonly strides: readonly number[]
  /** Lengths of its own list. */
  readonly shape: readonly number[]
  readonly content: Content
}

/** Returns the place of a field, or of the structure itself; undefined if there is no such field. */
function placeOf(
  { structure: { stored, path: storedAt } }: Pick<Structure, 'path' | 'structure'>,
  path: string,
): Place | undefined {
  const names = path === storedAt ? [] : path.slice(storedAt === '' ? 0 : storedAt.length + 1).split('/')
  const { fields } = layoutOf(stored)
  let place: Place | undefined = { offset: 0, lengths: [], strides: [], shape: [], content: { kind: 'structure', fields } }
  for (const name of names) {
    if (place?.content.kind !== 'structure') return undefined
    place = placeIn(place.content.fields, place, name)
  }
  return place
}

/** @param within place of the structure with these fields */
function placeIn(fields: ReadonlyMap<string, FieldLayout>, within: Place, name: string): Place | undefined {
  const field = fields.get(name)
  if (field === undefined) return undefined
  const { offset, shape, bytes, content } = field
  const own = { offset: within.offset + offset, lengths: within.lengths, strides: within.strides, content }
  if (content.kind !== 'structure') return { ...own, shape }
  const strides = stridesOf(shape).map((stride) => stride * bytes)
  return { ...own, lengths: [...own.lengths, ...shape], strides: [...own.strides, ...strides], shape: [] }
}

/** @throws UnsupportedError, FormatError if it cannot be read */
async function readStructureNode(structure: UnparsedArray, path: string, place: Place): Promise<FieldNode> {
  const { offset, lengths, strides, shape, content } = place
  const { stored, path: storedAt, version } = structure
  if (content.kind === 'unreadable') throw content.error
  if (content.kind === 'structure') {
    const attrs = stored.version === 3 ? member(stored.metadata as JsonObject, 'attributes') : stored.attributes
    return { kind: 'group', path, version, attrs: (attrs ?? {}) as JsonObject, structure }
  }
  const { element: complex, ...value } = content.type
  const all = [...lengths, ...shape, ...(complex?.shape ?? [])]
  if (all.includes(0))
    return unsupported(`the field has no values: its lists have the lengths ${showJson([...lengths, ...shape])}`)
  const name = path.slice(storedAt === '' ? 0 : storedAt.length + 1)
  const field = { offset, strides, isBigEndian: content.isBigEndian }
  const { bytes } = layoutOf(stored)
  const type: StoredType = { ...value, element: { name, bytes, shape: all, isComplex: complex !== undefined, field } }
  const metadata = parseElements(stored, { type, endian: undefined }, await fillsOf(stored, name, type, bytes))
  return { kind: 'array', path, metadata, storedAt }
}

/** Returns the values of a field in an unwritten structure; undefined if there is no fill value. */
async function fillsOf(
  { metadata }: ArrayDocument,
  name: string,
  type: StoredType,
  bytes: number,
): Promise<ScalarOf<DType>[] | undefined> {
  const fill = member(metadata as JsonObject, 'fill_value') ?? null
  if (fill === null) return undefined
  if (isObject(fill)) {
    const { element, ...value } = type
    return parseFillValues(fillIn(fill, name.split('/')), element!.isComplex ? type : value)
  }
  const stored = fill === 0 ? new Uint8Array(bytes) : typeof fill === 'string' ? decodeBase64(fill) : undefined
  if (stored?.length === bytes) return valuesIn(stored, type)
  return badMetadata(
    `the fill value ${showJson(fill)} is neither a structure of ${bytes} bytes in base64 nor values by field`,
    fill,
  )
}

function fillIn(fill: JsonObject, [name, ...inner]: string[]): unknown {
  const value = member(fill, name!)
  if (value === undefined) return badMetadata(`the fill value ${showJson(fill)} has no member '${name}'`, fill)
  return inner.length === 0 ? value : fillIn(asObject(value, `the fill value of '${name}'`), inner)
}

/** Decodes the values of a field of one structure, as chunks are decoded. */
async function valuesIn(structure: Uint8Array, type: StoredType): Promise<ScalarOf<DType>[]> {
  const { shape } = type.element!
  let current = structure
  for (const step of await elementSteps([{ name: 'bytes', configuration: {} }], type, shape, [])) {
    await step.ready?.()
    current =
      step.decodeIn === undefined
        ? (step.decode!(current, undefined, Infinity) as Uint8Array)
        : withArena((arena) => {
            const span = step.decodeIn!(arena, arena.put(current), current.length, undefined, Infinity)
            return arena.bytes(span.pointer, span.length).slice()
          })
  }
  const data = decodeChunk(type.dtype, current, sizeOf(shape))
  return Array.from({ length: sizeOf(shape) }, (_, i) => readElement(type.dtype, data, i))
}

function layoutOf(stored: ArrayDocument): Layout {
  let layout = known.get(stored)
  if (layout === undefined) {
    layout = new LayoutParser(stored).parse()
    known.set(stored, layout)
  }
  return layout
}

/** Parses the types of fields, of both versions. */
class LayoutParser {
  readonly #metadata: JsonObject
  readonly #version: 2 | 3
  readonly #isBigEndian: boolean
  #fields = 0

  constructor({ version, metadata }: ArrayDocument) {
    this.#metadata = asObject(metadata, 'the metadata')
    this.#version = version
    // All fields of version 3 have one byte order. Earlier writers of structures did not store it.
    this.#isBigEndian = version === 3 && isBigEndian(parseCodecs(member(this.#metadata, 'codecs')))
  }

  /** @throws FormatError, UnsupportedError if the place of some field is unknown */
  parse(): Layout {
    if (this.#version === 2) return this.#structure(member(this.#metadata, 'dtype'), '', 0)
    return this.#named(member(this.#metadata, 'data_type'), '', 0)!
  }

  /** Parses a type of version 3; undefined if it is not a structure. */
  #named(type: unknown, path: string, depth: number): Layout | undefined {
    const { name, configuration } = parseNamed(type, path === '' ? 'the data type' : `the type of field '${path}'`)
    return /^struct(ured)?$/.test(name) ? this.#structure(member(configuration, 'fields'), path, depth) : undefined
  }

  #structure(list: unknown, path: string, depth: number): Layout {
    if (depth > MAX_DEPTH) badMetadata(`structures nest deeper than ${MAX_DEPTH} levels`, depth)
    const fields = new Map<string, FieldLayout>()
    let bytes = 0
    for (const item of asList(list, path === '' ? 'the fields' : `the fields of '${path}'`)) {
      if (++this.#fields > MAX_FIELDS) badMetadata(`a structure has more than ${MAX_FIELDS} fields`, this.#fields)
      const { name, type, shape } = this.#item(item, path)
      const at = joined(path, name)
      const { bytes: each, content } = this.#version === 2 ? this.#typeV2(type, at, depth) : this.#typeV3(type, at, depth)
      if (fields.has(name)) badMetadata(`two fields have the name '${at}'`, name)
      // numpy describes padding as bytes without a name.
      const isPadding = name === '' && /^\|?V\d+$/.test(String(type))
      if (name === '' && !isPadding)
        badMetadata(`field ${fields.size} of ${path === '' ? 'a structure' : `'${path}'`} has no name`, name)
      if (!isPadding) fields.set(name, { offset: bytes, shape, bytes: each, content: named(name, content) })
      bytes += each * sizeOf(shape)
      if (!(bytes <= MAX_BYTES)) badMetadata(`a structure has more than ${MAX_BYTES} bytes, up to field '${at}'`, bytes)
    }
    if (bytes === 0) badMetadata(`${path === '' ? 'a structure' : `the structure '${path}'`} has no bytes`)
    return { fields, bytes }
  }

  /** Parses the name of a field, with its unparsed type: `[name, type, shape]`, or an object of version 3. */
  #item(item: unknown, path: string): { name: string; type: unknown; shape: number[] } {
    const what = path === '' ? 'a field' : `a field of '${path}'`
    if (this.#version === 3 && isObject(item))
      return { name: asText(member(item, 'name'), `the name of ${what}`), type: member(item, 'data_type'), shape: [] }
    const [name, type, shape = []] = asList(item, what)
    if ((item as unknown[]).length > (this.#version === 2 ? 3 : 2))
      badMetadata(`${what} has ${(item as unknown[]).length} parts`, item)
    return {
      name: asText(name, `the name of ${what}`),
      type,
      shape: asShape(Array.isArray(shape) ? shape : [shape], `the shape of field ${quoted(name)}`),
    }
  }

  #typeV2(type: unknown, path: string, depth: number): Pick<FieldLayout, 'bytes' | 'content'> {
    if (Array.isArray(type)) {
      const { fields, bytes } = this.#structure(type, path, depth + 1)
      return { bytes, content: { kind: 'structure', fields } }
    }
    const [, letter = '', size = ''] = /^[<>|=]?([a-zA-Z])(\d*)/.exec(asText(type, `the type of field '${path}'`)) ?? []
    const bytes = letter === 'O' ? POINTER_BYTES : Number(size) * (letter === 'U' ? 4 : 1)
    if (letter === 'O') return unreadable(bytes, `the field has objects (${type}), which have no fixed size`)
    if (bytes === 0 && /[SUV]/.test(letter) && size !== '') return unreadable(0, `the field has no bytes (${type})`)
    try {
      const { type: value, endian } = elementTypeV2(type)
      const stored = value.element?.bytes ?? value.bytes!
      return { bytes: stored, content: { kind: 'value', type: value, isBigEndian: endian === 'big' } }
    } catch (error) {
      if (!isHyperslabError(error, 'UnsupportedError') || bytes === 0) throw error
      return { bytes, content: { kind: 'unreadable', error } }
    }
  }

  /** @throws UnsupportedError for types of unknown size, behind which no field can be found */
  #typeV3(type: unknown, path: string, depth: number): Pick<FieldLayout, 'bytes' | 'content'> {
    const nested = this.#named(type, path, depth + 1)
    if (nested !== undefined) return { bytes: nested.bytes, content: { kind: 'structure', fields: nested.fields } }
    const { name, configuration } = parseNamed(type, `the type of field '${path}'`)
    const value = elementTypeV3(name, configuration)
    const bytes = value.element?.bytes ?? value.bytes
    if (bytes === undefined) return unsupported(`field '${path}' has the type '${name}', which has no fixed size`, name)
    return { bytes, content: { kind: 'value', type: value, isBigEndian: this.#isBigEndian } }
  }
}

/** Whether the codec `bytes` of an array, or of the chunks in its shards, stores big-endian numbers. */
function isBigEndian(codecs: readonly CodecMetadata[]): boolean {
  return codecs.some(
    ({ name, configuration }) =>
    name === 'sharding_indexed' ? isBigEndian(parseCodecs(member(configuration, 'codecs'))) : name === 'bytes' && configuration.endian === 'big', // biome-ignore format: one line
  )
}

/** Returns the content of a field, unless its name cannot be a part of a path. */
function named(name: string, content: Content): Content {
  const why = name.includes('/') ? "it contains '/'" : wrongKey(name)
  if (why === undefined) return content
  const text = `the field ${quoted(name)} has no path: ${why}`
  return { kind: 'unreadable', error: new HyperslabError('UnsupportedError', text, { actual: name }) }
}

const unreadable = (bytes: number, text: string): Pick<FieldLayout, 'bytes' | 'content'> => ({
  bytes,
  content: { kind: 'unreadable', error: new HyperslabError('UnsupportedError', text) },
})

const joined = (path: string, name: string): string => (path === '' ? name : `${path}/${name}`)

/** Returns the place of a node, for errors. */
const whereIs = (file: string, array: string): { file: string; array?: string } => ({ file, ...(array !== '' && { array }) })

function withinSync<T>(place: { file: string; array?: string }, work: () => T): T {
  try {
    return work()
  } catch (error) {
    return rethrowWithin(error, place)
  }
}
