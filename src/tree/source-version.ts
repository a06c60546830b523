import { ArrayFile } from '../af/file.ts'
import { Paths } from '../af/layers/paths.ts'
import { joinForeignKey } from '../core/foreign-key.ts'
import { forEachLimited } from '../core/limiter.ts'
import type { Signal } from '../core/signal.ts'
import { withoutEndings } from '../core/text.ts'
import { formatIn, METADATA, METADATA_PATH, type StoredAt } from './formats.ts'
import { type NotFoundOptions, resolveLocation } from './location.ts'

/** Number of objects that are requested at once. */
const AT_ONCE = 16

/** Options for reading the version of a location. */
export interface VersionOptions extends NotFoundOptions {
  readonly signal?: Signal | undefined
}

/**
 * Returns the version of a location as text that changes with its content: the sizes and ETags of its files.
 * For a Zarr store it covers only the metadata, because there may be millions of chunks.
 * @param paths of the arrays and groups of a Zarr store, including the groups above them
 */
export async function sourceVersion(
  location: string,
  paths: Iterable<string>,
  { signal, notFound }: VersionOptions = {},
): Promise<string> {
  const place = await resolveLocation(location, { notFound })
  const { store, path } = place
  try {
    const format = await formatIn(place, signal)
    const keys = format === 'container' ? await filesOf(place) : format === 'zarr' ? documentsOf(place, paths) : [path]
    const found = new Map<string, string>()
    await forEachLimited(keys, AT_ONCE, async (key) => {
      const info = await store.stat(key, { signal })
      if (info !== undefined) found.set(key.slice(path.length), `${info.size} ${info.etag}`)
    })
    return JSON.stringify([format, [...found].sort(([a], [b]) => (a < b ? -1 : 1))])
  } finally {
    await store.close?.()
  }
}

async function filesOf({ store, path }: StoredAt): Promise<string[]> {
  const file = await ArrayFile.open(store, path)
  const paths = new Paths(path)
  return file.layers().map(({ number }) => (number === 0 ? path : paths.sidecar(number)))
}

function documentsOf({ store, path }: StoredAt, nodes: Iterable<string>): string[] {
  const root = withoutEndings(path.replace(METADATA_PATH, ''), '/')
  const folders = new Set([...nodes, ''])
  return [...folders].flatMap((node) =>
    METADATA.map((name) => joinForeignKey(root, node === '' ? name : `${node}/${name}`, store)),
  )
}
