import { GroupsAbove } from '../../adapters/zarr/write/above.ts'
import { checkNewName } from '../../af/write/occupied.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import type { Stage, StoredAt } from '../../store/store.ts'
import { isWritable } from '../../store/writable.ts'
import { findConditionalWrites } from '../../store/writer.ts'
import { type ContentKind, checkSameKind } from './content-kind.ts'

/** Options for writing one object. */
export interface WriteFileOptions {
  /** Whether to replace an existing file of the same kind. */
  readonly overwrite: boolean
  /** Returns the kind of the new file. */
  readonly kind: () => Promise<ContentKind>
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

/**
 * Writes one object, which appears when it is complete. If several processes replace it at the same time, one
 * succeeds.
 * @throws AlreadyExistsError unless `overwrite` is set, and for a file of another kind; ReadOnlyError;
 *   UnsupportedError for stores without conditional replacement; ConflictError if another process has
 *   replaced it meanwhile; errors of {@link checkFileTarget}
 */
export async function writeFile(
  { store, path }: StoredAt,
  { overwrite, kind, signal }: WriteFileOptions,
  write: (stage: Stage) => Promise<void>,
): Promise<number> {
  const file = store.describe(path)
  if (!isWritable(store)) throw new HyperslabError('ReadOnlyError', 'nothing can be written there', { file })
  await checkFileTarget({ store, path })
  const there = await store.stat(path, { signal })
  if (there !== undefined && !overwrite)
    throw new HyperslabError('AlreadyExistsError', 'the file exists; `overwrite` replaces it', { file })
  if (there !== undefined) {
    await checkSameKind({ store, path }, there, kind, signal)
    await checkReplacing({ store, path })
  }
  await store.files?.makeFolder(path)
  const stage = await store.stage(path)
  try {
    await write(stage)
    signal?.throwIfAborted()
    const condition = there === undefined ? { ifAbsent: true } : { ifAbsent: false, ifMatch: there.etag }
    await stage.publish(path, new Uint8Array(0), condition)
    return stage.size
  } finally {
    await stage.discard()
  }
}

/**
 * Checks that a place may hold a file of its own, whether or not there is one: its name is not that of a part
 * of a container, and it does not lie in a Zarr store, whose objects have such names.
 * @throws InvalidArgumentError
 */
export async function checkFileTarget({ store, path }: StoredAt): Promise<void> {
  await checkNewName({ store, path })
  const above = await GroupsAbove.find({ store, root: path })
  above.checkFile(store.describe(path))
}

/** @throws UnsupportedError for stores without conditional replacement */
export async function checkReplacing({ store, path }: StoredAt): Promise<void> {
  const can = await findConditionalWrites(store, path)
  if (can?.replace === true) return
  const why = can?.reason ?? 'the store does not replace objects on condition of their version'
  const text = `what is there is not replaced, since two processes could do so at once: ${why}; write to another place`
  throw new HyperslabError('UnsupportedError', text, { file: store.describe(path) })
}
