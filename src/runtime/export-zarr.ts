import { hiddenArray, newNodes } from '../adapters/zarr/create.ts'
import type { JsonObject } from '../adapters/zarr/document.ts'
import { groupsAbove } from '../adapters/zarr/hierarchy.ts'
import { type NamedAttributes, namedAttributes } from '../adapters/zarr/named-attributes.ts'
import { rootOf } from '../adapters/zarr/open.ts'
import { attributesDocument, groupDocument } from '../adapters/zarr/write/document.ts'
import { type NewZarrArray, newArray } from '../adapters/zarr/write/new-array.ts'
import { checkNodeNames, isOwnName } from '../adapters/zarr/write/node-names.ts'
import type { NodeWriter } from '../adapters/zarr/write/nodes.ts'
import type { PyramidStep } from '../adapters/zarr/write/pyramid.ts'
import { DiskArray } from '../array/disk-array.ts'
import { checkCopy } from '../array/iteration.ts'
import { deriveSource } from '../array/lazy/derive.ts'
import { type CopyState, copyByPlan, planCopy, type ScratchArray } from '../array/lazy/rechunk-to.ts'
import { type Element, missingElement, missingElements } from '../array/missing.ts'
import { bytesOf } from '../array/source.ts'
import type { Progress } from '../array/transfers.ts'
import { largestDivisor } from '../core/divisors.ts'
import { type DType, readElement, type ScalarOf } from '../core/dtype.ts'
import { HyperslabError, messageOf, rethrowWithin, within } from '../core/errors.ts'
import { writeJson } from '../core/json.ts'
import { member } from '../core/member.ts'
import { sha256 } from '../core/sha256.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import type { Signal } from '../core/signal.ts'
import { TypedValue } from '../core/typed-value.ts'
import { ChunkGrid } from '../grid/chunks.ts'
import { statToWrite } from '../store/absences.ts'
import { guardedStore } from '../store/confined.ts'
import type { Store } from '../store/store.ts'
import { targetKeys } from '../store/target-keys.ts'
import { METADATA } from '../tree/formats.ts'
import type { Location } from '../tree/location.ts'
import { resolveTarget, type TargetOptions } from '../tree/target.ts'
import { SCRATCH, Scratch } from './scratch.ts'
import { bootOf, FORMAT, RecordKeeper, readRecord, type WriteRecord } from './write-record.ts'

/** Default size of chunks in bytes. */
const CHUNK_BYTES = 4 * 1024 * 1024

/** An array to be written. */
export interface ExportedArray {
  /** Path in the target; '' makes the target itself an array. */
  readonly name: string
  /** Stored array. */
  readonly array: DiskArray
  /** One name for each axis. */
  readonly dimensionNames: readonly string[]
  /**
   * Whether the array has no dimension names. The names above are then for options only, and are not written.
   */
  readonly isUnnamed?: boolean
  /** Lengths of its chunks, unless the options have others. */
  readonly chunkShape?: readonly number[] | undefined
  /** Value of missing elements. */
  readonly fill?: Element | undefined
  /** Missing value that no attribute names: see `implied` of missing elements. */
  readonly implied?: Element | undefined
  /** Value of unwritten elements. Default: the value of missing elements. */
  readonly fillValue?: ScalarOf<DType> | undefined
  /** Bytes of its elements held in memory at a time, unless the options set them or a shard is larger. */
  readonly maxBytes?: number
  /** Memory of a read, in multiples of its result. Default: 1. */
  readonly heldTimes?: number
  readonly attributes: ReadonlyMap<string, unknown>
  /** For a level of a pyramid: its computation from a finer level. */
  readonly step?: PyramidStep | undefined
}

/** Content to be written. */
export interface ZarrExport {
  readonly attributes: ReadonlyMap<string, unknown>
  readonly arrays: readonly ExportedArray[]
  /** Attributes of groups below, by path. Groups that contain arrays exist without attributes, too. */
  readonly groups?: ReadonlyMap<string, ReadonlyMap<string, unknown>>
}

/** Options for writing Zarr. */
export interface ExportOptions extends TargetOptions {
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
  /** Bytes of elements held in memory at a time, unless a shard is larger. */
  readonly maxBytes?: number | undefined
  /**
   * Name of the version of the source. If given, the written objects are kept after an error, and the next
   * call with the same name and options resumes the write.
   */
  readonly resume?: string | undefined
  readonly signal?: Signal | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** Default bytes of an array that are held in memory at a time. */
const HELD_BYTES = 64 * 1024 * 1024

/** An array with the options of its copy, and the number of chunks of the copy. */
export type PlannedArray = ExportedArray & { readonly options: NewZarrArray; readonly count: number }

/**
 * Writes a group of version 3 with some arrays, or an array. Metadata are written last, and those of the
 * location itself at the very end, so that no incomplete group opens. After an error, the written objects are
 * removed, unless the write can be resumed. With `overwrite`, the new store is written beside the old store,
 * and replaces it when it is complete.
 * @returns false if all of it existed already
 * @throws AlreadyExistsError unless `overwrite` is set; ReadOnlyError; InvalidArgumentError for invalid
 *   options; errors of `replace`, of the store, and of reading the arrays
 */
export async function exportZarr(given: ZarrExport, target: Location, options: ExportOptions): Promise<boolean> {
  const { store, path } = await resolveTarget(target, options)
  const root = rootOf(path)
  const file = store.describe(root)
  try {
    return await within({ file }, async () => {
      const source = await inLevels(given, options.levels)
      const planned = await planArrays(source, { store, root }, options)
      if (options.maxBytes !== undefined) for (const each of planned) checkHeld(each, options.maxBytes)
      const id = await idOf(source, planned, options)
      const write = (at: string, check: () => Promise<void>): Promise<boolean> =>
        writeTo({ source, planned, id, check }, ownedTarget(store, at, check), options)
      const { aloneAt, removeClaimAt, replaceZarr } = await import('./replace/zarr.ts')
      const { command = 'write with overwrite', sources = [], signal, resume } = options
      if (!options.overwrite || !(await isTaken(store, root, id))) {
        if (await checkFree(store, root, id, options))
          return aloneAt({ store, path: root }, signal, (check) => write(root, check))
        await removeClaimAt({ store, path: root })
        return false
      }
      const { filesRead } = await import('./replace/apart.ts')
      const replacing = { command, signal, ...(resume !== undefined && { id, isVersioned: true }) }
      await replaceZarr(
        { store, path: root },
        [...sources, ...(await filesRead(given.arrays))],
        replacing,
        async (at, check) => void (await write(at, check)),
      )
      return true
    })
  } finally {
    await store.close?.()
  }
}

/** Whether a location contains anything except a write that can be resumed. */
async function isTaken(store: Store, root: string, id: string): Promise<boolean> {
  const found = await readRecord(store, root)
  const prefix = root === '' ? '' : `${root}/`
  const isThere = async (): Promise<boolean> => {
    const infos = await Promise.all(METADATA.map((name) => statToWrite(store, prefix + name)))
    return infos.some((info) => info !== undefined)
  }
  if (found !== undefined) return found.id !== id || found.complete || (await isThere())
  return ((await store.list?.(prefix, { shallow: true })) ?? []).length > 0
}

/** Returns the id of a write, derived from its content and the version of the source. */
async function idOf(source: ZarrExport, planned: readonly PlannedArray[], { resume }: ExportOptions): Promise<string> {
  if (resume === undefined) return crypto.randomUUID()
  const own = planned.map(({ name, options }) => [name, writeJson(newArray(options, []).content)])
  return sha256(JSON.stringify([FORMAT, resume, own, groupDocuments(source)]))
}

/**
 * Checks a location before anything is written there.
 * @returns false if all of it exists already
 * @throws AlreadyExistsError
 */
async function checkFree(store: Store, root: string, id: string, { resume }: ExportOptions): Promise<boolean> {
  const found = await readRecord(store, root)
  const isThere = (await newNodes(store, root).node('')) !== undefined
  const isOwn = resume !== undefined && found?.id === id
  if (isThere && isOwn) return false
  if (isThere || (found !== undefined && !isOwn)) throw alreadyThere(isThere)
  return true
}

/** Returns a target whose writes fail once its owner has lost it. */
function ownedTarget(given: Store, root: string, check: () => Promise<void>): Target {
  const store = guardedStore(given, (_, method) => (WRITING.includes(method) ? check() : Promise.resolve()))
  return { store, root, nodes: newNodes(store, root) }
}

const WRITING = ['put', 'publish', 'delete', 'copy', 'rename']

interface PlannedWrite {
  readonly source: ZarrExport
  readonly planned: readonly PlannedArray[]
  readonly id: string
  /** Throws if another process has taken over the location. */
  readonly check: () => Promise<void>
}

/** Writes to an empty location. */
async function writeTo(write: PlannedWrite, target: Target, options: ExportOptions): Promise<boolean> {
  const { source, planned } = write
  const { store, root, nodes } = target
  const { signal, resume } = options
  const record = await startWrite(write, target, options)
  if (record === undefined) return false
  try {
    await writeArrays(planned, { store, root, record, check: write.check }, options)
    signal?.throwIfAborted()
    await write.check()
    await writeMetadata(source, planned, target)
    if (resume === undefined) await record.remove()
    else await record.update({ complete: true, arrays: {} })
    return true
  } catch (error) {
    // If the record cannot be updated, the arrays are written again later.
    if (resume !== undefined) await record.update({}).catch(() => undefined)
    if (resume !== undefined) throw error
    // Another process has taken over the location, so its objects stay.
    if (!(await isHeld(write))) throw error
    await nodes.remove('', await belongsTo(planned, target)).catch((left: unknown) => {
      const text = `${messageOf(error)}; what was written could not be removed: ${messageOf(left)}`
      throw new HyperslabError('StoreError', text, { cause: new AggregateError([error, left]) })
    })
    throw error
  }
}

async function isHeld({ check }: PlannedWrite): Promise<boolean> {
  try {
    await check()
    return true
  } catch {
    return false
  }
}

/**
 * Returns a function that distinguishes objects of the planned arrays from those that others have put into
 * the folder meanwhile.
 */
async function belongsTo(planned: readonly PlannedArray[], { store, root }: Target): Promise<(name: string) => boolean> {
  const { hierarchyTarget } = await import('./replace/hierarchy.ts')
  const arrays = planned.map(({ name, options: { shape } }) => ({
    path: name,
    rank: shape.length,
    separator: '/',
    isPrefixed: true,
  }))
  return hierarchyTarget({ store, path: root }).membership({ arrays })
}

/**
 * Plans the arrays of a target. Nothing is written before all names are known to stay in it.
 * @throws InvalidArgumentError for invalid options, and for paths that lead out of the target or lie in an
 *   array; FormatError for names that the target cannot hold together
 */
export async function planArrays(
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
  return source.arrays.map((each): PlannedArray => ({ ...each, ...plannedArray(each, options) }))
}

interface Target {
  readonly store: Store
  readonly root: string
  readonly nodes: NodeWriter
}

/**
 * Prepares a write, or finds one that can be resumed.
 * @returns undefined if all of it exists already
 */
async function startWrite(
  { planned, id }: PlannedWrite,
  { store, root, nodes }: Target,
  { resume, maxBytes = HELD_BYTES }: ExportOptions,
): Promise<RecordKeeper | undefined> {
  const found = await readRecord(store, root)
  const isThere = (await nodes.node('')) !== undefined
  const boot = bootOf(store)
  const ranks = Object.fromEntries(planned.map(({ name, options }) => [name, options.shape.length]))
  const fresh: WriteRecord = { format: FORMAT, id, complete: false, maxBytes, boot, ranks, arrays: {} }
  if (found !== undefined && resume !== undefined && found.id === id) {
    // The metadata of the location itself come last. If they exist, the write is complete, whatever its
    // record says.
    if (isThere) return undefined
    if (!found.complete) {
      const isKept = ([, state]: [string, CopyState | 'complete']): boolean =>
        // With another size, regions differ. Data that were not synced to the disk are lost when the machine
        // fails.
        state === 'complete' || (found.maxBytes === maxBytes && (state.first === 0 || found.boot === boot))
      const arrays = Object.fromEntries(Object.entries(found.arrays).filter(isKept))
      return new RecordKeeper(store, root, { ...fresh, arrays })
    }
  }
  if (isThere || found !== undefined) throw alreadyThere(isThere)
  const prefix = root === '' ? '' : `${root}/`
  const other = (await store.list!(prefix)).find((key) => !isOwnName(key.slice(prefix.length)))
  if (other !== undefined) {
    const text = `the folder holds something else already, such as '${other.split('/').at(-1) || other}'; choose another one, or empty it`
    throw new HyperslabError('AlreadyExistsError', text, { actual: other })
  }
  const record = new RecordKeeper(store, root, fresh)
  await record.update({})
  return record
}

const alreadyThere = (isThere: boolean): HyperslabError =>
  new HyperslabError(
    'AlreadyExistsError',
    isThere
      ? 'there is a Zarr array or group already'
      : 'there is an unfinished write, of another version of the source or with other options; overwrite replaces it',
  )

/** Returns the attributes of all groups as text, by path. */
export const groupDocuments = ({ attributes, groups = new Map() }: ZarrExport): (readonly [path: string, text: string])[] =>
  [['', attributes] as const, ...groups].map(([path, each]) => [path, writeJson(jsonOf(each))])

type Attributes = ReadonlyMap<string, unknown>

const jsonOf = (attributes: Attributes): JsonObject => attributesDocument(plain(attributes))

/** Writes the missing chunks of all arrays. */
async function writeArrays(
  planned: readonly PlannedArray[],
  {
    store,
    root,
    record,
    check,
  }: Pick<Target, 'store' | 'root'> & Pick<PlannedWrite, 'check'> & { readonly record: RecordKeeper },
  { maxBytes, resume, signal, onProgress }: ExportOptions,
): Promise<void> {
  const total = planned.reduce((sum, { count }) => sum + count, 0)
  let before = 0
  const prefix = root === '' ? '' : `${root}/`
  const scratch = new Scratch(store, `${prefix}${SCRATCH}`)
  for (const each of planned) {
    const { name, options, count, step } = each
    const known = record.array(name)
    if (known !== 'complete') {
      const held = heldBytes(each, maxBytes)
      const writeBytes = held / 4
      const to = await hiddenArray(store, root, name, options, { writeBytes: maxBytes === undefined ? undefined : writeBytes })
      // Read from the written level, because the source would be read and computed once more for each level.
      const finer = step && planned.find((other) => other.name === step.finer)!
      const array = finer ? step.halve(await hiddenArray(store, root, finer.name, finer.options, {})) : each.array
      const plan = planCopy(array.source, to.source, held, 2)
      const done =
        plan.first !== undefined && known !== undefined && !(await scratch.has(plan.first, known.first)) ? undefined : known
      if (plan.first !== undefined && done === undefined) await scratch.remove()
      const makeScratch = async (wanted: ScratchArray) => {
        const made = await scratch.array(wanted, writeBytes)
        if (done?.first === plan.first!.read.count) scratch.seal()
        return made
      }
      checkCopy(array.source, to.source)
      await within(array.source.label ?? {}, () =>
        copyByPlan(array.source, to.source, plan, {
          maxBytes: held,
          scratch: makeScratch,
          signal,
          ...(done && { done }),
          onProgress: ({ done, total: steps }) => onProgress?.({ done: before + Math.floor((done / steps) * count), total }),
          onRegion: async (state) => {
            await check()
            const isWhole = state.first === plan.first?.read.count && state.write === 0
            if (isWhole) scratch.seal()
            if (resume !== undefined) await record.setArray(name, state, isWhole)
          },
        }),
      )
      if (resume !== undefined) await record.setArray(name, 'complete', plan.first !== undefined)
      if (plan.first !== undefined) await scratch.remove()
    }
    before += count
    onProgress?.({ done: before, total })
  }
  // An earlier process may have been killed before it removed them.
  if (resume !== undefined) await scratch.remove()
}

/**
 * @throws TooLargeError if a chunk of the source or an object of the target, which are processed as a whole,
 *   is too large
 */
function checkHeld({ name, array, options, ...rest }: PlannedArray, maxBytes: number): void {
  const held = Math.floor(heldBytes(rest, maxBytes))
  const { chunks, shards = chunks } = options
  for (const [what, longest] of [
    ['a chunk of the source', array.chunks.chunkShape],
    ['an object of the target', shards!],
  ] as const) {
    const lengths = longest.map((length, axis) => Math.min(length, array.shape[axis]!))
    const bytes = sizeOf(lengths) * bytesOf(array.dtype)
    if (bytes <= held) continue
    const text = `${what} of ${showShape(lengths)} elements takes ${bytes} bytes, and ${held} may be held: allow more memory`
    throw new HyperslabError('TooLargeError', text, { array: name, actual: bytes, expected: held })
  }
}

const heldBytes = (
  { maxBytes, heldTimes = 1 }: Pick<ExportedArray, 'maxBytes' | 'heldTimes'>,
  most: number | undefined,
): number => (most === undefined ? (maxBytes ?? HELD_BYTES) : most / heldTimes)

/** Writes the metadata of all nodes below, then those of the location itself. Existing ones are the same. */
export async function writeMetadata(
  source: ZarrExport,
  planned: readonly PlannedArray[],
  { store, root, nodes }: Target,
): Promise<void> {
  const arrays = planned.map(({ name, options }) => [name, newArray(options, []).content] as const)
  const groups = new Map([...(source.groups ?? [])].map(([path, attributes]) => [path, groupDocument(jsonOf(attributes))]))
  for (const [name] of arrays) for (const path of groupsAbove(name)) if (!groups.has(path)) groups.set(path, groupDocument({}))
  groups.delete('')
  const own = arrays.find(([name]) => name === '')
  const members = [...[...groups].sort(([a], [b]) => a.length - b.length), ...arrays].filter(([name]) => name !== '')
  const isThere = async (path: string): Promise<boolean> =>
    (await store.stat([root, path, 'zarr.json'].filter((part) => part !== '').join('/'))) !== undefined
  for (const [path, content] of members) if (!(await isThere(path))) await nodes.create(path, content)
  if (await isThere('')) return
  await nodes.createRoot(own?.[1] ?? groupDocument(jsonOf(source.attributes), Object.fromEntries(members)))
}

/** Returns the content as a pyramid, the finest level first, or unchanged without `levels`. */
export async function inLevels(source: ZarrExport, levels: number | undefined): Promise<ZarrExport> {
  if (levels === undefined) return source
  const { pyramidOf } = await import('../adapters/zarr/write/pyramid.ts')
  const finest = Object.fromEntries(source.arrays.map((each) => [each.name, storedArray(each)]))
  const { arrays, groups, steps } = await pyramidOf(finest, levels, jsonOf(source.attributes))
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
function plannedArray(
  exported: ExportedArray,
  { codec = 'zstd', level, chunks = {}, shards = {} }: ExportOptions,
): Pick<PlannedArray, 'options' | 'count'> {
  const { array, dimensionNames, isUnnamed = false, chunkShape, fill, fillValue: given, attributes, name } = exported
  const { dtype, shape } = array
  const usual = chunkShape ?? ChunkGrid.estimate(shape, bytesOf(dtype), CHUNK_BYTES).chunkShape
  const isSharded = dimensionNames.some((dim) => member(shards, dim) !== undefined)
  const lengths = shape.map((length, axis): readonly [chunk: number, shard: number] => {
    const most = Math.max(1, length)
    const [given, shard] = [member(chunks, dimensionNames[axis]!), member(shards, dimensionNames[axis]!)]
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
  // Readers find missing elements by the attribute. Missing times are always NaT.
  const key = dtype === 'string' ? 'missing_value' : '_FillValue'
  const implied = exported.implied ?? array.source.missing?.implied
  const isTold = missing === undefined || implied !== undefined || own.has(key) || dtype === 'timestamp_ns'
  const missingValue = missing === undefined ? undefined : readElement(dtype, [missing] as never, 0)
  const fillValue = (implied as ScalarOf<DType> | undefined) ?? given ?? missingValue
  const options: NewZarrArray = {
    dtype,
    shape,
    chunks: chunkLengths,
    ...(isSharded && { shards: lengths.map(([, shard]) => shard) }),
    codec: level === undefined ? codec : { name: codec, configuration: { level } },
    ...(fillValue !== undefined && { fillValue }),
    ...(!isUnnamed && { dimensionNames }),
    attributes: isTold ? own : own.set(key, missingValue),
  }
  // Arrays that cannot be written are rejected before anything is written.
  withArray(name, () => newArray(options, []))
  return { options, count: ChunkGrid.regular(shape, chunkLengths).count }
}

function withArray<T>(array: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    return rethrowWithin(error, { array })
  }
}
