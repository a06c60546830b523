import { METADATA } from '../adapters/zarr/metadata-names.ts'
import { bytesOf } from '../array/source.ts'
import { HyperslabError, within } from '../core/errors.ts'
import { sha256 } from '../core/sha256.ts'
import { showShape, sizeOf } from '../core/shape.ts'
import { type FirstPass, rechunkDocument } from '../grid/rechunk-plan.ts'
import { guardedStore } from '../store/confined.ts'
import { statToWrite } from '../store/unproved.ts'
import type { Location } from '../tree/location.ts'
import type { OwnerCheck } from './replace/replace.ts'
import { copyHere } from './run.ts'
import type { ZarrExport } from './stored-arrays.ts'
import type { CopyPass, CopyTask, OwnTarget } from './target.ts'
import { heldBytes } from './tasks.ts'
import { claimRecord, newRecord, RecordKeeper, readBootId, readRecord, type WriteRecord } from './write-record.ts'
import { type ExportOptions, type PlannedArray, ZarrTarget, type ZarrWrite } from './zarr-target.ts'

/** A write of this process, which holds the place while it writes. */
class OwnZarrTarget extends ZarrTarget implements OwnTarget<never> {
  readonly #check: OwnerCheck
  readonly #options: ExportOptions
  readonly #boot: string
  /** Record that an earlier process left. Undefined until the place is claimed. */
  #found: WriteRecord | undefined
  #record: RecordKeeper

  /** @param check throws if another process has taken over the place */
  constructor(write: ZarrWrite, check: OwnerCheck, options: ExportOptions) {
    const store = guardedStore(write.store, (_, method) => (WRITING.includes(method) ? check() : Promise.resolve()))
    super({ ...write, store })
    this.#check = check
    this.#options = options
    this.#boot = readBootId(store)
    this.#record = this.#keeper(newRecord(this.id, this.ranks, { boot: this.#boot }))
  }

  override async claim(): Promise<boolean> {
    if (this.#found !== undefined) return false
    if (!(await checkFree(this, this.id))) return true
    const found = await claimRecord(this.store, this.root, newRecord(this.id, this.ranks, { boot: this.#boot }), false)
    if (found.id !== this.id) throw alreadyThere(false)
    this.#found = found
    return false
  }

  async resume(passes: readonly CopyPass[]): Promise<number> {
    if (this.#options.resume === undefined) return 0
    const { boot, regions: known, done } = this.#found!
    const regions = await sha256(JSON.stringify(passes.map((pass) => rechunkDocument(pass.regions))))
    const next = this.arrays[done.arrays]?.name
    const first = passes.find(({ name }) => name === next)?.regions.first
    const tasks = known === regions && (await this.#hasScratch(next, first, boot, done.tasks)) ? done.tasks : 0
    this.#record = this.#keeper({ ...newRecord(this.id, this.ranks, { regions, boot: this.#boot }), done: { ...done, tasks } })
    if (known === '') return 0
    // Before anything is written by these regions, for the record may be about others.
    await this.#record.update({})
    if (tasks === 0 && next !== undefined) await this.scratch(next).clean()
    return tasks + (passes.find(({ name }) => name === next)?.start ?? Number.POSITIVE_INFINITY)
  }

  /**
   * Whether the intermediate array that earlier tasks wrote exists. Data that were not synced are lost if a
   * machine fails.
   */
  async #hasScratch(name: string | undefined, first: FirstPass | undefined, boot: string, tasks: number): Promise<boolean> {
    if (name === undefined || first === undefined || tasks === 0) return true
    return boot === this.#boot && this.scratch(name).has(first, Math.min(tasks, first.read.count))
  }

  async done({ name, pass, number, regions: { first, write } }: CopyTask): Promise<void> {
    await this.#check()
    const before = pass === 'write' && first !== undefined ? first.read.count : 0
    const isLast = number + 1 === (pass === 'first' ? first!.read : write).count
    const arrays = this.numberOf(name)
    const done = isLast && pass === 'write' ? { arrays: arrays + 1, tasks: 0 } : { arrays, tasks: before + number + 1 }
    if (this.#options.resume !== undefined) await this.#record.setDone(done, isLast && first !== undefined)
    if (isLast && pass === 'write' && first !== undefined) await this.scratch(name).clean()
  }

  override async publish(): Promise<void> {
    const { resume } = this.#options
    await this.#check()
    // An earlier process may have been killed before it removed them.
    if (resume !== undefined) await this.removeScratch()
    await this.writeMetadata()
    await this.#record.remove()
  }

  override async abandon(): Promise<void> {
    // If the record cannot be updated, more is written again later.
    if (this.#options.resume !== undefined) return this.#record.update({}).catch(() => undefined)
    // If another process has taken the place over, its objects stay.
    const isHeld = await this.#check().then(() => true, () => false) // biome-ignore format: one line
    if (isHeld) await super.abandon()
  }

  protected override get isShared(): boolean {
    return false
  }

  protected override get canRepeat(): boolean {
    return this.#options.resume !== undefined
  }

  protected override writeBytes(name: string): { readonly scratch: number; readonly output?: number } {
    const { maxBytes } = this.#options
    const bytes = heldBytes(this.array(name), maxBytes) / 4
    return { scratch: bytes, ...(maxBytes !== undefined && { output: bytes }) }
  }

  #keeper(record: WriteRecord): RecordKeeper {
    return new RecordKeeper(this.store, this.root, record)
  }
}

const WRITING = ['put', 'publish', 'delete', 'copy', 'rename']

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
  const write = (at: string, check: OwnerCheck): Promise<boolean> =>
    copyHere(new OwnZarrTarget({ ...target.written, root: at, id }, check, options), options)
  const { aloneAt, removeClaimAt, replaceZarr } = await import('./replace/zarr.ts')
  const place = { store, path: root }
  // Reading and writing one place is refused whether or not something is there.
  const { checkSources, placesRead } = await import('./replace/apart.ts')
  const read = [...sources, ...(await placesRead(given.arrays))]
  await checkSources(read, place)
  if (!overwrite || !(await isTaken(target, id))) {
    if (await checkFree(target, id)) return aloneAt(place, signal, (check) => write(root, check))
    await removeClaimAt(place)
    // An earlier process may have been killed before it removed its record.
    if ((await readRecord(store, root)) !== undefined) await new RecordKeeper(store, root, newRecord(id, target.ranks)).remove()
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
  if (found !== undefined) return found.id !== id || (await isThere())
  return ((await store.list?.(prefix, { shallow: true })) ?? []).length > 0
}

/**
 * Checks a location before anything is written there.
 * @returns false if all of it exists already
 * @throws AlreadyExistsError
 */
async function checkFree(target: ZarrTarget, id: string): Promise<boolean> {
  const isThere = await target.isThere()
  // The metadata of the place itself are written last: with them, the write is complete.
  if (isThere && (await target.isComplete(id))) return false
  const found = await readRecord(target.store, target.root)
  if (isThere || (found !== undefined && found.id !== id)) throw alreadyThere(isThere)
  return true
}

const alreadyThere = (isThere: boolean): HyperslabError =>
  new HyperslabError(
    'AlreadyExistsError',
    isThere
      ? 'there is a Zarr array or group already'
      : 'there is an unfinished write, of another version of the source or with other options; `overwrite` replaces it',
  )

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
    const text = `${what} of ${showShape(lengths)} elements takes ${bytes} bytes, and ${held} may be held: raise \`maxBytes\``
    throw new HyperslabError('TooLargeError', text, { array: name, actual: bytes, expected: held })
  }
}
