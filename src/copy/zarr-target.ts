import { type ComplexFacts, PAIRS } from '../adapters/zarr/complex-array.ts'
import { newNodes, unpublishedArray } from '../adapters/zarr/create.ts'
import type { JsonObject } from '../adapters/zarr/document.ts'
import { groupsAbove } from '../adapters/zarr/hierarchy.ts'
import { type NamedAttributes, namedAttributes } from '../adapters/zarr/named-attributes.ts'
import { rootPath } from '../adapters/zarr/open.ts'
import { impliedMissing } from '../adapters/zarr/write/array-store.ts'
import { attributesDocument, groupDocument } from '../adapters/zarr/write/document.ts'
import { documentIn, membership } from '../adapters/zarr/write/members.ts'
import { type NewZarrArray, newArray, type ZarrDType } from '../adapters/zarr/write/new-array.ts'
import { checkNodeNames, SCRATCH } from '../adapters/zarr/write/node-names.ts'
import { withWriteId, writeIdOf } from '../adapters/zarr/write/write-id.ts'
import { DiskArray } from '../array/disk-array.ts'
import { checkCopy } from '../array/iteration.ts'
import { deriveSource } from '../array/lazy/derive.ts'
import { copyRegion, type RegionOptions } from '../array/lazy/rechunk-to.ts'
import { missingElement, missingElements } from '../array/missing.ts'
import { type BlockSource, bytesOf } from '../array/source.ts'
import { COMPLEX_AXIS } from '../core/complex.ts'
import { largestDivisor } from '../core/divisors.ts'
import { isFixed, isFloat, readElement } from '../core/dtype.ts'
import { HyperslabError, isHyperslabError, within } from '../core/errors.ts'
import { METADATA_BYTES, writeJson } from '../core/json.ts'
import { member } from '../core/member.ts'
import { sha256 } from '../core/sha256.ts'
import { TypedValue } from '../core/typed-value.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import { countTraffic, planRechunk, type RechunkPlan, type RechunkRequest, type RechunkTraffic } from '../grid/rechunk-plan.ts'
import type { Store } from '../store/store.ts'
import { targetKeys } from '../store/target-keys.ts'
import { refuseUnproved } from '../store/unproved.ts'
import { readWhole } from '../store/whole.ts'
import { asWritable } from '../store/writer.ts'
import type { Location } from '../tree/location.ts'
import { resolveTarget, type TargetOptions } from '../tree/target.ts'
import type { HereOptions } from './run.ts'
import { Scratch, type ScratchOptions } from './scratch.ts'
import type { ExportedArray, ZarrExport } from './stored-arrays.ts'
import type { CopyTask, SharedTarget, TargetArray } from './target.ts'
import { claimRecord, newRecord, RecordKeeper, readRecord, type WriteRecord } from './write-record.ts'

/** Options for writing Zarr. */
export interface ExportOptions extends TargetOptions, HereOptions {
  readonly codec?: string | undefined
  readonly level?: number | undefined
  /** Chunk lengths along dimensions, by name. */
  readonly chunks?: Readonly<Record<string, number>> | undefined
  /** Shard lengths along dimensions, by name. Default: one chunk. */
  readonly shards?: Readonly<Record<string, number>> | undefined
  /**
   * Number of levels of a pyramid. Each consists of means of the level before, and is computed after that was
   * written. One array becomes an image of OME-NGFF, several become groups under the convention
   * `multiscales`.
   */
  readonly levels?: number | undefined
  /** Whether to replace an existing Zarr store, after the new one was written beside it. */
  readonly overwrite?: boolean | undefined
  /**
   * Locations that are read meanwhile. With `overwrite`, the target must not be one of them, lie in it or
   * contain it.
   */
  readonly sources?: readonly Location[] | undefined
  /** Name in errors of the command that completes an interrupted write. */
  readonly command?: string | undefined
  /**
   * Name of the version of the source. If given, the written objects are kept after an error, and the next
   * call with the same name and options resumes the write.
   */
  readonly resume?: string | undefined
}

/** Default size of chunks in bytes. */
const CHUNK_BYTES = 4 * 1024 * 1024

/** An array with the options and the metadata of its copy, and the number of chunks of the copy. */
export interface PlannedArray extends ExportedArray, TargetArray {
  readonly name: string
  readonly array: DiskArray
  readonly maxBytes?: number
  readonly heldTimes?: number
  readonly options: NewZarrArray<ZarrDType>
  readonly content: JsonObject
}

/** The arrays that a pass reads and writes. */
interface PassEnds {
  readonly label: NonNullable<BlockSource['label']>
  readonly from: BlockSource
  readonly to: BlockSource
}

/** Content and place of a target. */
export interface ZarrWrite {
  readonly source: ZarrExport
  readonly arrays: readonly PlannedArray[]
  readonly store: Store
  readonly root: string
  /** Id of the write. */
  readonly id: string
}

/**
 * A Zarr store that is written region by region, by one process or by many that do not know of each other.
 * Each region consists of whole objects, so that it may be written twice, or concurrently. Metadata are
 * written last, those of the place itself at the very end. Until then, no group opens.
 */
export class ZarrTarget implements SharedTarget<never> {
  readonly arrays: readonly PlannedArray[]
  readonly store: Store
  readonly root: string
  readonly #source: ZarrExport
  protected readonly id: string
  readonly #scratches = new Map<string, Scratch>()
  readonly #numbers: ReadonlyMap<string, number>
  #opened: { readonly key: string; readonly ends: Promise<PassEnds> } | undefined
  #hidden: Promise<void> | undefined

  protected constructor({ source, arrays, store, root, id }: ZarrWrite) {
    this.#source = source
    this.arrays = arrays
    this.store = store
    this.root = root
    this.id = id
    this.#numbers = new Map(arrays.map(({ name }, number) => [name, number]))
  }

  /**
   * @param given the source: the same in all processes
   * @param id id of the write, which all its processes share
   * @throws InvalidArgumentError for invalid options, and for paths that lead out of the target or lie in an
   *   array; FormatError for names that the target cannot hold together
   */
  static async open(location: Location, given: ZarrExport, options: ExportOptions, id = ''): Promise<ZarrTarget> {
    const { store, path } = await resolveTarget(location, options)
    const root = rootPath(path)
    try {
      return await within({ file: store.describe(root) }, async () => {
        await newNodes(store, root).checkPlace(3)
        const source = await inLevels(given, options.levels)
        return new ZarrTarget({ source, arrays: await planArrays(source, { store, root }, options), store, root, id })
      })
    } catch (error) {
      await store.close?.()
      throw error
    }
  }

  /** Everything that the target was made of. */
  get written(): ZarrWrite {
    return { source: this.#source, arrays: this.arrays, store: this.store, root: this.root, id: this.id }
  }

  /** Number of axes of each array, by path. */
  get ranks(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.arrays.map(({ name, options }) => [name, options.shape.length]))
  }

  /** Returns a hash of the definitions and attributes. */
  metadataHash(): Promise<string> {
    const arrays = this.arrays.map(({ name, content }) => [name, writeJson(content)])
    return sha256(JSON.stringify([arrays, groupDocuments(this.#source)]))
  }

  plan(name: string, maxBytes: number): RechunkPlan {
    // The size of variable-length values is unknown before they are read.
    return planRechunk({ ...this.#copied(name), maxBytes, mostPasses: isFixed(this.array(name).array.dtype) ? 2 : 1 })
  }

  depth(name: string): number {
    const { step } = this.array(name)
    return step === undefined ? 0 : 1 + this.depth(step.finer)
  }

  traffic(name: string, plan: RechunkPlan): RechunkTraffic {
    return countTraffic(plan, this.#copied(name))
  }

  /**
   * Returns the arrays that a pass reads and writes. Those of one pass are kept, with what they have read.
   * Arrays of an earlier pass may have noted as absent what other processes wrote since. Other processes may
   * also remove the folder of an intermediate array between two tasks that write it.
   */
  #ends({ name, pass, regions }: CopyTask): Promise<PassEnds> {
    if (this.isShared && pass === 'first') return this.#openEnds(name, pass, regions)
    const key = `${pass} ${name}`
    if (this.#opened?.key === key) return this.#opened.ends
    const ends = this.#openEnds(name, pass, regions)
    this.#opened = { key, ends }
    ends.catch(() => {
      // The next task tries again.
      this.#opened = undefined
    })
    return ends
  }

  async #openEnds(name: string, pass: CopyTask['pass'], { first }: RechunkPlan): Promise<PassEnds> {
    const { array, step, options } = this.array(name)
    const bytes = this.writeBytes(name)
    // A coarser level is made of the finer one as it was written.
    const finer = step && (await unpublishedArray(this.store, this.root, step.finer, this.array(step.finer).options, {}))
    const { source } = step === undefined ? array : step.halve(finer!)
    const output = await unpublishedArray(this.store, this.root, name, options, { writeBytes: bytes.output })
    checkCopy(source, output.source)
    const label = source.label ?? {}
    if (first === undefined) return { label, from: source, to: output.source }
    const { dtype, shape } = array
    const scratch = this.scratch(name)
    const between = await scratch.array({ dtype, shape, chunks: first.chunks.chunkShape }, bytes.scratch)
    if (pass === 'first') return { label, from: source, to: between.source }
    scratch.seal()
    return { label, from: between.source, to: output.source }
  }

  /** Returns the place of the intermediate array of an array. */
  protected scratch(name: string): Scratch {
    let scratch = this.#scratches.get(name)
    if (scratch === undefined) {
      scratch = this.#scratchAt(`${SCRATCH}${this.numberOf(name)}/`, { isDurable: this.isShared, isOnly: true })
      this.#scratches.set(name, scratch)
    }
    return scratch
  }

  /** Whether several processes write, on machines that may fail one by one. */
  protected get isShared(): boolean {
    return true
  }

  /** Returns the bytes of objects that are written at the same time. */
  protected writeBytes(_: string): { readonly scratch?: number; readonly output?: number } {
    return {}
  }

  /** Removes the intermediate arrays. */
  async removeScratch(): Promise<void> {
    await this.#scratchAt(SCRATCH, {}).clean()
  }

  async claim(): Promise<boolean> {
    return this.#within(async () => {
      // Groups above may still describe what was there before.
      this.#hidden ??= newNodes(this.store, this.root).follow()
      await this.#hidden
      const found = (await readRecord(this.store, this.root)) ?? (await this.#claimRecord())
      if (found === undefined) return true
      if (found.id === this.id) return false
      throw anotherWrite()
    })
  }

  /** Takes the place for this write; returns undefined if the write is complete. */
  async #claimRecord(): Promise<WriteRecord | undefined> {
    if (await this.isComplete()) return undefined
    const own = newRecord(this.id, this.ranks)
    try {
      const found = await claimRecord(this.store, this.root, own, true)
      // Another process may have completed a write between the two, and removed its record.
      if (found !== own || !(await this.isThere())) return found
      await new RecordKeeper(this.store, this.root, own).remove()
      if (await this.isComplete()) return undefined
      throw new HyperslabError('AlreadyExistsError', 'there is a Zarr array or group already')
    } catch (error) {
      if (!isHyperslabError(error, 'AlreadyExistsError')) throw error
      const there = await this.#completeWrite()
      if (there === this.id) return undefined
      throw there === undefined ? error : anotherWrite()
    }
  }

  /** Whether a write has been completed, by this or another process. */
  async isComplete(id = this.id): Promise<boolean> {
    return (await this.#completeWrite()) === id
  }

  /** Returns the id of the write that is complete; undefined if there is none. */
  async #completeWrite(): Promise<string | undefined> {
    const found = await readWhole(this.store, this.#key('zarr.json'), { maxBytes: METADATA_BYTES, onUnproved: refuseUnproved })
    const root = found && documentIn(found.bytes, 'zarr.json')
    return root && writeIdOf(root)
  }

  async write(task: CopyTask, options: RegionOptions): Promise<never[]> {
    const { regions, pass, number } = task
    const { label, from, to } = await this.#ends(task)
    const grid = pass === 'first' ? regions.first!.read : regions.write
    await within(label, () => copyRegion(from, to, grid, number, options))
    // A process that stood still may write after others have completed the copy.
    if (pass === 'first' && (await this.claim())) await this.removeScratch()
    return []
  }

  /** Bytes that are written need not be combined. */
  async combine(): Promise<never[]> {
    return []
  }

  async publish(): Promise<void> {
    await this.#within(async () => {
      await this.writeMetadata().catch((error: unknown) => {
        // Another process writes the same metadata at the same time. A retry completes the rest.
        if (!isHyperslabError(error, 'AlreadyExistsError')) throw error
        throw new HyperslabError('StoreError', error.text, { ...error.details, cause: error })
      })
      await this.removeScratch()
      // A process that still writes repeats what has been done.
      for (const { key } of (await this.store.files?.leftovers(this.#key(''), { deep: true })) ?? [])
        await asWritable(this.store).delete(key)
      await new RecordKeeper(this.store, this.root, newRecord(this.id, this.ranks)).remove()
    })
  }

  async clean(): Promise<void> {}

  /** Whether the place has metadata of a node. */
  async isThere(): Promise<boolean> {
    return (await newNodes(this.store, this.root).node('')) !== undefined
  }

  /** Writes the metadata of all nodes, those of the place itself last. Existing ones are the same. */
  async writeMetadata(): Promise<void> {
    const { attributes, groups: given = new Map<string, Attributes>() } = this.#source
    const nodes = newNodes(this.store, this.root)
    const arrays = this.arrays.map(({ name, content }) => [name, content] as const)
    const groups = new Map(Array.from(given, ([path, each]) => [path, groupDocument(toAttributesJson(each))]))
    for (const [name] of arrays) for (const path of groupsAbove(name)) if (!groups.has(path)) groups.set(path, groupDocument({}))
    groups.delete('')
    const own = arrays.find(([name]) => name === '')
    const members = [...[...groups].sort(([a], [b]) => a.length - b.length), ...arrays].filter(([name]) => name !== '')
    const isThere = async (path: string): Promise<boolean> =>
      (await this.store.stat(this.#key(path === '' ? 'zarr.json' : `${path}/zarr.json`))) !== undefined
    for (const [path, content] of members) if (!(await isThere(path))) await nodes.create(path, content)
    if (await isThere('')) return nodes.follow()
    const root = own?.[1] ?? groupDocument(toAttributesJson(attributes), Object.fromEntries(members))
    await nodes.createRoot(this.canRepeat ? withWriteId(root, this.id) : root)
  }

  /** Whether a repeated call recognizes the complete write. */
  protected get canRepeat(): boolean {
    return true
  }

  /** Removes what was written. Objects that other programs have put into the folder meanwhile stay. */
  async abandon(): Promise<void> {
    const arrays = Object.entries(this.ranks).map(([path, rank]) => ({ path, rank, separator: '/', isPrefixed: true }))
    await newNodes(this.store, this.root).clear(membership(arrays))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close?.()
  }

  /** Returns the chunks of the source, and the objects of the target. */
  #copied(name: string): Pick<RechunkRequest, 'from' | 'to' | 'elementBytes'> {
    const { array, options } = this.array(name)
    const { dtype, shape, chunks } = array
    return { from: chunks, to: ChunkGrid.regular(shape, options.shards ?? options.chunks!), elementBytes: bytesOf(dtype) }
  }

  protected array(name: string): PlannedArray {
    return this.arrays[this.numberOf(name)]!
  }

  protected numberOf(name: string): number {
    return this.#numbers.get(name)!
  }

  #scratchAt(folder: string, options: ScratchOptions): Scratch {
    return new Scratch(async () => ({ store: this.store, path: this.#key(folder) }), options)
  }

  #key(name: string): string {
    return this.root === '' ? name : `${this.root}/${name}`
  }

  #within<T>(work: () => Promise<T>): Promise<T> {
    return within({ file: this.store.describe(this.root) }, work)
  }
}

/**
 * Plans the arrays of a target. Nothing is written before all names are known to stay in it.
 * @throws InvalidArgumentError for invalid options, and for paths that lead out of the target or lie in an
 *   array; FormatError for names that the target cannot hold together
 */
async function planArrays(
  source: ZarrExport,
  { store, root }: { readonly store: Store; readonly root: string },
  options: ExportOptions,
): Promise<PlannedArray[]> {
  checkDimensions(source, options)
  const names = source.arrays.map(({ name }) => name)
  const groups = [...(source.groups?.keys() ?? [])].filter((path) => path !== '')
  checkNodeNames(names, groups)
  const nodes = new Set(['', ...names, ...groups, ...names.flatMap(groupsAbove)])
  await targetKeys(
    store,
    root,
    Array.from(nodes, (path) => (path === '' ? 'zarr.json' : `${path}/zarr.json`)),
  )
  let length = 0
  const arrays: PlannedArray[] = []
  for (const each of source.arrays) {
    const planned = await plannedArray(each, options)
    length += writeJson(planned.content).length
    if (length > MAX_METADATA) throw metadataTooLong(each.name, length)
    arrays.push({ ...each, ...planned })
  }
  return arrays
}

/**
 * Maximum length of the metadata of all arrays, as JSON. The group contains all of them once more. A file of
 * version 6 stores a text once that all its arrays refer to, and here each array has its own.
 */
const MAX_METADATA = 128 * 2 ** 20

function metadataTooLong(array: string, actual: number): HyperslabError {
  const text = `the metadata of the arrays up to this one take ${actual} characters of JSON, and ${MAX_METADATA} are written; copy fewer arrays at a time, or drop long attributes`
  return new HyperslabError('TooLargeError', text, { array, actual, expected: MAX_METADATA })
}

/** Returns the attributes of all groups as text, by path. */
export const groupDocuments = ({ attributes, groups = new Map() }: ZarrExport): (readonly [path: string, text: string])[] =>
  [['', attributes] as const, ...groups].map(([path, each]) => [path, writeJson(toAttributesJson(each))])

type Attributes = ReadonlyMap<string, unknown>

const anotherWrite = (): HyperslabError =>
  new HyperslabError(
    'AlreadyExistsError',
    'there is another write, of another version of the source or with other options; choose another place, or empty it',
  )

const toAttributesJson = (attributes: Attributes): JsonObject => attributesDocument(plain(attributes))

/** Returns the content as a pyramid, the finest level first, or unchanged without `levels`. */
async function inLevels(source: ZarrExport, levels: number | undefined): Promise<ZarrExport> {
  if (levels === undefined) return source
  for (const { name, array, dimensionNames } of source.arrays)
    if (isFloat(array.dtype) && dimensionNames.at(-1) === COMPLEX_AXIS && array.shape.at(-1) === 2) throw noLevels(name)
  const { pyramidMetadata } = await import('../adapters/zarr/write/pyramid.ts')
  const finest = Object.fromEntries(source.arrays.map((each) => [each.name, storedArray(each)]))
  const { arrays, groups, steps } = await pyramidMetadata(finest, levels, toAttributesJson(source.attributes))
  const [only, ...others] = source.arrays
  const exportedAs = (path: string): ExportedArray =>
    others.length === 0 ? only! : source.arrays.find(({ name }) => name === path.slice(path.indexOf('/') + 1))!
  const { '': attributes, ...below } = groups
  return {
    attributes: namedAttributes(attributes!),
    groups: new Map(Object.entries(below).map(([path, each]) => [path, namedAttributes(each)])),
    arrays: Object.entries(arrays).map(([path, array]) => {
      const [own, step] = [exportedAs(path), steps[path]]
      // Missing elements of coarser levels are computed, so an attribute names the missing value in all
      // levels.
      return { ...own, implied: undefined, name: path, ...(step && { array, step }) }
    }),
  }
}

const noLevels = (array: string): HyperslabError =>
  new HyperslabError(
    'UnsupportedError',
    'levels merge neighbours along the last axes, which here are the parts of complex numbers: write it without levels',
    { array },
  )

/** Returns an array with the names, attributes and fill value of its stored form. */
function storedArray({ array: { dtype, source }, dimensionNames, fill, attributes }: ExportedArray): DiskArray {
  const fillValue = fill === undefined ? source.fillValue : readElement(dtype, [fill] as never, 0)
  const layer = { dimensionNames, readBlock: source.readBlock.bind(source), bulk: source.bulk ?? {} }
  return new DiskArray(deriveSource(source, layer, { dtype, fillValue, missing: source.missing, attrs: plain(attributes) }))
}

/** Returns attributes as plain values, and keeps the types that they were given with. */
function plain(attributes: Attributes & Partial<Pick<NamedAttributes, 'typed'>>): NamedAttributes {
  const values = Array.from(attributes, ([name, value]): [string, unknown] => [
    name,
    value instanceof TypedValue ? value.value : value,
  ])
  const typed = (name: string): ReturnType<NamedAttributes['typed']> => {
    const value = attributes.get(name)
    return value instanceof TypedValue ? value : attributes.typed?.(name)
  }
  return Object.assign(new Map(values), { typed })
}

/** @throws InvalidArgumentError for lengths along unknown dimensions */
function checkDimensions({ arrays }: ZarrExport, options: ExportOptions): void {
  const known = new Set(arrays.flatMap(({ dimensionNames }) => dimensionNames))
  for (const option of ['chunks', 'shards'] as const)
    for (const [name, length] of Object.entries(options[option] ?? {})) {
      const details = { actual: known.has(name) ? length : name, expected: [...known] }
      if (!known.has(name)) {
        const text = `${option}: there is no dimension '${name}'; there are ${[...known].join(', ') || 'none'}`
        throw new HyperslabError('InvalidArgumentError', text, details)
      }
      if (!Number.isSafeInteger(length) || length < 1)
        throw new HyperslabError(
          'InvalidArgumentError',
          `${option}: lengths are integers from 1, got ${length} for '${name}'`,
          details,
        )
    }
}

/** Returns the options of an array's copy, and the number of its chunks. */
async function plannedArray(
  exported: ExportedArray,
  { codec = 'zstd', level, chunks = {}, shards = {} }: ExportOptions,
): Promise<Pick<PlannedArray, 'options' | 'content' | 'count'>> {
  const {
    array,
    dimensionNames,
    isUnnamed = false,
    chunkShape,
    hasOwnChunks = false,
    fill,
    fillValue: given,
    attributes,
    name,
    complex,
  } = exported
  const { dtype, shape } = array
  const usual = chunkShape ?? ChunkGrid.estimate(shape, bytesOf(dtype), CHUNK_BYTES).chunkShape
  const isSharded = !hasOwnChunks && dimensionNames.some((dim) => member(shards, dim) !== undefined)
  const lengths = shape.map((length, axis): readonly [chunk: number, shard: number] => {
    const most = Math.max(1, length)
    const [given, shard] = hasOwnChunks ? [] : [chunks, shards].map((all) => member(all, dimensionNames[axis]!))
    const own = Math.min(given ?? Math.max(1, usual[axis]!), most)
    if (shard === undefined) return [own, own]
    // A shard that covers the array need not be longer than its chunks.
    if (shard >= most) return [own, Math.ceil(most / own) * own]
    const chunk = given ?? largestDivisor(shard, own)
    return [chunk, shard]
  })
  const chunkLengths = lengths.map(([chunk]) => chunk)
  const missing = fill ?? missingElement(missingElements(array.source))
  const own = plain(attributes)
  // Readers find missing elements by the attribute. Missing times are always NaT, and
  // bytes are no values of JSON.
  const key = dtype === 'string' ? 'missing_value' : '_FillValue'
  const implied = impliedMissing(dtype, exported.implied ?? array.source.missing?.implied, !isUnnamed)
  const isTold = missing === undefined || implied !== undefined || own.has(key) || dtype === 'timestamp_ns' || dtype === 'binary'
  const missingValue = missing === undefined ? undefined : readElement(dtype, [missing] as never, 0)
  const fillValue = implied ?? given ?? missingValue
  const options: NewZarrArray<ZarrDType> = {
    dtype: complex?.dtype ?? dtype,
    shape,
    chunks: chunkLengths,
    ...(isSharded && { shards: lengths.map(([, shard]) => shard) }),
    codec: level === undefined ? codec : { name: codec, configuration: { level } },
    ...(complex !== undefined ? { fillValue: complex.fillValue } : fillValue !== undefined && { fillValue }),
    ...(!isUnnamed && { dimensionNames }),
    attributes: complex !== undefined ? withPairs(own, complex) : isTold ? own : own.set(key, missingValue),
  }
  // Arrays that cannot be written are rejected before anything is written.
  const { content } = await within({ array: name }, () => newArray(options, []))
  return { options, content, count: ChunkGrid.regular(shape, chunkLengths).count }
}

function withPairs(attributes: NamedAttributes, { attributes: pairs }: ComplexFacts): NamedAttributes {
  const names = [...attributes].filter(([name]) => !PAIRS.includes(name))
  return Object.assign(new Map([...names, ...pairs]), { typed: attributes.typed })
}
