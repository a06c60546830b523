import { METADATA } from '../adapters/zarr/metadata-names.ts'
import { checkCopy } from '../array/iteration.ts'
import { type CopyState, copyByPlan, planCopy, type ScratchArray } from '../array/lazy/rechunk-to.ts'
import { bytesOf } from '../array/source.ts'
import { HyperslabError, messageOf, within } from '../core/errors.ts'
import { sha256 } from '../core/sha256.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import { guardedStore } from '../store/confined.ts'
import type { Store } from '../store/store.ts'
import { statToWrite } from '../store/unproved.ts'
import type { Location } from '../tree/location.ts'
import { watchSources } from './source-versions.ts'
import type { ExportedArray, ZarrExport } from './stored-arrays.ts'
import { bootOf, claimRecord, newRecord, RecordKeeper, readRecord } from './write-record.ts'
import { type ExportOptions, type PlannedArray, ZarrTarget } from './zarr-target.ts'

/** Default bytes of an array that are held in memory at a time. */
const HELD_BYTES = 64 * 1024 * 1024

/** A write of this process. */
interface OwnWrite {
  readonly target: ZarrTarget
  readonly id: string
  /** Throws if another process has taken over the location. */
  readonly check: () => Promise<void>
}

/**
 * Writes a group of version 3 with some arrays, or an array. Metadata are written last, and those of the
 * location itself at the very end, so that no incomplete group opens. After an error, the written objects are
 * removed, unless the write can be resumed. With `overwrite`, all is written beside the old store, and
 * replaces it when it is complete.
 * @returns false if all of it existed already
 * @throws AlreadyExistsError unless `overwrite` is set; ReadOnlyError; InvalidArgumentError for invalid
 *   options; errors of `replace`, of the store, and of reading the arrays
 */
export async function exportZarr(given: ZarrExport, location: Location, options: ExportOptions): Promise<boolean> {
  const target = await ZarrTarget.open(location, given, options)
  try {
    return await within({ file: target.store.describe(target.root) }, () => exportTo(target, given, options))
  } finally {
    await target[Symbol.asyncDispose]()
  }
}

async function exportTo(target: ZarrTarget, given: ZarrExport, options: ExportOptions): Promise<boolean> {
  const { store, root } = target
  const { command = 'write with overwrite', overwrite, sources = [], maxBytes, signal, resume } = options
  if (maxBytes !== undefined) for (const each of target.arrays) checkHeld(each, maxBytes)
  const id = resume === undefined ? crypto.randomUUID() : await sha256(JSON.stringify([resume, await target.metadataHash()]))
  const write = (at: string, check: () => Promise<void>): Promise<boolean> =>
    writeTo({ target: target.at(at, (own) => guarded(own, check)), id, check }, options)
  const { aloneAt, removeClaimAt, replaceZarr } = await import('./replace/zarr.ts')
  const place = { store, path: root }
  // Reading and replacing one place is refused whether or not something is there.
  const { checkSources, placesRead } = await import('./replace/apart.ts')
  const read = overwrite ? [...sources, ...(await placesRead(given.arrays))] : []
  await checkSources(read, place)
  if (!overwrite || !(await isTaken(target, id))) {
    if (await checkFree(target, id)) return aloneAt(place, signal, (check) => write(root, check))
    await removeClaimAt(place)
    return false
  }
  const replacing = { command, signal, ...(resume !== undefined && { id, isVersioned: true }) }
  await replaceZarr(place, read, replacing, async (at, check) => void (await write(at, check)))
  return true
}

/** Whether a location contains anything except a write that can be resumed. */
async function isTaken({ store, root }: ZarrTarget, id: string): Promise<boolean> {
  const found = await readRecord(store, root)
  const prefix = root === '' ? '' : `${root}/`
  const isThere = async (): Promise<boolean> => {
    const infos = await Promise.all(METADATA.map((name) => statToWrite(store, prefix + name)))
    return infos.some((info) => info !== undefined)
  }
  if (found !== undefined) return found.id !== id || found.complete || (await isThere())
  return ((await store.list?.(prefix, { shallow: true })) ?? []).length > 0
}

/**
 * Checks a location before anything is written there.
 * @returns false if all of it exists already
 * @throws AlreadyExistsError
 */
async function checkFree(target: ZarrTarget, id: string): Promise<boolean> {
  const found = await readRecord(target.store, target.root)
  const isThere = await target.isThere()
  // The metadata of the place itself are written last: with them, the write is complete.
  if (isThere && found?.id === id) return false
  if (isThere || (found !== undefined && found.id !== id)) throw alreadyThere(isThere)
  return true
}

const alreadyThere = (isThere: boolean): HyperslabError =>
  new HyperslabError(
    'AlreadyExistsError',
    isThere
      ? 'there is a Zarr array or group already'
      : 'there is an unfinished write, of another version of the source or with other options; overwrite replaces it',
  )

/** Returns a store that is written only while its owner holds it. */
const guarded = (store: Store, check: () => Promise<void>): Store =>
  guardedStore(store, (_, method) => (WRITING.includes(method) ? check() : Promise.resolve()))

const WRITING = ['put', 'publish', 'delete', 'copy', 'rename']

/** Writes to an empty place, or resumes. */
async function writeTo(write: OwnWrite, options: ExportOptions): Promise<boolean> {
  const { target, check } = write
  const { signal, resume } = options
  const record = await startWrite(write, options)
  if (record === undefined) return false
  try {
    const unchanged = await watchSources(target.arrays, signal)
    await writeArrays(write, record, options)
    signal?.throwIfAborted()
    await unchanged(signal)
    await check()
    await target.writeMetadata()
    if (resume === undefined) await record.remove()
    else await record.update({ complete: true, arrays: {} })
    return true
  } catch (error) {
    // If the record cannot be updated, the arrays are written again later.
    if (resume !== undefined) await record.update({}).catch(() => undefined)
    if (resume !== undefined) throw error
    // If another process has taken the place over, its objects stay.
    const isHeld = await check().then(() => true, () => false) // biome-ignore format: one line
    if (!isHeld) throw error
    await target.abandon().catch((left: unknown) => {
      const text = `${messageOf(error)}; what was written could not be removed: ${messageOf(left)}`
      throw new HyperslabError('StoreError', text, { cause: new AggregateError([error, left]) })
    })
    throw error
  }
}

/**
 * Begins a write, or resumes an earlier one.
 * @returns undefined if it is complete
 */
async function startWrite({ target, id }: OwnWrite, { maxBytes = HELD_BYTES }: ExportOptions): Promise<RecordKeeper | undefined> {
  if (!(await checkFree(target, id))) return undefined
  const { store, root, ranks } = target
  const boot = bootOf(store)
  const fresh = newRecord(id, ranks, { maxBytes, boot })
  const found = await claimRecord(store, root, fresh, false)
  if (found.id !== id || found.complete) throw alreadyThere(false)
  const isKept = ([, state]: [string, CopyState | 'complete']): boolean =>
    // With another size, regions differ. Data that were not synced to the disk are lost when the machine
    // fails.
    state === 'complete' || (found.maxBytes === maxBytes && (state.first === 0 || found.boot === boot))
  const arrays = Object.fromEntries(Object.entries(found.arrays).filter(isKept))
  return new RecordKeeper(store, root, { ...fresh, arrays })
}

/** Writes the missing chunks of all arrays. */
async function writeArrays(
  { target, check }: OwnWrite,
  record: RecordKeeper,
  { maxBytes, resume, signal, onProgress }: ExportOptions,
): Promise<void> {
  const total = target.arrays.reduce((sum, { count }) => sum + count, 0)
  let before = 0
  for (const each of target.arrays) {
    const { name, count } = each
    const known = record.array(name)
    if (known !== 'complete') {
      const held = heldBytes(each, maxBytes)
      const writeBytes = held / 4
      const { source } = await target.input(name)
      const { source: output } = await target.output(name, maxBytes === undefined ? undefined : writeBytes)
      const plan = planCopy(source, output, held, 2)
      const { first } = plan
      const scratch = target.scratch(name, false)
      const done = first !== undefined && known !== undefined && !(await scratch.has(first, known.first)) ? undefined : known
      if (first !== undefined && done === undefined) await scratch.clean()
      const makeScratch = async (wanted: ScratchArray) => {
        const made = await scratch.array(wanted, writeBytes)
        if (done?.first === first!.read.count) scratch.seal()
        return made
      }
      checkCopy(source, output)
      await within(source.label ?? {}, () =>
        copyByPlan(source, output, plan, {
          maxBytes: held,
          scratch: makeScratch,
          signal,
          ...(done && { done }),
          onProgress: ({ done, total: steps }) => onProgress?.({ done: before + Math.floor((done / steps) * count), total }),
          onRegion: async (state) => {
            await check()
            const isWhole = state.first === first?.read.count && state.write === 0
            if (isWhole) scratch.seal()
            if (resume !== undefined) await record.setArray(name, state, isWhole)
          },
        }),
      )
      if (resume !== undefined) await record.setArray(name, 'complete', first !== undefined)
      if (first !== undefined) await scratch.clean()
    }
    before += count
    onProgress?.({ done: before, total })
  }
  // An earlier process may have been killed before it removed them.
  if (resume !== undefined) await target.removeScratch()
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
