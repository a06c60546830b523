import { TRAILER_BYTES } from '../../af/format/footer-trailer.ts'
import { refuseClaim } from '../../af/format/trailer-faults.ts'
import { HyperslabError } from '../../core/errors.ts'
import type { Signal } from '../../core/signal.ts'
import type { StoredAt } from '../../store/store.ts'
import { readTail, type Stage } from '../../store/store.ts'
import { isContainerName } from '../../tree/formats.ts'

/** Options for writing one object. */
export interface WriteFileOptions {
  readonly overwrite: boolean
  readonly signal?: Signal | undefined
}

/**
 * Writes one object, which appears when it is complete. If several processes replace it at the same time, one
 * succeeds.
 * @throws AlreadyExistsError unless `overwrite` is set; ReadOnlyError; UnsupportedError for stores without
 *   conditional replacement; ConflictError if another process has replaced it meanwhile
 */
export async function writeFile(
  { store, path }: StoredAt,
  { overwrite, signal }: WriteFileOptions,
  write: (stage: Stage) => Promise<void>,
): Promise<number> {
  const file = store.describe(path)
  if (store.stage === undefined) throw new HyperslabError('ReadOnlyError', 'nothing can be written there', { file })
  const there = await store.stat(path, { signal })
  if (there !== undefined && !overwrite)
    throw new HyperslabError('AlreadyExistsError', 'the file exists; --overwrite replaces it', { file })
  if (there !== undefined) {
    await checkReplacing({ store, path })
    const end = isContainerName(path) ? await readTail(store, path, TRAILER_BYTES, { signal }) : undefined
    if (end !== undefined) refuseClaim(end.bytes)
  }
  await store.makeFolder?.(path)
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

/** @throws UnsupportedError for stores without conditional replacement */
export async function checkReplacing({ store, path }: StoredAt): Promise<void> {
  const can = await store.conditionalWrites?.(path)
  if (can?.replace === true) return
  const why = can?.reason ?? 'the store does not replace objects on condition of their version'
  const text = `what is there is not replaced, since two processes could do so at once: ${why}; write to another place`
  throw new HyperslabError('UnsupportedError', text, { file: store.describe(path) })
}
