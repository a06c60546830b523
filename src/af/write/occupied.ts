import { HyperslabError } from '../../core/errors.ts'
import { type ObjectTail, readTail, type Store, type StoredAt } from '../../store/store.ts'
import { asWritable } from '../../store/writer.ts'
import { endsInMagic, FOOTER_MAGIC, payloadBytes, STATS_MAGIC, TRAILER_BYTES } from '../format/footer-trailer.ts'
import { type Paths, SIDECAR } from '../layers/paths.ts'

const STATS_NAME = /[^/\\]\.stats$/i

/**
 * Checks the name of a new object, and the name that links lead to. Readers take a file with the name of a
 * sidecar, or of statistics, for a part of another container. A link that leads nowhere is taken, although
 * there is no object.
 * @throws InvalidArgumentError
 */
export async function checkNewName({ store, path }: StoredAt): Promise<void> {
  for (const name of new Set([path, (await store.files?.realPath(path)) ?? path])) {
    // Some file systems ignore the case of names.
    const isSidecar = SIDECAR.test(name.toLowerCase())
    if (!isSidecar && !STATS_NAME.test(name)) continue
    const text = isSidecar
      ? 'this name is that of a sidecar of another container; choose one without a number before .af'
      : 'this name is that of the statistics of a container; choose one that does not end in .stats'
    throw new HyperslabError('InvalidArgumentError', text, { file: store.describe(path), actual: name })
  }
  if ((await store.files?.isLink(path)) === true && (await isMissing(store, path))) {
    const text = 'this is a symbolic link that leads nowhere; remove it, or write to the place that it names'
    throw new HyperslabError('InvalidArgumentError', text, { file: store.describe(path) })
  }
}

async function isMissing(store: Store, path: string): Promise<boolean> {
  try {
    return (await store.stat(path)) === undefined
  } catch {
    // Something is there: a folder, or what the next access reports.
    return false
  }
}

/** Whether a file ends as containers and their sidecars do. */
export const isContainerEnd = ({ bytes, size }: ObjectTail): boolean => payloadBytes(bytes, FOOTER_MAGIC, size) !== undefined

/**
 * Checks that a file with the name of statistics contains statistics.
 * @returns whether there is such a file
 * @throws AlreadyExistsError for a file of another kind
 */
export async function checkStats(store: Store, { stats }: Paths): Promise<boolean> {
  const end = await readTail(store, stats, TRAILER_BYTES)
  if (end !== undefined && end.size > 0 && !endsInMagic(end.bytes, STATS_MAGIC))
    throw foreignFile(store.describe(stats), 'it has no statistics of a container')
  return end !== undefined
}

/**
 * Removes the statistics of an earlier container.
 * @throws AlreadyExistsError as {@link checkStats}
 */
export async function removeStats(store: Store, paths: Paths): Promise<void> {
  if (await checkStats(store, paths)) await asWritable(store).delete(paths.stats)
}

/** Returns the error for a file that a container would replace or remove, although it is no part of one. */
export function foreignFile(file: string, why: string): HyperslabError {
  const text = `the file has a name that belongs to the container, but ${why}, so it is not replaced; move it elsewhere`
  return new HyperslabError('AlreadyExistsError', text, { file })
}
