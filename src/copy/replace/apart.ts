import { METADATA, METADATA_PATH } from '../../adapters/zarr/metadata-names.ts'
import type { DiskArray } from '../../array/disk-array.ts'
import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { forEachLimited } from '../../core/limiter.ts'
import { joinPath } from '../../core/relative-path.ts'
import type { Signal } from '../../core/signal.ts'
import { withoutEndings } from '../../core/text.ts'
import { randomName } from '../../store/conditions.ts'
import { fileSystem } from '../../store/fs/file-system.ts'
import type { Store, StoredAt } from '../../store/store.ts'
import { unconfined } from '../../store/unconfined.ts'
import { asWritable } from '../../store/writer.ts'
import { type Location, resolveLocation } from '../../tree/location.ts'
import { listOrigins } from '../source-versions.ts'
import { hasToken } from './owner.ts'
import type { Survey, Target } from './target.ts'

/** Number of objects checked concurrently. */
const AT_ONCE = 16

/**
 * Compares two locations by identity, not by name. Files and folders on this machine are compared by device
 * and inode, through links and mounts. Other locations are compared if one store contains both.
 * @throws InvalidArgumentError if one is the other or lies in it
 */
export async function checkApart(source: StoredAt, target: StoredAt): Promise<void> {
  const [from, to] = [folderOrFile(source.path), folderOrFile(target.path)]
  if (source.store.files?.localPath !== undefined && target.store.files?.localPath !== undefined) {
    const [own, other] = await Promise.all([identities(from), identities(to)])
    if (own.self !== undefined && other.all.has(own.self)) throw notApart(source, target)
    if (other.self !== undefined && own.all.has(other.self)) throw notApart(source, target)
  } else if (unconfined(source.store) === unconfined(target.store) && (isWithin(from, to) || isWithin(to, from)))
    throw notApart(source, target)
}

/**
 * Compares the locations that are read with the one that is replaced. See {@link checkApart}.
 * @throws InvalidArgumentError
 */
export async function checkSources(sources: readonly Location[], target: StoredAt): Promise<void> {
  for (const source of sources) {
    const found = await resolveLocation(source)
    try {
      await checkApart(found, target)
    } finally {
      if (!isStored(source)) await found.store.close?.()
    }
  }
}

/** Whether a location includes its store, which the caller closes. */
export const isStored = (place: Location): boolean => typeof place === 'object' && place !== null && 'store' in place

/**
 * Returns the places that arrays are read from. For references, these are also the places that they point
 * into.
 */
export async function placesRead(arrays: readonly { readonly array: DiskArray }[]): Promise<StoredAt[]> {
  const { ReferenceStore } = await import('../../adapters/zarr/references.ts')
  const places: StoredAt[] = []
  for (const place of listOrigins(arrays))
    if (place.store instanceof ReferenceStore) for (const target of await place.store.places()) places.push(target)
    else places.push(place)
  return places
}

const folderOrFile = (path: string): string => path.replace(METADATA_PATH, '').replace(/(?<=.)\/$/, '')

const isWithin = (path: string, folder: string): boolean => folder === '' || path === folder || path.startsWith(`${folder}/`)

/** Returns the identity of a path's target, and of all folders that contain it. */
async function identities(path: string): Promise<{ readonly self: string | undefined; readonly all: ReadonlySet<string> }> {
  const fs = fileSystem().promises
  const identity = async (at: string): Promise<string> => {
    const { dev, ino } = await fs.stat(at, { bigint: true })
    return `${dev} ${ino}`
  }
  // A missing folder is created, and `..` then leads out of it.
  const self = await identity(path || '.')
    .catch(() => identity(joinPath('', path) || '.'))
    .catch(() => undefined)
  const all = new Set<string>(self === undefined ? [] : [self])
  for (let at = await existing(path || '.'); ; ) {
    const known = await identity(at).catch(() => undefined)
    if (known !== undefined) all.add(known)
    const above = folderOf(at)
    if (above === at || at === '/') return { self, all }
    at = above
  }
}

/** Returns the folder that contains a path. */
function folderOf(path: string): string {
  const end = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'))
  return withoutEndings(path.slice(0, Math.max(0, end)), '/') || '/'
}

/** Returns the real path of the innermost existing folder of a path. */
async function existing(path: string): Promise<string> {
  for (let at = path; ; at = at.includes('/') ? folderOf(at) : '.') {
    const real = await fileSystem()
      .promises.realpath(at)
      .catch(() => undefined)
    if (real !== undefined) return real
    if (at === '/' || at === '.') return at
  }
}

/**
 * Searches the source for the claim that was just written at the target, and the target for the metadata of
 * the source. This finds identical locations that names do not reveal: buckets with several names, servers
 * that show files of this machine, and folders mounted twice.
 * @param token token of the claim at the target
 * @throws InvalidArgumentError if one location is the other or lies in it
 */
export async function checkApartByMarker(
  source: StoredAt,
  target: Target,
  survey: Survey,
  token: string,
  signal: Signal | undefined,
): Promise<void> {
  const { store, path } = source
  const at = { store: target.store, path: target.place }
  const folder = `${folderOrFile(path)}/`.replace(/^\/$/, '')
  const claim = target.workspace.slice(target.prefix.length)
  const has = async (key: string): Promise<boolean> => (await orNone(hasToken(store, key, token, signal))) === true
  if (await has(`${path.replace(/af$/, '')}${claim}owner.json`)) throw notApart(source, at)
  const documents = new Map<string, { readonly size: number; readonly etag: string }>()
  for (const name of METADATA) {
    const info = await orNone(store.stat(folder + name, { signal }))
    if (info !== undefined) documents.set(name, info)
  }
  if (documents.size === 0) return
  if (store.list !== undefined) {
    const keys = await store.list(folder, { deep: true, signal })
    for (const key of keys.filter((each) => each.endsWith(`/${claim}owner.json`) || each === `${claim}owner.json`))
      if (await has(key)) throw notApart(source, at)
  } else if ((await has(`${folder}${claim}owner.json`)) || (await showsMarker(source, folder, target.store, target.prefix)))
    throw notApart(source, at)
  for (const within of await placesLike(documents, target, survey, signal))
    if (await showsMarker(source, folder, target.store, within)) throw notApart(source, at)
}

/** Returns prefixes of keys at the target with metadata of the same size as those of the source. */
async function placesLike(
  documents: ReadonlyMap<string, { readonly size: number }>,
  { store, prefix }: Target,
  { names }: Survey,
  signal: Signal | undefined,
): Promise<string[]> {
  const [[name, { size }] = ['', { size: 0 }]] = documents
  const found: string[] = []
  const candidates = names.filter((each) => each.endsWith(`/${name}`))
  await forEachLimited(candidates, AT_ONCE, async (each) => {
    const info = await store.stat(prefix + each, { signal })
    if (info?.size === size) found.push(prefix + each.slice(0, -name.length))
  })
  return found
}

/** Whether an object written at one location is visible at another. */
async function showsMarker(source: StoredAt, folder: string, store: Store, prefix: string): Promise<boolean> {
  const name = `zarr.json.0-${randomName()}.tmp`
  await asWritable(store).put(prefix + name, new Uint8Array(1))
  try {
    return (await orNone(source.store.stat(folder + name))) !== undefined
  } finally {
    await asWritable(store).delete(prefix + name)
  }
}

/**
 * Treats failed lookups as "not found", because a server need not answer for objects that nothing refers to.
 */
async function orNone<T>(looking: Promise<T>): Promise<T | undefined> {
  try {
    return await looking
  } catch (error) {
    if (isHyperslabError(error, 'StoreError', 'FormatError', 'NotFoundError', 'TooLargeError', 'UnsupportedError'))
      return undefined
    throw error
  }
}

function notApart(source: StoredAt, target: StoredAt): HyperslabError {
  const text = `the source and the target are the same place, or one lies in the other: '${source.store.describe(source.path)}' is read while this would be written; write to another place`
  return new HyperslabError('InvalidArgumentError', text, { file: target.store.describe(target.path) })
}
