import { HyperslabError, isHyperslabError } from '../../../core/errors.ts'
import { METADATA_BYTES, parseJson, writeJson } from '../../../core/json.ts'
import { member } from '../../../core/member.ts'
import type { Signal } from '../../../core/signal.ts'
import { SingleFlight } from '../../../core/single-flight.ts'
import type { ObjectInfo } from '../../../store/store.ts'
import { refuseUnproved } from '../../../store/unproved.ts'
import { readWhole } from '../../../store/whole.ts'
import { asObject, type JsonObject } from '../document.ts'
import { parseStored } from '../elements.ts'
import type { ZarrArrayMetadata } from '../metadata.ts'
import type { OpenedStore } from '../opened.ts'
import { checkNotReplacing } from '../replacing.ts'

/** An open array. */
interface Index {
  readonly metadata: ZarrArrayMetadata
  readonly opened: Pick<OpenedStore, 'store' | 'options'>
  /** Path of the array in the store; '' for the root. */
  readonly path: string
  readonly label: { readonly file: string; readonly array: string }
}

/** Version of the stored metadata that had the layout of an array. */
const seen = new WeakMap<Index, string>()
/** Checks under way. Concurrent writes share one. */
const checks = new SingleFlight<Index, void>()

/**
 * Checks, with one request, that the chunks of an array are still stored as they were when it was opened.
 * Another process may have replaced the array. Chunks of its old layout would then be read as those of the
 * new one. The shape and the attributes may have changed.
 * @throws ConflictError if the array was replaced; UnknownArrayError if it was removed
 */
export function checkStored(index: Index, signal: Signal | undefined): Promise<void> {
  return checks.share(index, (shared) => check(index, shared), signal)
}

async function check(index: Index, signal: Signal | undefined): Promise<void> {
  const { store } = index.opened
  // Files have no request that returns a version with its bytes. Their version alone takes one system call.
  const info = store.get === undefined ? await store.stat(keyOf(index), { signal }) : undefined
  if (info === undefined || info.etag !== seen.get(index)) await readStored(index, signal)
}

/**
 * Reads the metadata object of an array, and checks its layout; see {@link checkStored}.
 * @returns the content of `zarr.json` or `.zarray`
 */
export async function readStored(index: Index, signal?: Signal): Promise<JsonObject> {
  const { opened, label, metadata } = index
  const { metadataBytes: maxBytes = METADATA_BYTES } = opened.options
  const key = keyOf(index)
  const found = await readWhole(opened.store, key, { maxBytes, signal, onUnproved: refuseUnproved })
  if (found === undefined) {
    const other = keyOf(index, metadata.version === 3 ? '.zarray' : 'zarr.json')
    const isReplaced = (await opened.store.stat(other, { signal })) !== undefined
    if (isReplaced) throw replaced(index, 'its metadata have another version')
    throw new HyperslabError('UnknownArrayError', 'its metadata were removed', label)
  }
  const content = asObject(parseJson(found.bytes, key, { maxBytes, limit: 'limits.metadataBytes' }), key)
  checkLayout(index, content)
  remember(index, found)
  return content
}

const remember = (index: Index, { etag }: ObjectInfo): void => void seen.set(index, etag)

/**
 * Compares the layout of an array with stored metadata.
 * @param content of `zarr.json` or `.zarray`
 * @throws ConflictError
 */
export function checkLayout(index: Index, content: JsonObject): void {
  const { metadata, label } = index
  checkNotReplacing(content, label.file)
  if (metadata.version === 3 && member(content, 'node_type') === 'group') throw replaced(index, 'it is a group now')
  const [known, now] = [layoutOf(metadata), layoutOf(parsed(index, content))]
  const part = Object.keys(known).find((name) => known[name] !== now[name])
  if (part !== undefined) throw replaced(index, `its ${part} changed from ${known[part]} to ${now[part]}`)
}

function parsed(index: Index, metadata: JsonObject): ZarrArrayMetadata {
  const { version } = index.metadata
  try {
    return parseStored(version === 3 ? { version, metadata } : { version, metadata, attributes: {} }, index.label)
  } catch (error) {
    if (!isHyperslabError(error, 'FormatError', 'UnsupportedError', 'CodecError')) throw error
    throw replaced(index, `its metadata cannot be read: ${error.message}`)
  }
}

/** Returns the parts of the metadata that chunks are written by, as texts. */
function layoutOf({ version, shape, chunks, type, codecs, fillValue, fillValues, chunkKey, dimensionNames }: ZarrArrayMetadata) {
  const parts: Record<string, string> = {
    'number of axes': String(shape.length),
    type: writeJson(type),
    chunks: writeJson(chunks),
    codecs: writeJson(codecs),
    'fill value': (fillValues ?? [fillValue]).map((value) => (Object.is(value, -0) ? '-0' : String(value))).join(),
    'chunk names': chunkKey(shape.map((_, axis) => axis)),
  }
  // In version 2, names of dimensions are attributes, which are another object.
  return version === 3 ? { ...parts, dimensions: writeJson(dimensionNames ?? null) } : parts
}

function keyOf({ path, metadata }: Index, name = metadata.version === 3 ? 'zarr.json' : '.zarray'): string {
  return path === '' ? name : `${path}/${name}`
}

function replaced({ label }: Index, why: string): HyperslabError {
  const text = `another writer has replaced the array since it was opened: ${why}; nothing was written, open it again`
  return new HyperslabError('ConflictError', text, label)
}
