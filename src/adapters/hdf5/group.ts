/// <reference lib="esnext.disposable" preserve="true" />
import { DiskArray } from '../../array/disk-array.ts'
import { elementIn, parseSign } from '../../array/lazy/signs.ts'
import { type Missing, NOTHING } from '../../array/missing.ts'
import type { BlockSource } from '../../array/source.ts'
import { innerAxisNames } from '../../core/complex.ts'
import { NETCDF4_FILL } from '../../core/default-fill.ts'
import {
  type DType,
  elementBytes,
  type FixedDType,
  fromBytes,
  isFixed,
  type NumericDType,
  type ScalarOf,
  type TypedArray,
} from '../../core/dtype.ts'
import { HyperslabError, isHyperslabError, within } from '../../core/errors.ts'
import { Printable } from '../../core/inspect.ts'
import { readOnce } from '../../core/kept.ts'
import { lazily } from '../../core/lazily.ts'
import type { ChunkIndex } from '../../engine/chunk-index.ts'
import { ChunkedSource } from '../../engine/chunked-source.ts'
import { type ArrayParts, Hdf5Index, type RawBytes } from './array-index.ts'
import { attributeNumbersIn, type Hdf5Attributes, withImplied } from './attributes.ts'
import { damaged, refuse } from './cursor.ts'
import { type ArrayHeader, readDataset } from './dataset.ts'
import { type DimensionScale, HIDDEN, hasNetcdfMark, PhonyNames, visibleAttributes } from './dimensions.ts'
import { type ElementPlan, type FieldSlot, planElements } from './elements/plan.ts'
import { fieldIn, listFields, wholeElements } from './fields.ts'
import { filterCodec } from './filters/index.ts'
import { type Located, locate, unknownNode } from './locate.ts'
import { findMessage, MESSAGE, type ObjectHeader } from './object-header.ts'
import type { OpenFile } from './open-file.ts'
import { unwrittenElements } from './unwritten.ts'
import type { Mapping } from './virtual/mappings.ts'
import type { VirtualChain } from './virtual/open.ts'

/** Parts of an array that descriptions of it need. */
type ArrayDescription = Pick<Hdf5Index<DType>, 'dataset' | 'plan' | 'label' | 'fillValue'>

/** An array of an HDF5 file, or a field of its elements, read lazily. */
export class Hdf5Array<D extends DType = DType> extends DiskArray<D> {
  /** Kind of the node. Distinguishes it from a group. */
  readonly kind = 'array'
  /** Path in the file. */
  readonly path: string
  /** @internal */
  readonly index: ArrayDescription

  /** @internal */
  constructor(path: string, index: ArrayDescription, source: BlockSource<D>) {
    super(source)
    this.path = path
    this.index = index
  }

  /** Last name of the path. */
  get name(): string {
    return lastName(this.path)
  }

  override get attrs(): Hdf5Attributes {
    return this.source.attrs as Hdf5Attributes
  }

  /**
   * Returns the numbers of one element of an array of lists. Other reads return the bytes of lists: their
   * numbers, little-endian, of the type that the attribute `list_type` names.
   * @param index position along each axis
   * @throws InvalidArgumentError if elements are no lists
   */
  async list(index: readonly number[]): Promise<TypedArray> {
    const { target } = this.index.plan
    if (target?.kind !== 'list')
      throw new HyperslabError('InvalidArgumentError', 'the elements of the array are no lists', { ...this.index.label })
    if (!Array.isArray(index) || index.length !== this.shape.length || !index.every(Number.isSafeInteger))
      throw new HyperslabError('InvalidArgumentError', `the index of an element has ${this.shape.length} integers`, {
        ...this.index.label,
        actual: index,
      })
    const bytes = await this.get(index)
    return fromBytes(target.items.dtype as FixedDType, bytes as Uint8Array)
  }
}

/** An array as netCDF has it. */
export interface LabelledArray {
  readonly array: Hdf5Array
  /** Lengths of its dimensions. The array may be shorter along unlimited ones. */
  readonly shape: readonly number[]
}

/** Nodes of a group, by what they are. */
interface Children {
  readonly arrays: readonly string[]
  readonly groups: readonly string[]
  readonly unreadable: ReadonlyMap<string, HyperslabError>
}

/** A group of an HDF5 file, or an array of compounds as a group of its fields. */
export class Hdf5Group extends Printable implements AsyncDisposable {
  /** Kind of the node. Distinguishes it from an array. */
  readonly kind = 'group'
  /** Path in the file; '' for the root. */
  readonly path: string
  /** Attributes of the group. */
  readonly attrs: Hdf5Attributes
  readonly #file: OpenFile
  readonly #located: Located

  /** @internal */
  static async open(file: OpenFile, path: string, located: Located): Promise<Hdf5Group> {
    return new Hdf5Group(file, path, located, await located.file.objects.attributes(located.header))
  }

  private constructor(file: OpenFile, path: string, located: Located, attrs: Hdf5Attributes) {
    super()
    this.#file = file
    this.path = path
    this.#located = located
    this.attrs = attrs
  }

  /** Last name of the path. */
  get name(): string {
    return lastName(this.path)
  }

  /** Whether it is an array of compounds, whose fields are arrays. */
  get isCompound(): boolean {
    return findMessage(this.#located.header, MESSAGE.layout) !== undefined
  }

  /** Names of the arrays in it that can be read. */
  async arrays(): Promise<string[]> {
    return [...(await this.#list()).arrays]
  }

  /** Names of the groups in it. Arrays of compounds are among them. */
  async groups(): Promise<string[]> {
    return [...(await this.#list()).groups]
  }

  /** Returns the names of the nodes in it that cannot be read, each with the reason. */
  async unreadable(): Promise<ReadonlyMap<string, HyperslabError>> {
    return (await this.#list()).unreadable
  }

  /**
   * Returns an array in the group by its name or, in a group below, its path. Fields of compounds are arrays:
   * `wind/speed`.
   * @throws UnknownArrayError; InvalidArgumentError if it is a group; FormatError and UnsupportedError if it
   *   cannot be read
   */
  array(path: string): Promise<Hdf5Array> {
    return this.#withArray(path, (at, node, names) => openArray(at, node, names.some((name) => name !== '') ? names : undefined))
  }

  /**
   * Returns an array of the group as netCDF has it: each axis has the name of a dimension, and attributes of
   * the format are hidden.
   * @internal
   */
  labelledArray(name: string): Promise<LabelledArray> {
    return this.#withArray(name, async (at, node, names, located) => {
      const all = names.includes('') ? (await this.#phonyNames()).get(name) : names
      const array = await openArray(at, node, all, { isLabelled: true })
      const outer = await outerGroups(located)
      const { innerShape } = node.plan
      // The stored shape of a virtual array lacks what its sources have added since.
      const own = array.shape.slice(0, array.shape.length - innerShape.length)
      const shape = await located.file.dimensions.fullShape(node.dataset.header, own, outer)
      return { array, shape: [...shape, ...innerShape] }
    })
  }

  /** Finds an array and the names of its dimensions. */
  #withArray<T>(
    path: string,
    use: (at: string, node: ArrayPlan, names: readonly string[], located: Located) => Promise<T>,
  ): Promise<T> {
    return this.#within(path, async (at, located) => {
      const node = await readNode(at, located)
      if (node.kind === 'group') return wrongKind(this.#file, at, 'a group', 'an array')
      if (node.kind === 'none') return wrongKind(this.#file, at, 'a committed datatype', 'an array')
      return use(at, node, await readDimensions(node, located), located)
    })
  }

  /** Returns the dimension scales in the group. Only groups of links have some. */
  async scales(): Promise<readonly DimensionScale[]> {
    return this.isCompound ? [] : this.#located.file.dimensions.scales(this.#located.header)
  }

  /** Names of the axes of all arrays in the group, also of those without a dimension. */
  readonly #phonyNames = readOnce(() => this.#readPhonyNames())

  async #readPhonyNames(): Promise<ReadonlyMap<string, readonly string[]>> {
    const { file } = this.#located
    const groups = await groupsIn(this.#located)
    const known = this.isCompound ? [] : await Promise.all(groups.map((group) => file.dimensions.scales(group)))
    const phony = new PhonyNames(known.flat().length)
    const found = new Map<string, readonly string[]>()
    for (const name of await this.arrays()) {
      const complete = async (_: string, node: ArrayPlan, names: readonly string[]): Promise<string[]> =>
        phony.complete(names, [...shapeOf(node), ...node.plan.innerShape])
      found.set(name, await this.#withArray(name, complete))
    }
    return found
  }

  /**
   * Returns a group in it, by its name or its path.
   * @throws UnknownArrayError; InvalidArgumentError if it is an array
   */
  group(path: string): Promise<Hdf5Group> {
    return this.#within(path, async (at, located) => {
      const node = await readNode(at, located)
      return node.kind === 'group' ? Hdf5Group.open(this.#file, at, located) : wrongKind(this.#file, at, 'an array', 'a group')
    })
  }

  /** Describes the group and all groups below as text, a node a line. */
  async tree(): Promise<string> {
    const lines: string[] = [this.path === '' ? '/' : this.name]
    const visit = async (group: Hdf5Group, indent: string): Promise<void> => {
      const unreadable = await group.unreadable()
      for (const name of await group.arrays()) {
        const { dtype, shape } = await group.array(name)
        lines.push(`${indent}${name} ${dtype} [${shape.join(', ')}]`)
      }
      for (const [name, error] of unreadable) lines.push(`${indent}${name}: ${error.text}`)
      for (const name of await group.groups()) {
        lines.push(`${indent}${name}/`)
        await visit(await group.group(name), `${indent}  `)
      }
    }
    await visit(this, '  ')
    return lines.join('\n')
  }

  /** Closes the file, if this is its root. Later reads throw ClosedError. */
  async close(): Promise<void> {
    if (this.path === '') await this.#file.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  toString(): string {
    return `Hdf5Group { '${this.path === '' ? '/' : this.path}' }`
  }

  #within<T>(path: string, use: (at: string, located: Located) => Promise<T>): Promise<T> {
    this.#file.checkOpen()
    if (typeof path !== 'string' || path === '')
      throw new HyperslabError('InvalidArgumentError', 'the path of a node is text', { file: this.#file.name, actual: path })
    const at = [...splitPath(this.path), ...splitPath(path)].join('/')
    return within({ file: this.#file.name, array: at }, async () => {
      const located = await locate(this.#file, splitPath(at))
      if (located === undefined) {
        const { arrays, groups } = await this.#list()
        return unknownNode(at, this.#file.name, [...arrays, ...groups])
      }
      return use(at, located)
    })
  }

  async #list(): Promise<Children> {
    this.#file.checkOpen()
    return this.#children()
  }

  readonly #children = readOnce(() => within({ file: this.#file.name }, () => this.#readChildren()))

  async #readChildren(): Promise<Children> {
    const arrays: string[] = []
    const groups: string[] = []
    const unreadable = new Map<string, HyperslabError>()
    const found = (await this.#names()).map(async (name) => {
      const path = this.path === '' ? name : `${this.path}/${name}`
      try {
        const located = await within({ file: this.#file.name, array: path }, () => locate(this.#file, splitPath(path)))
        if (located === undefined) return { name }
        const node = await within({ file: this.#file.name, array: path }, () => readNode(path, located))
        return { name, kind: node.kind }
      } catch (error) {
        if (!this.#isOfNode(error)) throw error
        return { name, error }
      }
    })
    for (const { name, kind, error } of await Promise.all(found)) {
      if (error !== undefined) unreadable.set(name, error)
      else if (kind === 'array') arrays.push(name)
      else if (kind === 'group') groups.push(name)
    }
    return { arrays, groups, unreadable }
  }

  /** Whether an error concerns one node only: what is stored there, or a link to another file that fails. */
  #isOfNode(error: unknown): error is HyperslabError {
    if (isHyperslabError(error, 'FormatError', 'UnsupportedError', 'CodecError', 'TooLargeError', 'IntegrityError')) return true
    return isHyperslabError(error, 'StoreError', 'NotFoundError') && error.details.file !== this.#located.file.name
  }

  async #names(): Promise<string[]> {
    const { file, header, fields } = this.#located
    if (!this.isCompound) return [...(await file.objects.links(header)).keys()]
    const dataset = await readDataset(file.objects, header)
    const slot = findSlot(dataset, fields)
    const members = slot && listFields(slot)
    if (members === undefined) damaged('the root of the file is an array, and its elements have no fields', header.address)
    return members.map(({ name }) => name)
  }
}

const virtual = lazily(() => import('./virtual/open.ts'))

const lastName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

const splitPath = (path: string): string[] => path.split('/').filter((name) => name !== '')

function wrongKind({ name }: OpenFile, path: string, actual: string, expected: string): never {
  throw new HyperslabError('InvalidArgumentError', `the node is ${actual}`, { file: name, array: path, actual, expected })
}

/** A node that can be opened. Committed types are none. */
type Node = { readonly kind: 'group' } | { readonly kind: 'none' } | ArrayPlan

interface ArrayPlan {
  readonly kind: 'array'
  readonly file: OpenFile
  readonly dataset: ArrayHeader
  readonly plan: ElementPlan
  readonly raw: RawBytes | undefined
  /** Sources of a virtual array. */
  readonly mappings: readonly Mapping[] | undefined
  readonly fields: readonly string[]
}

function findSlot({ type }: ArrayHeader, fields: readonly string[]): FieldSlot | undefined {
  let place: FieldSlot | undefined = wholeElements(type)
  for (const name of fields) place = place && fieldIn(place, name)
  return place
}

/** @throws UnsupportedError, FormatError if it cannot be read; UnknownArrayError for an unknown field */
async function readNode(path: string, { file, header, fields }: Located): Promise<Node> {
  const { objects, limits, options } = file
  const kind = objects.classify(header)
  if (kind === 'group') return { kind }
  if (kind === 'unknown') return refuse('the object is neither a group nor an array')
  if (kind === 'type') return { kind: 'none' }
  const dataset = await readDataset(objects, header)
  const place = findSlot(dataset, fields)
  if (place === undefined)
    return unknownNode(path, file.name, listFields(wholeElements(dataset.type))?.map(({ name }) => name) ?? [])
  if (listFields(place) !== undefined) return { kind: 'group' }
  const plan = planElements(place, dataset.type.size, options)
  // Files that are not followed throw.
  const raw = dataset.rawData && (await import('./raw-data.ts')).createRawOrigin(file, dataset.rawData)
  // A filter that is not read here throws.
  filterCodec('the filters', dataset.filters, 0, { bytes: plan.recordBytes, mostBytes: limits.blockBytes }, options.codecs)
  const { layout } = dataset
  const mappings = layout.kind === 'virtual' ? await (await virtual()).readSources(file, layout) : undefined
  return { kind: 'array', file, dataset, plan, raw, mappings, fields }
}

/** Returns the headers of the groups of its file that lead to an object, the root first, the object last. */
const groupsIn = ({ file, chain }: Located): Promise<ObjectHeader[]> =>
  Promise.all(chain.filter((step) => step.file === file).map(({ address }) => file.objects.header(address)))

/** Returns the headers of the groups that contain an object, the root first. */
const outerGroups = async (located: Located): Promise<ObjectHeader[]> => (await groupsIn(located)).slice(0, -1)

/** Returns the names of the axes of an array, with those in its elements; '' for axes without a dimension. */
async function readDimensions(node: ArrayPlan, located: Located): Promise<string[]> {
  const { file } = located
  const groups = await outerGroups(located)
  const { innerShape, isComplex } = node.plan
  return [...(await file.dimensions.names(located.header, shapeOf(node), groups)), ...innerAxisNames(innerShape, isComplex)]
}

/** Opens an array that a virtual one shows; undefined if there is none. */
async function openSource(
  file: OpenFile,
  names: readonly string[],
  fields: readonly string[],
  chain: VirtualChain,
): Promise<Hdf5Array | undefined> {
  const located = await locate(file, names)
  if (located === undefined || located.fields.length > 0) return undefined
  const path = names.join('/')
  return within({ file: file.name, array: path }, async () => {
    const node = await readNode(path, { ...located, fields })
    return node.kind === 'array'
      ? openArray(path, node, undefined, { chain })
      : refuse(`'${path}' is no array with these elements`)
  })
}

const shapeOf = ({ dataset: { space } }: ArrayPlan): readonly number[] => space.shape ?? [0]

async function openArray(
  path: string,
  node: ArrayPlan,
  dimensionNames: readonly string[] | undefined,
  { isLabelled = false, chain }: { readonly isLabelled?: boolean; readonly chain?: VirtualChain } = {},
): Promise<Hdf5Array> {
  const { file, dataset, plan, raw, mappings } = node
  const { objects } = file
  const [stored, unwritten, all] = await Promise.all([
    objects.attributes(dataset.header, isLabelled ? HIDDEN : undefined),
    unwrittenElements(plan, dataset.fill, objects),
    objects.storedAttributes(dataset.header),
  ])
  const attrs = await withImplied(stored, plan, objects)
  const isNetcdf = hasNetcdfMark(all.map(({ name }) => name)) || (await file.dimensions.isNetcdf())
  const parts: ArrayParts = {
    file,
    dataset,
    plan,
    path,
    attrs: isLabelled ? visibleAttributes(attrs) : attrs,
    unwritten,
    missing: findMissing(plan, attrs, isNetcdf ? unwritten.fillValue : undefined),
    dimensionNames,
    raw,
  }
  if (mappings === undefined) {
    const index = new Hdf5Index(parts)
    return new Hdf5Array(path, index, new ChunkedSource(index as ChunkIndex))
  }
  const { openVirtual } = await virtual()
  const opened = await openVirtual(parts, mappings, chain, (other, names, below) =>
    openSource(other, [...names], node.fields, below),
  )
  return new Hdf5Array(path, opened.description, opened.source)
}

/**
 * Returns the missing values that the attributes name. Without `_FillValue`, the default fill value of netCDF
 * is missing, too, except for bytes, all values of which are valid.
 * @param unwritten value of unwritten elements, if netCDF has written the array
 */
function findMissing({ dtype, isComplex }: ElementPlan, attrs: Hdf5Attributes, unwritten: unknown): Missing {
  if (!isFixed(dtype) || dtype === 'bool' || isComplex) return NOTHING
  const hasOtherSign = typeof parseSign(dtype, attrs.get('_Unsigned')) === 'string'
  const values = ['_FillValue', 'missing_value']
    .flatMap((name) => attributeNumbersIn(attrs, name, dtype as FixedDType))
    .flatMap((value) => elementIn(dtype as NumericDType, value, hasOtherSign) ?? []) as ScalarOf<DType>[]
  const implied = elementBytes(dtype) === 1 ? undefined : NETCDF4_FILL[dtype as keyof typeof NETCDF4_FILL]
  if (implied === undefined || implied !== unwritten || attrs.has('_FillValue')) return { values, nan: false }
  return { values: [...values, implied], nan: false, implied }
}
