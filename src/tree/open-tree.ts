import { METADATA } from '../adapters/zarr/metadata-names.ts'
import type { LayerInfo } from '../af/file.ts'
import type { ArrayNode, GroupNode, OpenedNodes } from '../array/nodes.ts'
import { SCALAR_CHECKS } from '../array/source.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { forEachLimited } from '../core/limiter.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import type { Signal } from '../core/signal.ts'
import type { ObjectStart, StoredAt } from '../store/store.ts'
import type { AttributeEditor, AttributeTypes, EditAttributesOptions } from './attribute-editor.ts'
import { type ForeignOption, findForeign } from './foreign-option.ts'
import {
  FOLDER,
  FORMATS,
  type Format,
  type FormatOption,
  isZarrFolder,
  type OpenFormatOptions,
  type Recognised,
  recognise,
  unknownPlace,
} from './formats.ts'
import { checkUrlOptions, type Location, type LocationOptions, resolveLocation } from './location.ts'
import type { ServedFiles } from './served-files.ts'
import { URL_CHECKS, type UrlOptions } from './url-options.ts'

/** Objects whose versions are requested at the same time. */
const AT_ONCE = 16

/** Options of `openTree`; an aborted `signal` ends the opening. */
export interface OpenTreeOptions
  extends UrlOptions,
    Pick<
      OpenFormatOptions,
      'pool' | 'budget' | 'cache' | 'names' | 'layer' | 'resolve' | 'signal' | 'scalar' | 'external' | 'codecs'
    > {}

const CHECKS: Checks<OpenTreeOptions> = {
  ...SCALAR_CHECKS,
  ...URL_CHECKS,
  pool: 'WorkerPool',
  budget: 'MemoryBudget',
  cache: 'BlockCache',
  names: 'list of strings',
  layer: 'integer from 0',
  external: 'boolean or object',
  codecs: 'list',
  resolve: 'function',
  signal: 'AbortSignal',
}

/** Options of `findTree`; an aborted `signal` ends the recognition. */
export interface FindTreeOptions extends Omit<LocationOptions, 'cache'> {
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /**
   * Whether to refuse what leads out of the place, because other users will read its content: `names` refuses
   * names of objects, `links` also symbolic links and references. Default: nothing is refused.
   */
  readonly confined?: 'names' | 'links' | undefined
}

const FIND_CHECKS: Checks<FindTreeOptions> = {
  ...URL_CHECKS,
  signal: 'AbortSignal',
  allowUrl: 'function',
  confined: ['names', 'links'],
}

/** An open file or store of any format. */
export interface Tree extends AsyncDisposable {
  /** Name of the format: `container`, `netcdf`, `hdf5`, `geotiff`, `zarr`, `zip` or `references`. */
  readonly format: string
  /** Name of the place in messages. */
  readonly location: string
  /** The group, or the array, that the place holds. */
  readonly root: GroupNode | ArrayNode
  /** Warnings about reading it, one a line. */
  readonly warnings: readonly string[]
  /** Files of a container, of its state; empty for other formats. */
  readonly layers: readonly LayerInfo[]
  /**
   * Returns the version of what is stored now, as text that changes when it does: sizes and ETags of the
   * files. Of a Zarr store they are those of its metadata, because chunks may be millions.
   * @param paths arrays and groups of a Zarr store, with the groups above them. Default: the root
   */
  version(paths?: Iterable<string>): Promise<string>
  /** Looks for files beside it that opening does not look for, and returns warnings about them. */
  checkBeside(): Promise<string[]>
  /** Releases all handles. Later reads throw ClosedError. */
  close(): Promise<void>
}

/**
 * Opens a file or store of any known format as a tree of groups and arrays: a container (`.af`), classic
 * NetCDF, HDF5 (as NetCDF-4 and MATLAB write it), TIFF, a Zarr store in a folder, in an archive (`.zip`,
 * `.ozx`) or behind references of kerchunk (`.json`). Arrays are lazy, and their elements are as they are
 * stored; `openDataset` decodes them.
 * @throws NotFoundError; FormatError for a file of no known format; UnsupportedError for formats that are
 *   known and not read, with advice; InvalidArgumentError for options of other formats; errors of opening
 *   the format
 * @example
 * await using tree = await openTree('climate.af')
 * if (tree.root.kind === 'group') {
 *   console.log(tree.format, await tree.root.arrays()) // container [ 'tas' ]
 *   const { array } = await tree.root.array('tas')
 *   console.log(await array.get([0, 0, 0])) // 280
 * }
 */
export async function openTree(location: Location, options: OpenTreeOptions = {}): Promise<Tree> {
  checkOptions('openTree', options, CHECKS)
  await checkUrlOptions('openTree', location, options)
  const found = await locateTree(location, options)
  await found.checkOptions('openTree', options)
  return found.open(options)
}

/**
 * Resolves a location and recognises the format of the place, without opening it. Close or open the result.
 * @throws NotFoundError; UnsupportedError for formats that are known and not read, with advice; errors of the
 *   store
 * @example
 * const found = await findTree('climate.af')
 * console.log(found.format.noun) // a container
 * await using tree = await found.open()
 */
export async function findTree(location: Location, options: FindTreeOptions = {}): Promise<FoundTree> {
  checkOptions('findTree', options, FIND_CHECKS)
  return locateTree(location, options)
}

/** Same as `findTree` for options that are checked, perhaps with those of other calls. */
export async function locateTree(
  location: Location,
  { signal, confined, ...at }: FindTreeOptions & LocationOptions,
): Promise<FoundTree> {
  const place =
    confined === undefined
      ? await resolveLocation(location, at)
      : await (await import('./target.ts')).resolveTarget(location, { ...at, followLinks: confined === 'names' })
  try {
    const { format, ...known } = await recognise(place, signal)
    return new FoundTree(place, format, { ...known, isConfined: confined === 'links' })
  } catch (error) {
    await place.store.close?.()
    throw error
  }
}

/** A place with its format, which is not opened. */
export class FoundTree {
  /** Store and path of the place. */
  readonly place: StoredAt
  #format: Format
  readonly #start: ObjectStart | undefined
  readonly #failure: HyperslabError | undefined
  /** Whether references must lead to the folder of their file. */
  readonly #isConfined: boolean

  /** @internal */
  constructor(
    place: StoredAt,
    format: Format,
    { start, failure, isConfined = false }: Omit<Recognised, 'format'> & { readonly isConfined?: boolean } = {},
  ) {
    this.place = place
    this.#format = format
    this.#start = start
    this.#failure = failure
    this.#isConfined = isConfined
  }

  /** Format of the place, as far as it is known. Elsewhere than on this machine, names tell some formats. */
  get format(): Format {
    return this.#format
  }

  /**
   * Changes the format to that of a Zarr folder, if only the name told that the place is a file and it is
   * such a folder.
   * @returns whether the format was changed
   */
  async correctFormat(signal?: Signal): Promise<boolean> {
    const { store, path } = this.place
    const isSure = this.#format.isFolder || store.files?.localPath !== undefined || store.seesOneFile
    if (isSure || !(await isZarrFolder({ store, path }, signal))) return false
    this.#format = FOLDER
    return true
  }

  /** Name of the place in messages. */
  get label(): string {
    return this.place.store.describe(this.place.path)
  }

  /** Calls {@link correctFormat} if no file has this name. Opening the place does so by itself. */
  async settleFormat(signal?: Signal): Promise<void> {
    const { store, path } = this.place
    if (!this.#format.isNamed || (await store.stat(path, { signal }).catch(() => undefined)) !== undefined) return
    await this.correctFormat(signal)
  }

  /**
   * Returns an option that the format does not take.
   * @param place name of the place in the sentence
   */
  async foreignOption<O extends FormatOption>(
    options: Readonly<Partial<Record<O, unknown>>>,
    place?: string,
  ): Promise<ForeignOption<O> | undefined> {
    const find = () => findForeign(this.format, options, (format) => format.options, place)
    const option = find()
    return option !== undefined && (await this.correctFormat()) ? find() : option
  }

  /**
   * Checks that the format takes all options.
   * @throws InvalidArgumentError for an option of other formats; closes the place then
   */
  async checkOptions(call: string, options: Readonly<Partial<Record<FormatOption, unknown>>>): Promise<void> {
    const option = await this.foreignOption(options)
    if (option === undefined) return
    await this.close()
    throw new HyperslabError('InvalidArgumentError', `${call}: ${option.text}`, { file: this.label, actual: option.name })
  }

  /** Opens it. After an error its store is closed. */
  async open(options: OpenFormatOptions = {}): Promise<Tree> {
    const { place } = this
    try {
      const opened = await this.#openNodes(options)
      const warnings = (await place.store.warnings?.(place.path, { signal: options.signal })) ?? []
      return new OpenedTree(this, opened, warnings)
    } catch (error) {
      const reason = await this.reasonOf(error)
      await this.close()
      throw reason
    }
  }

  /** Opens the place as the format that its name suggests, or else as a Zarr store, if it is one. */
  async #openNodes(given: OpenFormatOptions): Promise<OpenedNodes<LayerInfo>> {
    const { place, format } = this
    const options = this.#isConfined
      ? { ...given, checkReferences: (await import('./served-references.ts')).checkTargets }
      : given
    try {
      return await format.open(place, options, this.#start)
    } catch (error) {
      if (format.isFolder || !isHyperslabError(error, 'NotFoundError', 'FormatError', 'StoreError')) throw error
      if (await this.correctFormat(options.signal)) return FOLDER.open(place, options)
      if (place.store.files?.localPath !== undefined || place.store.seesOneFile) throw error
      const text = `${error.text}; nor is there Zarr metadata in a folder of this name, such as ${METADATA.slice(0, 2).join(' or ')}`
      throw new HyperslabError(error.tag, text, { ...error.details, cause: error })
    }
  }

  /**
   * Returns the error for a place where nothing was found: whether there is a file at all, or why that is not
   * known. Returns other errors unchanged.
   */
  async reasonOf(error: unknown): Promise<unknown> {
    if (!this.format.isFolder || !isHyperslabError(error, 'NotFoundError')) return error
    return this.#failure ?? unknownPlace(this.place, error)
  }

  /**
   * Opens attributes for changes, which are saved together.
   * @throws UnsupportedError for formats that are only read; UnknownArrayError; ReadOnlyError
   */
  async editAttributes(options: EditAttributesOptions = {}): Promise<AttributeEditor> {
    const { editAttributes, noun, isFolder } = this.#format
    try {
      if (editAttributes !== undefined) return await editAttributes(this.place, options)
    } catch (error) {
      if (isFolder || !(await this.correctFormat())) throw error
      return FOLDER.editAttributes!(this.place, options)
    }
    throw new HyperslabError('UnsupportedError', `attributes of ${noun} are only read`, { file: this.label })
  }

  /** Returns the types of attributes of the format that stores a type which this one does not. */
  formatOfType(type: string): AttributeTypes | undefined {
    return FORMATS.find(({ attributeTypes }) => attributeTypes?.names.includes(type))?.attributeTypes
  }

  /**
   * Returns the files of the place, to be served by their names. References become a Zarr store of the
   * referenced bytes, with consolidated metadata.
   * @throws UnsupportedError for references that lead out of their folder
   */
  async files(): Promise<ServedFiles> {
    return (await import('./served-files.ts')).servedFiles(this.place, this.#format)
  }

  /** Releases the handles of a place that was not opened. */
  async close(): Promise<void> {
    await this.place.store.close?.()
  }
}

class OpenedTree implements Tree {
  readonly format: string
  readonly location: string
  readonly warnings: readonly string[]
  readonly #place: StoredAt
  readonly #opened: OpenedNodes<LayerInfo>

  constructor({ format, place, label }: FoundTree, opened: OpenedNodes<LayerInfo>, warnings: readonly string[]) {
    this.format = format.name
    this.location = label
    this.warnings = [...warnings, ...opened.warnings]
    this.#place = place
    this.#opened = opened
  }

  get root(): GroupNode | ArrayNode {
    return this.#opened.root
  }

  get layers(): readonly LayerInfo[] {
    return this.#opened.layers?.() ?? []
  }

  async version(paths: Iterable<string> = []): Promise<string> {
    const { store, path } = this.#place
    const found = new Map<string, string>()
    await forEachLimited(this.#opened.versionKeys?.(paths) ?? [path], AT_ONCE, async (key) => {
      const info = await store.stat(key)
      if (info !== undefined) found.set(key.slice(path.length), `${info.size} ${info.etag}`)
    })
    return JSON.stringify([this.format, [...found].sort(([a], [b]) => (a < b ? -1 : 1))])
  }

  async checkBeside(): Promise<string[]> {
    return (await this.#opened.checkBeside?.()) ?? []
  }

  close(): Promise<void> {
    return this.#opened.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
