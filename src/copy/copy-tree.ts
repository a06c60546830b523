import type { ZarrArray, ZarrGroup } from '../adapters/zarr/group.ts'
import { METADATA } from '../adapters/zarr/metadata-names.ts'
import { checkNotReplacing } from '../adapters/zarr/replacing.ts'
import { isOwnName } from '../adapters/zarr/write/node-names.ts'
import { ArrayFile } from '../af/file.ts'
import { Paths } from '../af/layers/paths.ts'
import { checkNewName } from '../af/write/occupied.ts'
import type { Progress } from '../array/transfers.ts'
import { nodesBelow } from '../array/walk.ts'
import { HyperslabError, isHyperslabError } from '../core/errors.ts'
import { joinForeignKey } from '../core/foreign-key.ts'
import { METADATA_BYTES, parseJson } from '../core/json.ts'
import { forEachLimited } from '../core/limiter.ts'
import { type Checks, checkOptions } from '../core/options.ts'
import { Pace } from '../core/pace.ts'
import type { Signal } from '../core/signal.ts'
import { withoutEndings } from '../core/text.ts'
import { decodeNames } from '../core/url-names.ts'
import { Absences, type Settle } from '../store/absences.ts'
import { confined } from '../store/confined.ts'
import type { ObjectInfo, Stage, Store, StoredAt } from '../store/store.ts'
import { targetKeys } from '../store/target-keys.ts'
import { statToWrite } from '../store/unproved.ts'
import { readWhole } from '../store/whole.ts'
import { isWritable } from '../store/writable.ts'
import { asWritable } from '../store/writer.ts'
import { formatOfName, recognise } from '../tree/formats.ts'
import { checkUrlOptions, type Location, resolveLocation } from '../tree/location.ts'
import { openZarr } from '../tree/open-zarr.ts'
import type { TargetOptions } from '../tree/target.ts'
import type { NotFoundOptions } from '../tree/url-options.ts'
import { formatToWrite } from '../tree/written-formats.ts'
import { isOfMacos } from '../tree/zip-root.ts'
import { checkApart } from './replace/apart.ts'
import { containerTarget } from './replace/container.ts'
import { kindOf } from './replace/content-kind.ts'
import { checkFileTarget, writeFile } from './replace/file.ts'
import { hierarchyTarget } from './replace/hierarchy.ts'
import { alone, type OwnerCheck, replace } from './replace/replace.ts'
import { copyObjectWithin } from './replace/switch.ts'
import type { Target } from './replace/target.ts'
import { checkPlace } from './replace/zarr.ts'

/**
 * Number of objects that are copied at once, each in pieces of the given size: at most 64 MiB are in memory.
 */
const OBJECTS_AT_ONCE = 8
const PIECE_BYTES = 8 * 1024 * 1024

/** Maximum number of objects requested from a place that cannot list, one request each. */
const MOST_ASKED = 1_000_000

/** Progress of a copy: objects `done` of `total`, and the `bytes` of copied objects. */
export interface CopyTreeProgress extends Progress {
  readonly bytes: number
}

/** Options of copying a place. */
export interface CopyTreeOptions extends TargetOptions, NotFoundOptions {
  /** Whether to replace an existing target, after all objects were copied. */
  readonly overwrite?: boolean | undefined
  /** Name in errors of the command that completes an interrupted copy. Default: the call of `copyTree`. */
  readonly command?: string
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
  /** Receives the progress after each step. */
  readonly onProgress?: ((progress: CopyTreeProgress) => void) | undefined
}

const CHECKS: Checks<CopyTreeOptions> = {
  command: 'string',
  followLinks: 'boolean',
  notFound: 'list of integers',
  overwrite: 'boolean',
  signal: 'AbortSignal',
  onProgress: 'function',
}

/** Result of copying a location. */
export interface CopiedTree {
  /** Number of copied objects. */
  readonly objects: number
  /** Bytes of the copied objects. */
  readonly bytes: number
  /** Number of objects that existed already with the same bytes. */
  readonly kept: number
}

/** Objects to be copied, by their names relative to either path. */
interface Parts {
  readonly from: StoredAt
  readonly to: StoredAt
  /** Location that contains all written objects: a folder, or a file with others beside it. */
  readonly root: string
  readonly names: readonly string[]
  /**
   * Objects without which the copy does not open. They are removed first if they are replaced, and copied
   * last.
   */
  readonly last: readonly string[]
  /** Objects at the target that would be mistaken for parts of the copy. */
  readonly others: readonly string[]
  /** Confirms that the server still gives the answers that it gave when the objects were searched. */
  readonly confirm?: Settle
  /** Location as the user names it. */
  readonly source: StoredAt
  /** Returns the unit that is replaced as a whole, at the root; undefined if it is a single object. */
  readonly targetOf?: ((place: StoredAt) => Target) | undefined
  /** Version of the metadata of a Zarr hierarchy. */
  readonly version?: 2 | 3
  /** Existing content of the target, while the new content is copied beside it. */
  readonly old?: StoredAt | undefined
}

/**
 * Copies a place unchanged, object by object: a container with its sidecars, a Zarr hierarchy, or one file.
 * The objects that make the target readable are written last. Objects that exist with the same bytes are
 * kept, so that an interrupted copy can be resumed.
 * @throws AlreadyExistsError, without `overwrite`, for existing objects with other bytes and, with
 *   `overwrite`, for objects that do not belong to the replaced store; InvalidArgumentError for a source that
 *   is the target, lies in it or contains it; NotFoundError; ReadOnlyError; ConflictError if the source
 *   changes meanwhile; errors of the stores
 */
export async function copyTree(source: Location, target: Location, options: CopyTreeOptions = {}): Promise<CopiedTree> {
  checkOptions('copyTree', options, CHECKS)
  await checkUrlOptions('copyTree', source, options)
  const opened: Store[] = []
  try {
    const from = await resolveLocation(source, options)
    opened.push(from.store)
    const to = await resolveLocation(target)
    opened.push(to.store)
    if (!isWritable(to.store))
      throw new HyperslabError('ReadOnlyError', 'nothing can be written there', { file: to.store.describe(to.path) })
    const given = await planParts(source, from, to, options)
    await checkApart(from, { store: to.store, path: given.root })
    await (given.version === undefined ? checkFileTarget : checkNewName)({ store: to.store, path: given.root })
    if (given.version !== undefined) {
      checkFolderName(from, to)
      await checkPlace({ store: to.store, path: given.root }, given.version)
    }
    // Names come from the source, so the target is confined to its root.
    const parts = { ...given, to: { ...given.to, store: confined(given.to.store, given.root, options) } }
    return await (options.overwrite === true ? replaceParts(parts, options) : addParts(parts, options))
  } finally {
    for (const store of opened) await store.close?.()
  }
}

/** @throws InvalidArgumentError for a target whose name is that of a file, such as a container */
function checkFolderName(from: StoredAt, to: StoredAt): void {
  if (to.path.endsWith('/') || !formatToWrite(to.path)?.writing.isFile) return
  const text = `the source is a Zarr hierarchy, and the target ${to.store.describe(to.path)} has the name of a file; use import or export, or another name`
  throw new HyperslabError('InvalidArgumentError', text, { file: from.store.describe(from.path) })
}

/** Copies to an empty place. */
async function addParts(parts: Parts, options: CopyTreeOptions): Promise<CopiedTree> {
  const { to, root, others, targetOf, last } = parts
  const refuse: Refusal = async (key, why) => {
    const text = `there is an object of this name already, and ${why}; ${await adviceFor(parts, options.signal)}`
    throw new HyperslabError('AlreadyExistsError', text, { file: to.store.describe(key) })
  }
  if (others.length > 0) return refuse(others[0]!, 'the source has no such object')
  if (targetOf === undefined) return copyParts({ ...parts, refuse }, options)
  return alone(targetOf({ store: to.store, path: root }), options.signal, async (check) => {
    const there = await Promise.all(last.map((name) => statToWrite(to.store, to.path + name, options.signal)))
    // A store that opens already is only compared.
    const isComplete = last.some((name, i) => there[i] !== undefined && !/(^|\/)\.zattrs$/.test(name))
    return copyParts({ ...parts, isComplete, check, refuse }, options)
  })
}

/** Refuses an object that exists at the target, with the reason. */
type Refusal = (key: string, why: string) => Promise<never>

/** Returns what to do about an existing object. Only objects of a whole store are replaced by `overwrite`. */
async function adviceFor({ to, root, targetOf }: Parts, signal: Signal | undefined): Promise<string> {
  try {
    await targetOf?.({ store: to.store, path: root }).survey(signal)
    return '`overwrite` replaces it'
  } catch (error) {
    if (isHyperslabError(error, 'AlreadyExistsError')) return error.text
    throw error
  }
}

/** Copies beside the existing store, and replaces it when the copy is complete. */
async function replaceParts(parts: Parts, options: CopyTreeOptions): Promise<CopiedTree> {
  const { from, to, root, targetOf, names, last, source } = parts
  if (targetOf === undefined) return replaceFile(parts, options)
  const target = targetOf({ store: to.store, path: root })
  let copied: CopiedTree | undefined
  const { command = 'copyTree with overwrite', signal } = options
  const replacing = { command, id: 'cp', sources: [source], signal }
  await replace(target, replacing, async (prefix) => {
    // An earlier attempt may have copied objects that the source no longer has.
    const wanted = new Set([...names, ...last].map((name) => prefix + name))
    const left = (await to.store.list!(prefix, { deep: true, signal })).filter((key) => !wanted.has(key))
    await forEachLimited(left, OBJECTS_AT_ONCE, (key) => asWritable(to.store).delete(key, { signal }))
    for (const { key } of (await to.store.files?.leftovers(prefix, { deep: true })) ?? [])
      await asWritable(to.store).delete(key, { signal })
    // A folder that is empty now may have the name of a new object.
    await to.store.files?.removeFolder(prefix)
    const versions = async (): Promise<string> =>
      JSON.stringify(await Promise.all(last.map(async (name) => (await statObject(from.store, from.path + name, signal)).etag)))
    const before = await versions()
    copied = await copyParts({ ...parts, to: { ...to, path: prefix }, old: to }, options)
    if ((await versions()) !== before) throw gone(from.store.describe(from.path))
  })
  // Another process had already completed the copy.
  return copied ?? { objects: 0, bytes: 0, kept: names.length + last.length }
}

async function replaceFile({ from, to }: Parts, { signal, onProgress }: CopyTreeOptions): Promise<CopiedTree> {
  if ((await statToWrite(to.store, to.path, signal)) !== undefined && (await sameAt({ from, to }, '', signal)))
    return { objects: 0, bytes: 0, kept: 1 }
  let bytes = 0
  const info = await statObject(from.store, from.path, signal)
  const kind = () => kindOf(from, info, signal)
  await writeFile(to, { overwrite: true, kind, signal }, async (stage) => {
    for await (const piece of walkPieces(from.store, from.path, info, signal)) {
      await stage.append(piece)
      bytes += piece.length
      onProgress?.({ done: 0, total: 1, bytes })
    }
  })
  onProgress?.({ done: 1, total: 1, bytes })
  return { objects: 1, bytes, kept: 0 }
}

async function copyParts(
  { from, to, old, names, last, confirm, isComplete, check, refuse }: CopiedParts,
  { signal, onProgress }: CopyTreeOptions,
): Promise<CopiedTree> {
  const total = names.length + last.length
  let [done, objects, bytes] = [0, 0, 0]
  const copy = async (name: string): Promise<void> => {
    signal?.throwIfAborted()
    const copied = await copyObject({ from, to, old, isComplete, check, refuse }, name, signal, (more) => {
      bytes += more
      onProgress?.({ done, total, bytes })
    })
    done++
    if (copied) objects++
    onProgress?.({ done, total, bytes })
  }
  await forEachLimited(names, OBJECTS_AT_ONCE, copy)
  // The last objects make the target readable. First check that no login page was copied as an object.
  await confirm?.(signal)
  for (const name of last) await copy(name)
  return { objects, bytes, kept: total - objects }
}

type Pair = Pick<Parts, 'from' | 'to'>

/** Parts with the known state of the target. */
interface CopiedParts extends Pick<Parts, 'from' | 'to' | 'old' | 'names' | 'last' | 'confirm'> {
  /** Whether the target opens already, so that no object may be added. */
  readonly isComplete?: boolean | undefined
  /** Throws if another process has taken the place over. */
  readonly check?: OwnerCheck | undefined
  /** Refuses an existing object. Only drafts replace them. */
  readonly refuse?: Refusal | undefined
}

/** @returns whether it did not exist yet */
async function copyObject(
  { from, to, old, isComplete = false, check, refuse }: Omit<CopiedParts, 'names' | 'last' | 'confirm'>,
  name: string,
  signal: Signal | undefined,
  tell: (bytes: number) => void,
): Promise<boolean> {
  const [source, target] = [from.path + name, to.path + name]
  const isDraft = old !== undefined
  const isKept = async (): Promise<boolean> => {
    if ((await statToWrite(to.store, target, signal)) === undefined) return false
    if (await sameAt({ from, to }, name, signal)) return true
    if (isDraft) return false
    return refuse!(target, 'it is not the same as that of the source')
  }
  if (await isKept()) return false
  // Consolidated metadata repeat the others, and a killed copy may lack them alone.
  if (isComplete && !/(^|\/)\.zmetadata$/.test(name)) return refuse!(target, 'the target is complete without this object')
  await to.store.files?.makeFolder(target)
  const there = old && (await statOld(to.store, old.path + name, signal))
  if (there !== undefined && (await sameAt({ from, to: old! }, name, signal))) {
    await copyObjectWithin(to.store, old!.path + name, target, there.etag)
    return false
  }
  const stage = await asWritable(to.store).stage(target)
  try {
    const whole = await smallObject(from.store, source, signal)
    if (whole !== undefined) {
      if (/(^|\/)zarr\.json$/.test(name)) checkNotReplacingIn(whole, from.store.describe(source))
      await stage.append(whole)
      tell(whole.length)
    } else
      for await (const piece of walkPieces(from.store, source, await statObject(from.store, source, signal), signal)) {
        await stage.append(piece)
        tell(piece.length)
      }
    await check?.()
    return await publishCopied(stage, target, isDraft, isKept)
  } finally {
    await stage.discard()
  }
}

/** Returns an object of the replaced store; undefined also for a folder, and for a path through a file. */
async function statOld(store: Store, key: string, signal: Signal | undefined): Promise<ObjectInfo | undefined> {
  try {
    return await statToWrite(store, key, signal)
  } catch (error) {
    if (isHyperslabError(error, 'FormatError', 'NotFoundError')) return undefined
    throw error
  }
}

/**
 * Publishes an object. At the target itself this requires that none exists, because another process may copy
 * to the same place.
 * @returns false if another process has stored the same bytes
 */
async function publishCopied(stage: Stage, key: string, isDraft: boolean, isKept: () => Promise<boolean>): Promise<boolean> {
  const none = new Uint8Array(0)
  if (!isDraft)
    try {
      await stage.publish(key, none, { ifAbsent: true })
      return true
    } catch (error) {
      if (isHyperslabError(error, 'ConflictError') && (await isKept())) return false
      // For servers without conditional writes, the object was looked up before.
      if (!isHyperslabError(error, 'UnsupportedError')) throw error
    }
  await stage.publish(key, none, { ifAbsent: false })
  return true
}

/** Reads a whole object with one request; returns undefined for larger ones. */
async function smallObject(store: Store, key: string, signal: Signal | undefined): Promise<Uint8Array | undefined> {
  try {
    const found = await readWhole(store, key, { maxBytes: PIECE_BYTES, signal })
    if (found === undefined) throw gone(store.describe(key))
    return found.bytes
  } catch (error) {
    if (isHyperslabError(error, 'TooLargeError')) return undefined
    throw error
  }
}

async function statObject(store: Store, key: string, signal: Signal | undefined): Promise<ObjectInfo> {
  const info = await store.stat(key, { signal })
  if (info === undefined) throw gone(store.describe(key))
  return info
}

async function* walkPieces(
  store: Store,
  key: string,
  { size, etag }: ObjectInfo,
  signal: Signal | undefined,
): AsyncGenerator<Uint8Array, void> {
  for (let offset = 0; offset < size; offset += PIECE_BYTES) {
    const piece = await store.getRange(key, offset, Math.min(PIECE_BYTES, size - offset), { ifMatch: etag, signal })
    if (piece === undefined) throw gone(store.describe(key))
    yield piece
  }
}

const gone = (file: string): HyperslabError =>
  new HyperslabError(
    'ConflictError',
    'the object was removed or changed while the store was being copied; run the command once more',
    { file },
  )

/** Form of an ETag that every store derives from the bytes alone. */
const MD5 = /^"?[0-9a-f]{32}"?$/

/** Whether both places have the same bytes under a name. */
async function sameAt({ from, to }: Pair, name: string, signal: Signal | undefined): Promise<boolean> {
  const keys = [from.path + name, to.path + name] as const
  const [a, b] = await Promise.all([from.store.stat(keys[0], { signal }), to.store.stat(keys[1], { signal })])
  if (a === undefined || b === undefined || a.size !== b.size) return false
  if (MD5.test(a.etag) && a.etag === b.etag) return true
  const others = walkPieces(to.store, keys[1], b, signal)
  for await (const piece of walkPieces(from.store, keys[0], a, signal)) {
    const { value } = await others.next()
    if (value === undefined || !piece.every((byte, i) => byte === value[i])) return false
  }
  return true
}

async function planParts(
  source: Location,
  from: StoredAt,
  to: StoredAt,
  { overwrite = false, signal, notFound }: CopyTreeOptions,
): Promise<Parts> {
  if (formatOfName(from.path)?.hasSidecars && (await isObject(from, '', signal)))
    return containerParts(source, from, to, { notFound })
  const isFile = await isObject(from, '', signal)
  // Servers may have pages for folders.
  if (!(isFile && from.store.files?.localPath !== undefined) && (await isHierarchy(from, signal)))
    return hierarchyParts(from, to, overwrite, signal)
  const file = from.store.describe(from.path)
  if (!isFile) throw new HyperslabError('NotFoundError', 'there is neither a file nor a Zarr array or group', { file })
  if (formatToWrite(to.path)?.isFolder) {
    const { format } = await recognise(from, signal)
    if (format.isArchive)
      return { ...(await hierarchyParts(await format.zarrIn!(from, { signal }), to, overwrite, signal)), source: from }
    if (!to.path.endsWith('/')) {
      const text = `the source is a file, neither Zarr nor a zip archive of it, and the target ${to.store.describe(to.path)} has the name of a Zarr store; use import or rechunk, or another name`
      throw new HyperslabError('InvalidArgumentError', text, { file })
    }
  }
  const target = named(to, from)
  return { from, to: target, root: target.path, names: [], last: [''], others: [], source: from }
}

async function isHierarchy({ store, path }: StoredAt, signal: Signal | undefined): Promise<boolean> {
  const place = { store, path: keyPrefix(path) }
  return (await Promise.all(METADATA.map((name) => isObject(place, name, signal)))).some(Boolean)
}

const slashless = (path: string): string => withoutEndings(path, '/')

/** If the target is a folder, appends the name of the source. */
const named = (to: StoredAt, { path }: StoredAt): StoredAt =>
  to.path.endsWith('/') ? { ...to, path: joinForeignKey(to.path, path.slice(path.lastIndexOf('/') + 1), to.store) } : to

async function isObject({ store, path }: StoredAt, name: string, signal: Signal | undefined): Promise<boolean> {
  try {
    return (await store.stat(path + name, { signal })) !== undefined
  } catch (error) {
    // The key is a folder.
    if (isHyperslabError(error, 'FormatError')) return false
    throw error
  }
}

/** Returns the files of a container that count. The base comes last. */
async function containerParts(source: Location, from: StoredAt, given: StoredAt, options: NotFoundOptions): Promise<Parts> {
  const place = await resolveLocation(source, options)
  await using file = await ArrayFile.open(place.store, place.path)
  const to = named(given, from)
  const [own, theirs] = [new Paths(from.path), new Paths(to.path)]
  const sidecars = file.layers().flatMap(({ number }) => (number === 0 ? [] : [number]))
  const names = sidecars.map((number) => own.sidecar(number).slice(own.stem.length))
  const wanted = new Set(sidecars.map((number) => theirs.sidecar(number)))
  // Includes statistics, because those of another container would be wrong.
  const beside = ((await to.store.list?.(`${theirs.stem}.`)) ?? []).filter((key) => theirs.isBeside(key))
  const others = beside.filter((key) => !wanted.has(key))
  const isAlone = names.length === 0 && beside.length === 0
  // A single file replaces another one in one step.
  if (isAlone) return { from, to, root: to.path, names, last: [''], others, source: from }
  return {
    from: { ...from, path: `${own.stem}.` },
    to: { ...to, path: `${theirs.stem}.` },
    root: to.path,
    names: names.map((name) => name.slice(1)),
    last: [to.path.slice(theirs.stem.length + 1)],
    others,
    source: from,
    targetOf: containerTarget,
  }
}

/**
 * Returns the objects of a Zarr hierarchy. The metadata of its root come last, those of other nodes before
 * them.
 */
async function hierarchyParts(from: StoredAt, given: StoredAt, isReplaced: boolean, signal: Signal | undefined): Promise<Parts> {
  const path = keyPrefix(from.path)
  const root = { path, store: from.store.urlNames ? namedBelow(from.store, path) : from.store }
  const to = { ...given, path: keyPrefix(given.path) }
  if (to.store.list === undefined)
    throw new HyperslabError('UnsupportedError', 'a folder that cannot be listed takes no copy', {
      file: to.store.describe(to.path),
    })
  const named = root.store.list === undefined ? await namedKeys(from.store, root, signal) : undefined
  const list = async (): Promise<string[]> => named?.keys ?? root.store.list!(root.path, { deep: true, signal })
  const isMetadata = (name: string): boolean => METADATA.includes(name.slice(name.lastIndexOf('/') + 1))
  // Writers store chunks before metadata: the second list has all chunks that these versions name.
  const documents = (await list()).filter(isMetadata)
  const versions = await listVersions(root.store, documents, signal)
  const keys = await list()
  // Buckets may contain empty objects that stand for folders.
  const all = keys
    .map((key) => key.slice(root.path.length))
    .filter((name) => !isOwnName(name) && !isOfMacos(name) && name !== '' && !name.endsWith('/'))
  await targetKeys(to.store, slashless(to.path), all)
  const own = all.includes('zarr.json')
    ? await readWhole(root.store, `${root.path}zarr.json`, { maxBytes: METADATA_BYTES, signal })
    : undefined
  if (own !== undefined) checkNotReplacingIn(own.bytes, root.store.describe(`${root.path}zarr.json`))
  // The metadata of nodes come after the attributes, because attributes alone do not make a node.
  const last = ['.zattrs', ...METADATA.filter((name) => name !== '.zattrs')].filter((name) => all.includes(name))
  if (!last.some((name) => name !== '.zattrs')) throw noHierarchy(root.store.describe(slashless(path)))
  // Names were read from the open source already.
  if (isReplaced && named === undefined) await checkOpens({ store: from.store, path: slashless(path) }, signal)
  const below = all.filter((name) => !last.includes(name))
  const names = [...below.filter((name) => !isMetadata(name)), ...below.filter(isMetadata)]
  const wanted = new Set(all)
  const others = isReplaced
    ? []
    : (await to.store.list(to.path, { deep: true, signal }))
        .map((key) => key.slice(to.path.length))
        .filter((name) => !wanted.has(name) && !isOwnName(name))
        .map((name) => to.path + name)
  return {
    from: root,
    to,
    root: slashless(to.path),
    names,
    last,
    others,
    source: from,
    targetOf: hierarchyTarget,
    version: all.includes('zarr.json') ? 3 : 2,
    confirm: async (signal) => {
      await named?.confirm(signal)
      const now = await listVersions(root.store, documents, signal)
      const changed = documents.find((_, i) => now[i] !== versions[i])
      if (changed !== undefined) throw gone(root.store.describe(changed))
    },
  }
}

const noHierarchy = (file: string): HyperslabError =>
  new HyperslabError('NotFoundError', 'there is no Zarr array or group: metadata are missing at its root', { file })

/**
 * Checks that a source opens before it replaces anything. A source with unknown codecs does.
 * @throws FormatError for damaged metadata of the root
 */
async function checkOpens(source: StoredAt, signal: Signal | undefined): Promise<void> {
  try {
    await openZarr(source, { signal })
  } catch (error) {
    if (!isHyperslabError(error, 'UnsupportedError')) throw error
  }
}

/** @throws ConflictError for metadata of a root that is being replaced, which are no part of any store */
function checkNotReplacingIn(bytes: Uint8Array, file: string): void {
  let metadata: unknown
  try {
    metadata = parseJson(bytes, 'zarr.json', { exact: false })
  } catch {
    // Objects are copied as they are, whatever they contain.
    return
  }
  checkNotReplacing(metadata, file)
}

async function listVersions(
  store: Store,
  keys: readonly string[],
  signal: Signal | undefined,
): Promise<readonly (string | undefined)[]> {
  const versions = new Array<string | undefined>(keys.length)
  await forEachLimited(keys.keys(), 4 * OBJECTS_AT_ONCE, async (i) => {
    versions[i] = (await store.stat(keys[i]!, { signal }))?.etag
  })
  return versions
}

const keyPrefix = (path: string): string => (slashless(path) === '' ? '' : `${slashless(path)}/`)

/** Returns a store of URLs whose keys below a path are plain names. */
function namedBelow(store: Store, path: string): Store {
  const at = (key: string): string => joinForeignKey(path, key.slice(path.length), store)
  return {
    describe: (key) => store.describe(at(key)),
    stat: (key, options) => store.stat(at(key), options),
    getRange: (key, offset, length, options) => store.getRange(at(key), offset, length, options),
    get: (key, options) => readWhole(store, at(key), options),
  }
}

/**
 * Returns the keys of a hierarchy at a place that cannot list. The keys are computed from the metadata, so
 * some may not exist.
 * @param given the store that is opened
 * @param place the same store, with decoded names
 */
async function namedKeys(
  given: Store,
  { store, path }: StoredAt,
  signal: Signal | undefined,
): Promise<{ readonly keys: string[]; readonly confirm: Settle }> {
  const root = await openZarr({ store: given, path: slashless(path) }, { signal })
  const { groups, arrays, unreadable } = await nodesBelow<ZarrArray, ZarrGroup>(root)
  const [bad] = unreadable.values()
  if (bad !== undefined) throw bad
  const count = arrays.reduce((sum, { index }) => sum + index.objectCount, 0)
  if (count > MOST_ASKED) {
    const text = `its arrays have ${count} objects, and the place cannot list those that are there; up to ${MOST_ASKED} are asked for`
    throw new HyperslabError('TooLargeError', text, { file: store.describe(path), actual: count, expected: MOST_ASKED })
  }
  function* candidates(): Generator<string, void> {
    for (const node of [...groups, ...arrays])
      for (const name of METADATA) yield path + (node.path === '' ? name : `${node.path}/${name}`)
    for (const { index } of arrays)
      for (const key of index.objectKeys()) {
        const name = key.slice(path.length)
        yield path + (given.urlNames ? (decodeNames(name) ?? name) : name)
      }
  }
  const found: string[] = []
  const absences = new Absences(store)
  const { onUnproved } = absences
  for (const name of METADATA) {
    const content = await readWhole(store, path + name, { signal, onUnproved })
    if (content !== undefined) absences.known(path + name, content)
  }
  const pace = new Pace(signal)
  await forEachLimited(candidates(), 4 * OBJECTS_AT_ONCE, async (key) => {
    if (pace.due()) await pace.turn()
    if ((await store.stat(key, { signal, onUnproved })) !== undefined) found.push(key)
  })
  return { keys: found, confirm: (signal) => absences.recheck(signal) }
}
