import { HyperslabError } from '../core/errors.js'
import type { Store } from '../store/store.js'
import { publishLayer } from './commit.js'
import { Dictionary } from './dictionary.js'
import type { Paths } from './paths.js'
import type { WorkingCopyOptions } from './working-copy.js'
import { newPacker } from './writer.js'

/**
 * Publishes an empty base.
 * @throws AlreadyExistsError when there is a container, sidecars alone included, and `overwrite` is not set
 */
export async function createContainer(
  store: Store,
  paths: Paths,
  options: WorkingCopyOptions,
  overwrite: boolean,
): Promise<void> {
  const packer = newPacker(store, paths, options)
  await clearPlace(store, paths, overwrite)
  try {
    const contents = { number: 0, base: paths.base, arrays: [], deleted: [], dictionary: new Dictionary() }
    await publishLayer(store, paths.base, contents, packer, { ifAbsent: !overwrite, extras: options.extras })
  } finally {
    await packer.discard()
  }
}

/**
 * Removes what would lie over a new base.
 * @throws AlreadyExistsError when there is a container, sidecars alone included, and `overwrite` is not set
 */
export async function clearPlace(store: Store, paths: Paths, overwrite: boolean): Promise<void> {
  const sidecars = await paths.sidecars(store)
  const exists = (await store.stat(paths.base)) !== undefined
  if (!overwrite && (exists || sidecars.length > 0)) {
    const what = exists
      ? 'the file exists already'
      : `sidecars of an earlier file exist (${sidecars.map((n) => paths.sidecar(n)).join(', ')})`
    throw new HyperslabError('AlreadyExistsError', `${what}; pass overwrite to replace it`, { actual: sidecars })
  }
  // Old sidecars would lay themselves over the new base.
  for (const number of sidecars) await store.delete?.(paths.sidecar(number))
  await store.delete?.(paths.stats)
}
