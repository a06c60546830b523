import type { ReferenceStore } from '../adapters/zarr/references.ts'
import { HyperslabError } from '../core/errors.ts'
import { parseJson, writeJson } from '../core/json.ts'
import { pathsOfFileUrl } from '../core/url-names.ts'
import { joinUnresolved } from '../store/fs/paths.ts'
import type { Store, StoredAt } from '../store/store.ts'
import { readWhole } from '../store/whole.ts'
import { storeOfReferences } from './reference-store.ts'

/**
 * Returns a store of the objects that references describe, for serving. It contains only the referenced
 * bytes, and consolidated metadata, because pages cannot list.
 * @throws UnsupportedError for references that are not a local file, or lead out of their folder
 */
export async function servedReferences(place: StoredAt): Promise<Store> {
  const { store, path } = place
  if (store.files?.localPath === undefined)
    refuse(place, 'references that are no file of this machine are not served: give their address to the page itself')
  return consolidated(await storeOfReferences(store, path, { checkReferences: checkTargets }))
}

function refuse({ store, path }: StoredAt, text: string, actual?: string): never {
  throw new HyperslabError('UnsupportedError', text, { file: store.describe(path), actual })
}

/**
 * Checks that all references lead to their own folder or below it. Every user who reaches a server can read
 * its content, and references may come from a stranger. The server must not fetch objects elsewhere for them.
 * @throws UnsupportedError
 */
export async function checkTargets(references: ReferenceStore, place: StoredAt): Promise<void> {
  const { store } = place
  const folder = store.files?.localPath === undefined ? undefined : await store.files.realPath(folderOf(place) || '.')
  for (const url of references.targets())
    if (folder === undefined) checkBelow(place, url)
    else await checkBeside(place, folder, url)
}

/** Returns the folder of a path, with the separator at its end. */
const folderOf = ({ store, path }: StoredAt): string =>
  path.slice(0, Math.max(path.lastIndexOf('/'), store.files?.windowsNames ? path.lastIndexOf('\\') : -1) + 1)

const FOLLOWED = '`followLinks` serves the arrays all the same'

/** Checks references that are an object of a server or a bucket. */
function checkBelow(place: StoredAt, url: string): void {
  const base = place.store.describe(place.path)
  const folder = base.slice(0, base.lastIndexOf('/') + 1)
  const isUrl = URL.canParse(url, base) && URL.canParse('.', folder)
  if (isUrl && new URL(url, base).href.startsWith(new URL('.', folder).href)) return
  refuse(place, `references are served to objects of their own folder, and this one is elsewhere: ${url}; ${FOLLOWED}`, url)
}

async function checkBeside(place: StoredAt, folder: string, url: string): Promise<void> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase()
  if (scheme !== undefined && scheme !== 'file')
    refuse(place, `references to other places are not served: ${url}; ${FOLLOWED}`, url)
  const below = /[/\\]$/.test(folder) ? folder : `${folder}${place.store.files?.windowsNames ? '\\' : '/'}`
  // A path of a URL may be meant as it is written, or decoded.
  for (const path of scheme === 'file' ? pathsOfFileUrl(url) : [joinUnresolved(folder, url)]) {
    const real = await place.store.files!.realPath(path)
    if (real !== folder && !real.startsWith(below))
      refuse(place, `references are served to files of their own folder, and this one is elsewhere: ${url}; ${FOLLOWED}`, url)
  }
}

const METADATA = /(^|\/)\.z(array|group|attrs)$/
const CONSOLIDATED = '.zmetadata'

/** Returns the store of references, with consolidated metadata. */
async function consolidated(references: ReferenceStore): Promise<Store> {
  const keys = await references.list('')
  const known = keys.includes(CONSOLIDATED) ? undefined : await consolidate(references, keys)
  const isKnown = (key: string): key is typeof CONSOLIDATED => known !== undefined && key === CONSOLIDATED
  return {
    describe: (key) => references.describe(key),
    stat: async (key, options) => (isKnown(key) ? { size: known!.length, etag: CONSOLIDATED } : references.stat(key, options)),
    getRange: async (key, offset, length, options) =>
      isKnown(key) ? known!.slice(offset, offset + length) : references.getRange(key, offset, length, options),
    close: () => references.close(),
  }
}

async function consolidate(references: ReferenceStore, keys: readonly string[]): Promise<Uint8Array> {
  const metadata: [string, unknown][] = []
  for (const key of keys.filter((each) => METADATA.test(each))) {
    const found = await readWhole(references, key, {})
    metadata.push([key, parseJson(found!.bytes, key)])
  }
  return new TextEncoder().encode(writeJson({ zarr_consolidated_format: 1, metadata: Object.fromEntries(metadata) }))
}
