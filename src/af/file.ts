/// <reference lib="esnext.disposable" preserve="true" />
import { checkArrayKind } from '../array/source.ts'
import type { Progress } from '../array/transfers.ts'
import { DTYPES, type DType } from '../core/dtype.ts'
import { type ErrorDetails, HyperslabError, isHyperslabError, rethrowWithin, within } from '../core/errors.ts'
import { counted, Printable } from '../core/inspect.ts'
import { checkOptions, checkValue } from '../core/options.ts'
import type { IoStats } from '../engine/block-fetcher.ts'
import type { BlockReader } from '../engine/block-reader.ts'
import { STORE_CHECKS, type Store, type StoreOptions } from '../store/store.ts'
import { FileArray } from './file-array.ts'
import { type ArrayOptions, isNested } from './format/definition.ts'
import { isUnknownExtension, UNKNOWN_EXTENSION } from './format/extension-blocks.ts'
import type { ArrayState } from './layers/array-state.ts'
import { AMBIGUOUS_ATTRIBUTES, Attributes, type PlainAttribute } from './layers/attributes.ts'
import { type ArrayTypes, type CreateOptions, OPEN_CHECKS, type OpenOptions, type Untyped } from './layers/file-options.ts'
import type { Layer } from './layers/layer.ts'
import { Paths } from './layers/paths.ts'
import { besideText, Stack } from './layers/stack.ts'
import type { Statistics } from './layers/statistics.ts'
import { withDefaults } from './settings.ts'
import type { Verification, VerifyOptions } from './verify/verify.ts'
import { WorkingCopy } from './write/working-copy.ts'

const COMPACT_CHECKS = { onProgress: 'function' }

/** One `.af` file of a container, with its numbers of `blocks` and `chunks`. */
export interface LayerInfo {
  /** Number of the layer: 0 for the base, N for the N-th sidecar. */
  readonly number: number
  /** The name of the file. */
  readonly file: string
  /** Size of the file. */
  readonly bytes: number
  /** Bytes of its blocks: as stored, and decoded (`uncompressedBytes`). */
  readonly compressedBytes: number
  readonly uncompressedBytes: number
  readonly blocks: number
  /** Number of blocks with a checksum in the file. */
  readonly checkedBlocks: number
  readonly chunks: number
  /** Names of the arrays that the layer adds or changes. */
  readonly arrays: readonly string[]
  /** Names of the arrays that the layer deletes. */
  readonly deleted: readonly string[]
  /** Footer version. */
  readonly version: number
}

/** Name of the scalar array that carries the attributes of the container itself. It has no data. */
const FILE_ARRAY = '__file__'

/** Whether the container has that array. */
const isScalarFile = ({ states }: WorkingCopy): boolean => states.get(FILE_ARRAY)?.definition.shape.length === 0

/**
 * A container: many arrays in one `.af` file with its sidecars. `flush` commits all collected changes at
 * once, and only then do other readers see them. `close` discards changes that are not flushed.
 */
export class ArrayFile<A extends ArrayTypes = Untyped> extends Printable {
  /** Location of the container, as messages name it. */
  readonly location: string
  readonly #copy: WorkingCopy
  readonly #types: ReadonlyMap<string, ArrayTypes[string]>

  private constructor(copy: WorkingCopy, types: ArrayTypes = {}) {
    super()
    this.#types = new Map(Object.entries(types))
    this.location = copy.label
    this.#copy = copy
  }

  /**
   * Creates an empty container.
   * @throws AlreadyExistsError if a container or a sidecar exists there and `overwrite` is not set;
   *   ReadOnlyError; InvalidArgumentError for a name that does not end in `.af` or that names a sidecar;
   *   CodecError for an unknown codec, UnsupportedError for one that cannot encode here
   */
  static async create(store: Store, path: string, options: CreateOptions = {}): Promise<ArrayFile> {
    const paths = new Paths(path)
    return within({ file: store.describe(path) }, async () => {
      const { checkCreate, createContainer } = await import('./write/create.ts')
      checkCreate(store, options)
      options.signal?.throwIfAborted()
      const { overwrite = false, ...settings } = options
      await createContainer({ store, paths, options: await withDefaults(settings) }, overwrite)
      return ArrayFile.open(store, path, settings)
    })
  }

  /**
   * Opens a container, with at most two range requests for each layer.
   * @throws NotFoundError if the file or a layer does not exist; FormatError, UnsupportedError;
   *   UnknownArrayError or InvalidArgumentError if `arrays` names a missing array, or a wrong type or rank
   */
  static async open<const A extends ArrayTypes = Untyped>(
    store: Store,
    path: string,
    options: OpenOptions<A> = {},
  ): Promise<ArrayFile<A>> {
    const paths = new Paths(path)
    const settings = await within({ file: store.describe(path) }, () => {
      checkOptions('open', options, OPEN_CHECKS)
      options.signal?.throwIfAborted()
      return withDefaults(options)
    })
    try {
      const copy = new WorkingCopy(store, paths, await Stack.open(store, paths, settings.limits, options), settings)
      const file = new ArrayFile<A>(copy, options.arrays)
      for (const [name, type] of file.#types) {
        checkValue('open', `arrays.${name}`, type, 'list')
        checkValue('open', `the type of ${name}`, type[0], DTYPES)
        checkValue('open', `the rank of ${name}`, type[1], 'number from 0')
        file.array(name)
      }
      return file
    } catch (error) {
      // Damaged bytes are evicted, so that the next attempt fetches them again.
      if (isHyperslabError(error, 'FormatError', 'IntegrityError')) options.cache?.slabs.clear()
      // The caller holds no handle, so the store is closed here.
      await store.close?.()
      throw error
    }
  }

  /**
   * Returns the names of the arrays, in the order of their definition. The list omits the scalar `__file__`,
   * which carries {@link attrs}; `array('__file__')` opens it.
   */
  arrays(): string[] {
    const names = [...this.#copy.states.keys()]
    return isScalarFile(this.#copy) ? names.filter((name) => name !== FILE_ARRAY) : names
  }

  /**
   * Returns the array of a name. Its type has `dtype` and `rank` if they were given here or when the file was
   * opened.
   * @throws UnknownArrayError; InvalidArgumentError if the array has another type or rank; UnsupportedError
   *   for nested types
   * @example
   * await using file = await open('climate.af')
   * console.log(file.array('tas').shape) // [ 12, 4, 8 ]
   * const tas = file.array('tas', 'float32', 3)
   * console.log(await tas.get([11, 0, 0])) // 291
   */
  array<N extends keyof A & string>(name: N): FileArray<A[N][0], A[N][1]>
  array<D extends DType = DType, R extends number = number>(name: string, dtype?: D, rank?: R): FileArray<D, R>
  array<D extends DType, R extends number>(name: string, dtype?: D, rank?: R): FileArray<D, R> {
    return this.#within(name, () => {
      const array = new FileArray<D, R>(this.#copy, this.#state(name))
      const [type, axes] = this.#types.get(name) ?? []
      checkArrayKind(array, type, axes)
      checkArrayKind(array, dtype, rank)
      return array
    })
  }

  /**
   * Adds an array. Other readers see it after the next flush.
   * @throws AlreadyExistsError; InvalidArgumentError, which names the option that does not fit; ReadOnlyError
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const options = { dtype: 'int16', shape: [100, 100], chunks: [10, 100], fillValue: -1 } as const
   * const pr = file.createArray('pr', options)
   * console.log(pr.chunks.counts) // [ 10, 1 ]
   * console.log(await pr.get([0, 0])) // -1
   */
  createArray<D extends DType, const S extends readonly number[] = readonly number[]>(
    name: string,
    options: ArrayOptions<D, S>,
  ): FileArray<D, S['length']> {
    return this.#within(name, () => new FileArray<D, S['length']>(this.#copy, this.#copy.define(name, options)))
  }

  /**
   * Deletes an array. Other readers see this after the next flush, and the next `compact` frees its bytes.
   * @throws UnknownArrayError; ReadOnlyError
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * file.createArray('old', { dtype: 'int8', shape: [2] })
   * file.delete('old')
   * console.log(file.arrays()) // []
   */
  delete(name: string): void {
    this.#within(name, () => this.#copy.delete(this.#state(name)))
  }

  /**
   * Attributes of the container itself, stored in an array named `__file__`.
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * file.attrs.set('title', 'Surface temperature')
   * console.log(file.attrs.get('title')) // Surface temperature
   */
  get attrs(): Attributes {
    const state = (): ArrayState | undefined => this.#copy.states.get(FILE_ARRAY)
    return new Attributes(
      () => state()?.attributes ?? new Map(),
      () => {
        if (state() === undefined) this.createArray(FILE_ARRAY, { dtype: 'uint8', shape: [] })
        return this.array(FILE_ARRAY).index.changeAttributes()
      },
    )
  }

  /**
   * Returns the values of one attribute by array name, in the order of `arrays()`. Arrays without the
   * attribute are omitted.
   * @throws InvalidArgumentError for a key that is not a string
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * file.createArray('tas', { dtype: 'float32', shape: [3] }).attrs.set('units', 'K')
   * console.log(file.attributeIndex('units').get('tas')) // K
   */
  attributeIndex(key: string): ReadonlyMap<string, PlainAttribute> {
    checkValue('attributeIndex', 'key', key, 'string')
    const { base } = this.#copy.stack
    if (base.immutable) return this.#storedIndex(base, key)
    const index = new Map<string, PlainAttribute>()
    const known = new Map<Layer, ReadonlySet<number>>()
    const layerKeys = (layer: Layer): ReadonlySet<number> => {
      const found = known.get(layer) ?? new Set(layer.footer.attributeKeys.flatMap((each, i) => (each === key ? [i] : [])))
      known.set(layer, found)
      return found
    }
    for (const name of this.arrays()) {
      const attribute = this.#state(name).attribute(key, layerKeys)
      if (attribute !== undefined) index.set(name, attribute.value)
    }
    return index
  }

  /** Does the same for a file of footer version 6 by its footer alone. */
  #storedIndex({ footer: { stored, attributeKeys, attributeValues } }: Layer, key: string): ReadonlyMap<string, PlainAttribute> {
    this.#copy.checkOpen()
    const isKey = Uint8Array.from(attributeKeys, (each) => Number(each === key))
    return stored!.attributeIndex(isKey, attributeValues, isScalarFile(this.#copy) ? FILE_ARRAY : undefined)
  }

  /** Returns the files of the container, oldest first. */
  layers(): LayerInfo[] {
    return this.#copy.layers.map((layer) => {
      const metas = [...layer.arrays.values()]
      const { compressed, uncompressed } = layer.blockBytes
      return {
        number: layer.number,
        file: layer.file,
        bytes: layer.info.size,
        compressedBytes: compressed,
        uncompressedBytes: uncompressed,
        blocks: layer.dataBlocks.length,
        checkedBlocks: layer.dataBlocks.filter(({ crc }) => crc !== undefined).length,
        chunks: metas.reduce((sum, { chunks }) => sum + chunks.length, 0),
        arrays: metas.filter(({ deleted }) => !deleted).map(({ name }) => name),
        deleted: metas.filter(({ deleted }) => deleted).map(({ name }) => name),
        version: layer.footer.version,
      }
    })
  }

  /**
   * @internal Returns the committed arrays, as no later change of this object alters them, and the reader of
   * their blocks.
   * @throws InvalidArgumentError while changes are pending
   */
  get stored(): { readonly states: readonly ArrayState[]; readonly blocks: BlockReader } {
    const { states, blocks, changed } = this.#copy
    this.#copy.checkOpen()
    if (!changed) return { states: [...states.values()].map((state) => state.asCommitted()), blocks }
    const text = 'changes are pending, which a copy would not have: flush them first'
    throw new HyperslabError('InvalidArgumentError', text, { file: this.location })
  }

  /** Number of blocks fetched so far, and their bytes as stored. */
  get readCost(): IoStats {
    return { ...this.#copy.blocks.cost }
  }

  /**
   * Returns minimum, maximum and counts of an array. They are computed if the container stores none, or if
   * the array has changed since they were stored.
   * @throws UnknownArrayError
   * @example
   * await using file = await open('climate.af')
   * const { min, max } = await file.stats('tas')
   * console.log(min, max) // 280 291
   */
  stats(name: string): Promise<Statistics>
  /** Returns the statistics of all arrays, by name. Arrays of nested types have none. */
  stats(): Promise<Map<string, Statistics>>
  async stats(name?: string): Promise<Statistics | Map<string, Statistics>> {
    if (name === undefined) {
      const all = new Map<string, Statistics>()
      for (const each of this.arrays()) if (!isNested(this.#state(each).definition)) all.set(each, await this.stats(each))
      return all
    }
    return within({ file: this.location, array: name }, async () => (await this.#copy.stats()).of(this.#state(name)))
  }

  /** Returns the ambiguities in the files and the failures after commits, one line each. */
  warnings(): string[] {
    // Nothing lies below a file of footer version 6.
    const ambiguous = this.#copy.stack.base.immutable ? [] : [...this.#copy.states].filter(([, state]) => state.ambiguous)
    const unknown = this.#copy.layers.flatMap(({ file, footer }) =>
      footer.blocks.filter(isUnknownExtension).map(({ id, codec }) => ({ file, id, codec })),
    )
    const { stack, store } = this.#copy
    const alone =
      'was opened as one file: if there are sidecars of it (x.1.af, …), what they hold is missing; pass all files together'
    return [
      // A file of footer version 6 has no sidecars.
      ...(store.seesOneFile && !stack.base.immutable ? [`${this.location}: ${alone}`] : []),
      ...stack.beside.map(({ file }) => `${file}: ${besideText(stack.base)}`),
      ...(stack.lacksFiles ? [`${this.location}: a sidecar is lost: see verify`] : []),
      ...ambiguous.map(([name]) => `${this.location}: array '${name}': ${AMBIGUOUS_ATTRIBUTES}`),
      ...unknown.map(({ file, id, codec }) => `${file}: block ${id}: '${codec}' ${UNKNOWN_EXTENSION}`),
      ...[...this.#copy.warnings].map((text) => `${this.location}: ${text}`),
    ]
  }

  /**
   * Checks all layers as they are in the store now, without pending changes: structure, checksums and the
   * decoded size of each block. With `deep`, also compares statistics with the elements. Returns all
   * findings. Reads each block once.
   * @throws NotFoundError if the container no longer exists; ConflictError if another writer compacts it
   *   meanwhile; errors of the store
   */
  async verify(options: VerifyOptions = {}): Promise<Verification> {
    this.#copy.checkOpen()
    const { store, paths, options: settings } = this.#copy
    const { checkVerifyOptions, verifyContainer } = await import('./verify/verify.ts')
    checkVerifyOptions(options, this.location)
    return within({ file: this.location }, () => verifyContainer(store, paths, settings, options))
  }

  /** Whether changes are pending. */
  get changed(): boolean {
    return this.#copy.changed
  }

  /**
   * Commits all pending changes as a new layer; the first flush replaces the empty base. Other readers see
   * the whole commit or none of it. Does nothing if nothing changed. A later failure, such as one in storing
   * statistics, is reported by `warnings`.
   * @throws ConflictError if another writer has added that layer first or has compacted the container: the
   *   changes are kept, so call `refresh` and then `flush` again; TooLargeError if the footers of all files
   *   would exceed `limits.footerBytes`, beyond which the container could not be opened: `compact` flushes in
   *   spite of this
   * @example
   * const place = { store: new MemoryStore(), path: 'a.af' }
   * const file = await create(place)
   * await file.createArray('x', { dtype: 'int32', shape: [3] }).set(null, [1, 2, 3])
   * await file.flush()
   * console.log(await (await open(place)).array('x').sum()) // 6
   */
  flush(): Promise<void> {
    return within({ file: this.location }, async () => (await this.#copy.writer()).flush())
  }

  /**
   * Loads the layers that other writers have added since the file was opened. Pending changes are kept and
   * can be flushed afterwards.
   * @throws ConflictError if another writer deleted or redefined an array with pending changes, or if another
   *   writer compacted away the earlier state of a partly changed chunk; the changes are kept and can still
   *   be read from this object
   * @example
   * const place = { store: new MemoryStore(), path: 'a.af' }
   * const [mine, theirs] = [await create(place), await open(place)]
   * theirs.createArray('x', { dtype: 'int32', shape: [3] })
   * await theirs.flush()
   * await mine.refresh()
   * console.log(mine.arrays()) // [ 'x' ]
   */
  refresh(options: StoreOptions = {}): Promise<void> {
    return within({ file: this.location }, async () => {
      checkOptions('refresh', options, STORE_CHECKS)
      await (await this.#copy.writer()).refresh(options)
    })
  }

  /**
   * Rewrites the container as a single file, without deleted arrays and replaced chunks. Flushes pending
   * changes first and includes layers that other writers have added, as `refresh` does. The new base replaces
   * the old one in one step. Readers that have the old base open continue to read it, or get an error. Other
   * writers lose no changes: see docs/commit-protocol.md.
   * @throws ConflictError if pending changes cannot be flushed: see `flush`; UnsupportedError if the store
   *   cannot replace a file on condition of its version
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const x = file.createArray('x', { dtype: 'int32', shape: [3] })
   * for (const value of [1, 2]) {
   *   await x.fill(value)
   *   await file.flush()
   * }
   * console.log(file.layers().length) // 2
   * await file.compact()
   * console.log(file.layers().length) // 1
   */
  compact(options: { readonly onProgress?: (progress: Progress) => void } = {}): Promise<void> {
    return within({ file: this.location }, async () => {
      checkOptions('compact', options, COMPACT_CHECKS)
      await (await this.#copy.writer()).compact(options.onProgress)
    })
  }

  /** Discards changes that are not flushed, and releases all handles. */
  close(): Promise<void> {
    return this.#copy.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Returns the location and the contents: `ArrayFile { 'climate.af', 3 arrays, 2 layers }`. Never reads. */
  override toString(): string {
    const held = `${counted(this.arrays().length, 'array')}, ${counted(this.#copy.layers.length, 'layer')}`
    return `${this.constructor.name} { '${this.location}', ${held} }`
  }

  #state(name: string): ArrayState {
    this.#copy.checkOpen()
    const state = this.#copy.states.get(name)
    if (state !== undefined) return state
    throw new HyperslabError('UnknownArrayError', `there is no such array; there are ${this.arrays().join(', ') || 'none'}`, {
      actual: name,
      expected: this.arrays(),
    })
  }

  #within<T>(array: string, work: () => T): T {
    try {
      return work()
    } catch (error) {
      return rethrowWithin(error, { file: this.location, array } satisfies ErrorDetails)
    }
  }
}
