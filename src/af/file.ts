/// <reference lib="esnext.disposable" preserve="true" />
import { checkKindOf } from '../array/source.ts'
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
import { isUnknownExtra, UNKNOWN_EXTRA } from './format/extras.ts'
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
  /** The base is 0. */
  readonly number: number
  /** The name of the file. */
  readonly file: string
  /** Size of the file. */
  readonly bytes: number
  /** Bytes of its blocks as stored, and decoded (`uncompressedBytes`). */
  readonly compressedBytes: number
  readonly uncompressedBytes: number
  readonly blocks: number
  /** Blocks whose checksum the file has. */
  readonly checkedBlocks: number
  readonly chunks: number
  /** Names of the arrays it adds or changes. */
  readonly arrays: readonly string[]
  /** Names of the arrays it deletes. */
  readonly deleted: readonly string[]
  /** Footer version. */
  readonly version: number
}

/** Attributes of the file itself belong to a scalar array of this name, which holds no data. */
const FILE_ARRAY = '__file__'

/**
 * A container: many arrays in one `.af` file with its sidecars. Changes are collected and become visible to
 * others, all at once, with `flush`; whatever was not flushed is dropped by `close`.
 */
export class ArrayFile<A extends ArrayTypes = Untyped> extends Printable {
  /** The name that messages give it. */
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
   * @throws AlreadyExistsError when there is one, sidecars alone included, and `overwrite` is not set;
   *   ReadOnlyError; InvalidArgumentError for a name not ending in `.af` or that of a sidecar; CodecError for
   *   an unknown codec, UnsupportedError for one that cannot be written here
   */
  static async create(store: Store, path: string, options: CreateOptions = {}): Promise<ArrayFile> {
    const paths = new Paths(path)
    return within({ file: store.describe(path) }, async () => {
      const { checkCreate, createContainer } = await import('./write/create.ts')
      checkCreate(store, paths, options)
      options.signal?.throwIfAborted()
      const { overwrite = false, ...settings } = options
      await createContainer({ store, paths, options: await withDefaults(settings) }, overwrite)
      return ArrayFile.open(store, path, settings)
    })
  }

  /**
   * Opens a container: two range reads a layer at most.
   * @throws NotFoundError when there is no such file or layer; FormatError, UnsupportedError;
   *   UnknownArrayError and InvalidArgumentError for `arrays` that are not there, or are others
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
      // Bytes that came damaged must not be what the next one to open it gets.
      if (isHyperslabError(error, 'FormatError', 'IntegrityError')) options.cache?.slabs.clear()
      // Nobody has anything to close.
      await store.close?.()
      throw error
    }
  }

  /**
   * Names of the arrays, in the order they were defined. The scalar `__file__`, which carries {@link attrs},
   * is not among them; by its name it can be opened.
   */
  arrays(): string[] {
    const { states } = this.#copy
    return [...states.keys()].filter((name) => name !== FILE_ARRAY || states.get(name)!.definition.shape.length > 0)
  }

  /**
   * The array of a name; typed as `dtype` and as having `rank` axes where these are given, or were when the
   * file was opened.
   * @throws UnknownArrayError; InvalidArgumentError when it is of another type or rank; UnsupportedError for
   *   nested types
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
      checkKindOf(array, type, axes)
      checkKindOf(array, dtype, rank)
      return array
    })
  }

  /**
   * Adds an array. It exists for others from the next flush on.
   * @throws AlreadyExistsError; InvalidArgumentError naming what does not fit; ReadOnlyError
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const pr = file.define('pr', { dtype: 'int16', shape: [100, 100], chunkShape: [10, 100], fillValue: -1 })
   * console.log(pr.chunks.counts) // [ 10, 1 ]
   * console.log(await pr.get([0, 0])) // -1
   */
  define<D extends DType, const S extends readonly number[] = readonly number[]>(
    name: string,
    options: ArrayOptions<D, S>,
  ): FileArray<D, S['length']> {
    return this.#within(name, () => new FileArray<D, S['length']>(this.#copy, this.#copy.define(name, options)))
  }

  /**
   * Deletes an array, for others with the next flush. Its bytes go with the next `compact`.
   * @throws UnknownArrayError; ReadOnlyError
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * file.define('old', { dtype: 'int8', shape: [2] })
   * file.delete('old')
   * console.log(file.arrays()) // []
   */
  delete(name: string): void {
    this.#within(name, () => this.#copy.delete(this.#state(name)))
  }

  /**
   * Attributes of the container itself, kept with an array named `__file__`.
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
        if (state() === undefined) this.define(FILE_ARRAY, { dtype: 'uint8', shape: [] })
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
   * file.define('tas', { dtype: 'float32', shape: [3] }).attrs.set('units', 'K')
   * console.log(file.attributeIndex('units').get('tas')) // K
   */
  attributeIndex(key: string): Map<string, PlainAttribute> {
    checkValue('attributeIndex', 'key', key, 'string')
    const index = new Map<string, PlainAttribute>()
    const known = new Map<Layer, ReadonlySet<number>>()
    const keysOf = (layer: Layer): ReadonlySet<number> => {
      const found = known.get(layer) ?? new Set(layer.footer.attributeKeys.flatMap((each, i) => (each === key ? [i] : [])))
      known.set(layer, found)
      return found
    }
    for (const name of this.arrays()) {
      const attribute = this.#state(name).attribute(key, keysOf)
      if (attribute !== undefined) index.set(name, attribute.value)
    }
    return index
  }

  /** The files the container is made of, oldest first. */
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
   * @internal Arrays as they are committed, and what reads their blocks.
   * @throws InvalidArgumentError while changes are pending
   */
  get stored(): { readonly states: readonly ArrayState[]; readonly blocks: BlockReader } {
    const { states, blocks, changed } = this.#copy
    this.#copy.checkOpen()
    if (!changed) return { states: [...states.values()], blocks }
    const text = 'changes are pending, which a copy would not have: flush them first'
    throw new HyperslabError('InvalidArgumentError', text, { file: this.location })
  }

  /** The blocks that were fetched so far, and their bytes as stored. */
  get readCost(): IoStats {
    return { ...this.#copy.blocks.cost }
  }

  /**
   * Extremes and counts of an array: those stored beside the container, or, when there are none or the array
   * was changed since, computed.
   * @throws UnknownArrayError
   * @example
   * await using file = await open('climate.af')
   * const { min, max } = await file.stats('tas')
   * console.log(min, max) // 280 291
   */
  stats(name: string): Promise<Statistics>
  /** Those of all arrays, by name; arrays of nested types have none. */
  stats(): Promise<Map<string, Statistics>>
  async stats(name?: string): Promise<Statistics | Map<string, Statistics>> {
    if (name === undefined) {
      const all = new Map<string, Statistics>()
      for (const each of this.arrays()) if (!isNested(this.#state(each).definition)) all.set(each, await this.stats(each))
      return all
    }
    return within({ file: this.location, array: name }, async () => (await this.#copy.stats()).of(this.#state(name)))
  }

  /** All that the files leave uncertain, one line each. */
  warnings(): string[] {
    const ambiguous = [...this.#copy.states].filter(([, state]) => state.ambiguous)
    const unknown = this.#copy.layers.flatMap(({ file, footer }) =>
      footer.blocks.filter(isUnknownExtra).map(({ id, codec }) => ({ file, id, codec })),
    )
    const { stack, store } = this.#copy
    const alone =
      'was opened as one file: if there are sidecars of it (x.1.af, …), what they hold is missing; pass all files together'
    return [
      ...(store.seesOneFile ? [`${this.location}: ${alone}`] : []),
      ...stack.beside.map(({ file }) => `${file}: ${besideText(stack.base)}`),
      ...(stack.lacksFiles ? [`${this.location}: a sidecar is lost: see verify`] : []),
      ...ambiguous.map(([name]) => `${this.location}: array '${name}': ${AMBIGUOUS_ATTRIBUTES}`),
      ...unknown.map(({ file, id, codec }) => `${file}: block ${id}: '${codec}' ${UNKNOWN_EXTRA}`),
      ...[...this.#copy.mishaps].map((text) => `${this.location}: ${text}`),
    ]
  }

  /**
   * Looks through all layers as they are in the store now, not at what is pending: structure, checksums, that
   * every block decodes to what was promised and, with `deep`, statistics against the elements. Collects what
   * it finds. Each block is read once.
   * @throws NotFoundError when the container is gone; ConflictError when another writer compacts it
   *   meanwhile; errors of the store
   */
  async verify(options: VerifyOptions = {}): Promise<Verification> {
    this.#copy.checkOpen()
    const { store, paths, options: settings } = this.#copy
    const { checkVerifyOptions, verifyContainer } = await import('./verify/verify.ts')
    checkVerifyOptions(options, this.location)
    return within({ file: this.location }, () => verifyContainer(store, paths, settings, options))
  }

  /** True when something would be written by `flush`. */
  get changed(): boolean {
    return this.#copy.changed
  }

  /**
   * Writes everything that changed as a new layer or, the first time, in place of the empty base; others see
   * it completely or not at all. Does nothing when nothing changed. What fails afterwards, such as storing
   * statistics, is told by `warnings`.
   * @throws ConflictError when another writer has added that layer first, or has compacted the container; the
   *   changes are kept: `refresh`, then flush again; TooLargeError when the footers of all files would be
   *   more than `limits.footerBytes`, with which nobody could open the container: `compact` flushes all the
   *   same
   * @example
   * const place = { store: new MemoryStore(), path: 'a.af' }
   * const file = await create(place)
   * await file.define('x', { dtype: 'int32', shape: [3] }).set(null, [1, 2, 3])
   * await file.flush()
   * console.log(await (await open(place)).array('x').sum()) // 6
   */
  flush(): Promise<void> {
    return within({ file: this.location }, async () => (await this.#copy.writer()).flush())
  }

  /**
   * Takes in what other writers have added since the file was opened; pending changes stay and can be flushed
   * afterwards.
   * @throws ConflictError when an array with pending changes was deleted or defined anew by another writer,
   *   or when a chunk was changed here in part and another writer has compacted away what it was before; the
   *   changes are kept, and can be read here
   * @example
   * const place = { store: new MemoryStore(), path: 'a.af' }
   * const [mine, theirs] = [await create(place), await open(place)]
   * theirs.define('x', { dtype: 'int32', shape: [3] })
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
   * Rewrites the container as a single file without deleted arrays and replaced chunks. Pending changes are
   * flushed first; what others have flushed since the file was opened is taken in, as by `refresh`. The new
   * base replaces the old one in one step; whoever opened the old one goes on reading it, or is told. Other
   * writers lose nothing: see docs/commit-protocol.md.
   * @throws ConflictError where pending changes cannot be flushed: see `flush`; UnsupportedError where the
   *   store cannot replace a file on condition of its version
   * @example
   * const file = await create({ store: new MemoryStore(), path: 'a.af' })
   * const x = file.define('x', { dtype: 'int32', shape: [3] })
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

  /** Drops changes that were not flushed and gives back all handles. */
  close(): Promise<void> {
    return this.#copy.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Its place and what it holds: `ArrayFile { 'climate.af', 3 arrays, 2 layers }`; never reads. */
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
