/// <reference lib="esnext.disposable" preserve="true" />

import type { Axis } from '../../array/axes.ts'
import { DiskArray } from '../../array/disk-array.ts'
import type { NewShape } from '../../array/new-shape.ts'
import type { NodeLevel, NodePyramid } from '../../array/nodes.ts'
import { type BlockOptions, checkArrayKind, type NamedValues } from '../../array/source.ts'
import type { Values } from '../../array/values.ts'
import type { DType } from '../../core/dtype.ts'
import { HyperslabError, isHyperslabError, within } from '../../core/errors.ts'
import { joinForeignKey } from '../../core/foreign-key.ts'
import { counted, Printable } from '../../core/inspect.ts'
import { quoted } from '../../core/quoted.ts'
import { ChunkedSource } from '../../engine/chunked-source.ts'
import { ZarrIndex } from './array-index.ts'
import {
  type DescribedArray,
  type DescribedGroup,
  Hierarchy,
  type HierarchyOptions,
  type MetadataReader,
  type UnparsedArray,
  type UnreadableNode,
  type ZarrNode,
} from './hierarchy.ts'
import type { ZarrArrayMetadata } from './metadata.ts'
import { namedAttributes } from './named-attributes.ts'
import type { OpenedStore } from './opened.ts'
import type { FieldFinder } from './structures.ts'
import type { NewAttributes } from './write/document.ts'
import type { NewZarrArray, NewZarrGroup, ReadDType, ZarrDType } from './write/new-array.ts'
import type { NodeWriter } from './write/nodes.ts'

/** Attributes by name, with JSON values. */
export type ZarrAttributes = ReadonlyMap<string, unknown>

/** A Zarr array, read lazily. */
export class ZarrArray<D extends DType = DType, R extends number = number> extends DiskArray<D, R> implements AsyncDisposable {
  /** Kind of the node. Distinguishes it from a group. */
  readonly kind = 'array'
  /** Path relative to the opened location; '' for that location itself. */
  readonly path: string
  /** @internal */
  readonly index: ZarrIndex<D>
  readonly #store: ZarrStore

  /** @internal */
  constructor(store: ZarrStore, path: string, index: ZarrIndex<D>) {
    super(new ChunkedSource(index))
    this.#store = store
    this.path = path
    this.index = index
  }

  /** @internal */
  get metadata(): ZarrArrayMetadata {
    return this.index.metadata
  }

  /** Last part of its path. */
  get name(): string {
    return lastName(this.path)
  }

  /** Version of the format. */
  get version(): 2 | 3 {
    return this.metadata.version
  }

  override get attrs(): ZarrAttributes {
    return this.source.attrs as NamedValues as ZarrAttributes
  }

  /**
   * Changes the shape of the array: all lengths, or those of some axes by number or name (`{ time: 24 }`).
   * New elements have the fill value. Elements beyond the new shape are deleted, and read as fill values if
   * the array grows again. Chunks keep their shape. Handles that were opened together see the new shape at
   * once. Processes that resize an array, or append to it, take turns; others may write elements meanwhile.
   * @throws ReadOnlyError; InvalidArgumentError for axes that do not exist; ConflictError if another process
   *   has taken over, because this one was paused for too long; UnsupportedError for rectilinear chunks, and
   *   on stores without conditional writes
   * @example
   * const group = await createZarr({ store: new MemoryStore(), path: 'a.zarr' })
   * const x = await group.createArray('x', { dtype: 'int8', shape: [2, 3], dimensionNames: ['time', 'lat'] })
   * await x.resize({ time: 4 })
   * console.log(x.shape) // [ 4, 3 ]
   */
  resize(to: NewShape): Promise<void> {
    return within(this.index.label, async () => {
      const growing = await this.#growing()
      await (await import('./write/resize.ts')).resizeZarr(growing, to)
    })
  }

  /**
   * Extends the array along an axis (number or name) and writes the new elements: values in C order or a
   * tensor, with the shape of the array in all other axes. The elements are stored before the array grows.
   * Concurrent appends, of this process or of others, take turns, and each gets rows of its own. If a process
   * is killed during its append, the next one takes over after 10 seconds.
   * @throws InvalidArgumentError, before anything is written, if the values do not fit; otherwise the errors
   *   of `resize` and `set`
   * @example
   * const group = await createZarr({ store: new MemoryStore(), path: 'a.zarr' })
   * const x = await group.createArray('x', { dtype: 'int8', shape: [0, 3], chunks: [2, 3] })
   * await x.append(0, [1, 2, 3])
   * console.log(x.shape) // [ 1, 3 ]
   */
  append(axis: Axis, values: Values<D>, options: BlockOptions = {}): Promise<void> {
    return within(this.index.label, async () => {
      const growing = await this.#growing()
      await (await import('./write/resize.ts')).appendZarr(growing, axis, values, options)
    })
  }

  /**
   * Changes the given attributes, which have JSON values; `undefined` removes one. Changes that others make
   * at the same time are kept. Afterwards the array is the same as `openZarr` would return, including its
   * missing elements.
   * @throws ReadOnlyError; InvalidArgumentError for values that JSON cannot express
   */
  updateAttributes(attributes: NewAttributes): Promise<void> {
    return within(this.index.label, async () => {
      const growing = await this.#growing()
      await (await import('./write/attributes.ts')).updateOfArray(growing, attributes)
    })
  }

  async #growing(): Promise<{ index: ZarrIndex<D>; nodes: NodeWriter; path: string }> {
    return { index: this.index, nodes: await this.#store.nodes(this.metadata.form?.cacheKey), path: this.path }
  }

  /**
   * Discards cached knowledge of absent chunks and of positions in shards, because another writer may have
   * changed them.
   */
  refresh(): void {
    this.#store.opened.forget()
  }

  /** Releases all handles of all arrays that were opened with it. Later reads throw a ClosedError. */
  close(): Promise<void> {
    return this.#store.opened.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** One level of a pyramid of a Zarr group. */
export type ZarrLevel = NodeLevel<ZarrArray | ZarrGroup>

/** A pyramid of a Zarr group: the same values at several resolutions. */
export type ZarrPyramid = NodePyramid<ZarrLevel>

/** Nodes of an open store. */
export class ZarrStore {
  readonly opened: OpenedStore
  readonly file: string
  readonly #root: string
  readonly #reader: MetadataReader
  readonly #options: HierarchyOptions
  #hierarchy: Hierarchy
  #children = new Map<string, Promise<(ZarrNode | UnreadableNode)[]>>()
  /** Readable nodes of these lists, by path. */
  #listed = new Map<string, ZarrNode>()
  /** Paths of the groups that were found. */
  #groups = new Set<string>()
  /** Finds fields of structures. Loaded for the first path without a node, and the first such array. */
  #fields: Promise<FieldFinder> | undefined
  /** Indexes of arrays that can be written to, so that all handles of an array see a change of its shape. */
  #indices = new Map<string, ZarrIndex<DType>>()
  #nodes: Promise<NodeWriter> | undefined

  /** @param root prefix of all keys: the opened location, without a trailing slash */
  constructor(opened: OpenedStore, root: string, reader: MetadataReader, options: HierarchyOptions) {
    this.opened = opened
    this.file = options.file
    this.#root = root
    this.#reader = reader
    this.#options = options
    this.#hierarchy = new Hierarchy(reader, options)
  }

  /** @throws UnknownArrayError if there is no node */
  async node(path: string): Promise<ZarrNode> {
    this.opened.checkOpen()
    const settle = this.opened.absences.begin()
    const node = await this.#find(path)
    // Reads have not yet shown whether a node exists at the opened location itself.
    if (node !== undefined || path !== '') await settle()
    return node ?? this.unknown(path)
  }

  /** Returns a node as the list of its group described it. Reads its metadata if the group was not listed. */
  async listed(path: string): Promise<ZarrNode> {
    this.opened.checkOpen()
    return this.#listed.get(path) ?? this.node(path)
  }

  async #find(path: string): Promise<ZarrNode | undefined> {
    let failure: unknown
    let node: Awaited<ReturnType<Hierarchy['node']>>
    try {
      node = await this.#hierarchy.node(path)
    } catch (error) {
      // A field of a structure may have the name of a chunk, which is a file and no folder.
      if (!isHyperslabError(error, 'NotFoundError')) throw error
      failure = error
    }
    if (node?.kind === 'group') this.#groups.add(path)
    if (node !== undefined && node.kind !== 'unparsed' && this.#fields === undefined) return node
    const found = await (await this.#finder()).find(path, node)
    if (found === undefined && failure !== undefined) throw failure
    return found
  }

  #finder(): Promise<FieldFinder> {
    this.#fields ??= import('./structures.ts').then(
      ({ FieldFinder }) => new FieldFinder(this.#hierarchy, this.file, this.#groups),
    )
    return this.#fields
  }

  unknown(path: string): never {
    const { doubt } = this.opened.absences
    const hint = doubt && `; the server answered ${doubt.answer} for ${doubt.file}, which may also mean that access is refused`
    const what = path === '' ? 'there is neither a Zarr array nor a group' : 'there is neither an array nor a group of this name'
    const text = what + (hint ?? '')
    throw new HyperslabError(path === '' ? 'NotFoundError' : 'UnknownArrayError', text, {
      file: this.file,
      ...(path && { array: path }),
    })
  }

  /** Returns the nodes of a group. They are read once, until `forget`. */
  children(path: string, structure?: UnparsedArray): Promise<(ZarrNode | UnreadableNode)[]> {
    this.opened.checkOpen()
    const known = this.#children.get(path)
    if (known !== undefined) return known
    const read = this.opened.absences.settled(() => this.#read(path, structure))
    this.#children.set(path, read)
    const listed = this.#listed
    read.then(
      (nodes) => {
        for (const node of nodes) if (node.kind !== 'unreadable') listed.set(node.path, node)
      },
      () => this.#children.delete(path),
    )
    return read
  }

  async #read(path: string, structure: UnparsedArray | undefined): Promise<(ZarrNode | UnreadableNode)[]> {
    const nodes = structure === undefined ? await this.#hierarchy.children(path) : undefined
    if (nodes?.every((node) => node.kind !== 'unparsed')) return nodes
    const fields = await this.#finder()
    return nodes === undefined ? fields.list(path, structure!) : nodes.map((node) => fields.resolve(node))
  }

  /** Whether the metadata of all nodes in a group are known. */
  isConsolidated(path: string): boolean {
    return this.#hierarchy.isComplete(path)
  }

  /** @throws CodecError, FormatError if its chunks cannot be read as the metadata describe them */
  async array({ path, metadata, storedAt = path }: Omit<DescribedArray, 'kind'>): Promise<ZarrArray> {
    const label = { file: this.file, array: lastName(path) || lastName(this.#root) }
    const isShared = this.opened.options.isWritable
    const known = isShared ? this.#indices.get(path) : undefined
    const { files, urlNames } = this.opened.store
    const place =
      storedAt === ''
        ? this.#root
        : joinForeignKey(this.#root, storedAt, { windowsNames: files?.windowsNames, urlNames, file: this.file })
    const index = known ?? (await ZarrIndex.open(this.opened, place, metadata, label))
    if (!isShared) return new ZarrArray(this, path, index)
    const shared = this.#indices.get(path) ?? index
    this.#indices.set(path, shared)
    return new ZarrArray(this, path, shared)
  }

  /**
   * Returns the writer of metadata. It is loaded with the first change.
   * @param isField whether a structure or a field of one is to be changed
   * @throws ReadOnlyError for a store that was opened for reading, and for fields
   */
  async nodes(isField?: unknown): Promise<NodeWriter> {
    const objects = await this.opened.objects()
    if (isField) (await this.#finder()).refuse()
    this.#nodes ??= import('./write/nodes.ts').then(({ NodeWriter }) => {
      const { store } = this.opened
      const { metadataBytes } = this.#options
      return new NodeWriter({ store, objects, reader: this.#reader, root: this.#root, file: this.file, metadataBytes })
    })
    return this.#nodes
  }

  /** Discards cached lists of nodes, and all knowledge of those at and below a path. */
  changed(path: string): void {
    for (const [at, index] of this.#indices)
      if (at === path || at.startsWith(`${path}/`)) {
        index.remove()
        this.#indices.delete(at)
      }
    this.#forgetNodes()
  }

  forget(): void {
    this.opened.forget()
    this.#indices = new Map()
    this.#forgetNodes()
  }

  #forgetNodes(): void {
    this.#children = new Map()
    this.#listed = new Map()
    this.#groups = new Set()
    this.#fields = undefined
    this.#hierarchy = new Hierarchy(this.#reader, this.#options)
  }
}

/** A group of arrays and groups. Reads unknown metadata on request. */
export class ZarrGroup extends Printable implements AsyncDisposable {
  /** Kind of the node. Distinguishes it from an array. */
  readonly kind = 'group'
  /** Path relative to the opened location; '' for that location itself. */
  readonly path: string
  /** Attributes of the group. */
  readonly attrs: ZarrAttributes
  readonly #attrs: Map<string, unknown>
  /** Version of the format. */
  readonly version: 2 | 3
  /** Whether one object contained the metadata of all nodes in the group. */
  readonly consolidated: boolean
  readonly #store: ZarrStore

  /** Whether it is an array of structures, or a nested structure, whose fields are its arrays and groups. */
  readonly isStructure: boolean
  readonly #structure: UnparsedArray | undefined

  /** @internal */
  constructor(store: ZarrStore, { path, version, attrs, structure }: DescribedGroup) {
    super()
    this.#store = store
    this.#structure = structure
    this.isStructure = structure !== undefined
    this.path = path
    this.#attrs = namedAttributes(attrs)
    this.attrs = this.#attrs
    this.version = version
    this.consolidated = store.isConsolidated(path)
  }

  /** Last part of its path. */
  get name(): string {
    return lastName(this.path)
  }

  /**
   * Returns the names of the readable arrays in the group.
   * @throws UnsupportedError if there are no consolidated metadata, the store cannot list, and the option
   *   `names` was not given
   */
  arrays(): Promise<string[]> {
    return this.#names('array')
  }

  /**
   * Opens a node as the list of the group described it, without reading its metadata again.
   * @internal
   */
  async listedNode(name: string): Promise<ZarrArray | ZarrGroup> {
    const node = await this.#store.listed(this.#at(name))
    return node.kind === 'array' ? this.#store.array(node) : new ZarrGroup(this.#store, node)
  }

  /** Returns the names of the groups in it; as {@link arrays}. */
  groups(): Promise<string[]> {
    return this.#names('group')
  }

  /** Returns the names of the nodes in it that cannot be read, each with the reason. */
  async unreadable(): Promise<ReadonlyMap<string, HyperslabError>> {
    const children = await this.#store.children(this.path, this.#structure)
    return new Map(
      children.flatMap((node) => (node.kind === 'unreadable' ? [[node.name ?? lastName(node.path), node.error]] : [])),
    )
  }

  /**
   * Returns an array in the group by its name or, in a group below, its path.
   * @throws UnknownArrayError; InvalidArgumentError if it has another type or rank, or is a group;
   *   FormatError, UnsupportedError and CodecError if it cannot be read
   */
  async array<D extends DType = DType, R extends number = number>(name: string, dtype?: D, rank?: R): Promise<ZarrArray<D, R>> {
    const path = this.#at(name)
    const node = await this.#store.node(path)
    if (node.kind !== 'array') throw this.#wrongKind(path, 'a group', 'an array')
    const { type, shape } = node.metadata
    checkArrayKind({ dtype: type.dtype, shape }, dtype, rank, { file: this.#store.file, array: path })
    return (await this.#store.array(node)) as DiskArray as ZarrArray<D, R>
  }

  /**
   * Returns a group in it, by its name or its path.
   * @throws UnknownArrayError; InvalidArgumentError if it is an array
   */
  async group(name: string): Promise<ZarrGroup> {
    const path = this.#at(name)
    const node = await this.#store.node(path)
    if (node.kind !== 'group') throw this.#wrongKind(path, 'an array', 'a group')
    return new ZarrGroup(this.#store, node)
  }

  /**
   * Returns the pyramids that the attributes describe in the conventions of OME-NGFF and GeoZarr; empty if
   * they describe none.
   * @throws FormatError for invalid descriptions; UnsupportedError for those that cannot be read here;
   *   UnknownArrayError for levels that do not exist
   */
  async levels(): Promise<readonly ZarrPyramid[]> {
    const { parseLevels } = await import('./levels.ts')
    const pyramids = await within({ file: this.#store.file }, async () => parseLevels(Object.fromEntries(this.attrs)))
    return Promise.all(
      pyramids.map(async ({ levels, ...known }) => ({
        ...known,
        levels: await Promise.all(
          levels.map(async ({ path, scale, translation }) => ({ node: await this.#open(this.#at(path)), scale, translation })),
        ),
      })),
    )
  }

  /**
   * Creates an array in the group by its name or, in a group below, its path. Creates missing groups on the
   * path, too. Stores only the metadata.
   * @throws AlreadyExistsError; InvalidArgumentError, UnsupportedError and CodecError, which name the option
   *   that does not fit; ReadOnlyError
   * @example
   * const group = await createZarr({ store: new MemoryStore(), path: 'a.zarr' })
   * const tas = await group.createArray('tas', {
   *   dtype: 'float32',
   *   shape: [100, 100],
   *   chunks: [10, 10],
   *   shards: [50, 100],
   *   fillValue: NaN,
   *   dimensionNames: ['lat', 'lon'],
   * })
   * await tas.set([0], 280)
   * console.log(await tas.get([0, 99]), await tas.get([1, 99])) // 280 NaN
   */
  createArray<D extends ZarrDType, const S extends readonly number[] = readonly number[]>(
    name: string,
    options: NewZarrArray<D, S>,
  ): Promise<ZarrArray<ReadDType<D>, S['length']>> {
    const path = this.#at(name)
    return within({ file: this.#store.file, array: path }, async () => {
      const nodes = await this.#nodes()
      const [{ checkOwnAttributes, newArray }, { checkLinks, parseChunkName }] = await Promise.all([
        import('./write/new-array.ts'),
        import('./chunk-names.ts'),
      ])
      checkOwnAttributes(Object(options))
      const { content, metadata } = await newArray(options, this.#store.opened.options.codecs)
      await nodes.create(path, content, (names, prefix) => {
        checkLinks(this.#store.opened.store, metadata, prefix, names)
        return names.filter((name) => parseChunkName(metadata, name) !== undefined)
      })
      this.#store.changed(path)
      const array = await this.#store.array({ path, metadata })
      array.index.writeEmptyChunks = options.writeEmptyChunks ?? false
      return array as DiskArray as ZarrArray<ReadDType<D>, S['length']>
    })
  }

  /**
   * Creates a group in it; as {@link createArray}.
   * @throws AlreadyExistsError; InvalidArgumentError; ReadOnlyError
   */
  createGroup(name: string, options: NewZarrGroup = {}): Promise<ZarrGroup> {
    const path = this.#at(name)
    return within({ file: this.#store.file, array: path }, async () => {
      const nodes = await this.#nodes()
      const { newGroup } = await import('./write/new-array.ts')
      await nodes.create(path, newGroup('createGroup', options))
      this.#store.changed(path)
      return this.group(name)
    })
  }

  /**
   * Deletes an array or a group with all its content. After an error it may be deleted in part, and no longer
   * belongs to the hierarchy.
   * @throws InvalidArgumentError for '' and other names that no node has; UnknownArrayError; ReadOnlyError;
   *   UnsupportedError, with nothing changed, for a name that leads through a symbolic link, and if the
   *   folder contains a file that does not belong to the hierarchy
   */
  delete(name: string): Promise<void> {
    const path = this.#at(name)
    return within({ file: this.#store.file, array: path }, async () => {
      const nodes = await this.#store.nodes(this.isStructure)
      const { checkNodeName } = await import('./write/node-names.ts')
      checkNodeName(path, { file: this.#store.file, array: path })
      const node = await this.#store.node(path)
      const at = node.kind === 'array' ? node.storedAt : node.structure?.path
      await this.#store.nodes(at !== undefined && at !== path)
      try {
        await nodes.delete(path)
      } finally {
        this.#store.changed(path)
      }
    })
  }

  /**
   * Changes the given attributes of the group, which have JSON values; `undefined` removes one. Changes that
   * others make at the same time are kept.
   * @throws ReadOnlyError; InvalidArgumentError for values that JSON cannot express
   */
  updateAttributes(attributes: NewAttributes): Promise<void> {
    return within({ file: this.#store.file }, async () => {
      const nodes = await this.#store.nodes(this.isStructure)
      const { updateOfGroup } = await import('./write/attributes.ts')
      await updateOfGroup(nodes, this.path, this.version, attributes, this.#attrs)
    })
  }

  /**
   * Writes the metadata of all nodes in the group into its own, so that readers open it with one request.
   * From then on, changes through this group, or through a group above it that was opened here, keep them in
   * step.
   * @throws ReadOnlyError; UnsupportedError
   */
  consolidate(): Promise<void> {
    return within({ file: this.#store.file }, async () => {
      const nodes = await this.#store.nodes(this.isStructure)
      await nodes.consolidate(this.path, this.version)
    })
  }

  /** @throws UnsupportedError for a group of version 2, in which no nodes can be created */
  async #nodes(): Promise<NodeWriter> {
    const nodes = await this.#store.nodes(this.isStructure)
    if (this.version === 3) return nodes
    throw new HyperslabError('UnsupportedError', 'arrays and groups of version 2 are changed, but not made')
  }

  /** Discards cached knowledge of the store, because another writer may have changed it. */
  refresh(): void {
    this.#store.forget()
  }

  /** Releases all handles. Later reads, also of its arrays, throw a ClosedError. */
  close(): Promise<void> {
    return this.#store.opened.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Returns the location and the contents: `ZarrGroup { 'era5.zarr', 7 attributes }`. */
  override toString(): string {
    const place = this.path === '' ? this.#store.file : `${this.#store.file}/${this.path}`
    return `ZarrGroup { '${place}', ${counted(this.attrs.size, 'attribute')} }`
  }

  #at(name: string): string {
    if (typeof name !== 'string') this.#store.unknown(quoted(name))
    return this.path === '' ? name : `${this.path}/${name}`
  }

  async #open(path: string): Promise<ZarrArray | ZarrGroup> {
    const node = await this.#store.node(path)
    return node.kind === 'array' ? this.#store.array(node) : new ZarrGroup(this.#store, node)
  }

  async #names(kind: 'array' | 'group'): Promise<string[]> {
    const children = await this.#store.children(this.path, this.#structure)
    return children.filter((node) => node.kind === kind).map(({ path }) => lastName(path))
  }

  #wrongKind(array: string, actual: string, expected: string): HyperslabError {
    const text = `it is ${actual}, not ${expected}`
    return new HyperslabError('InvalidArgumentError', text, { file: this.#store.file, array, actual, expected })
  }
}

const lastName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
