import { HyperslabError } from '../core/errors.ts'
import { resolveLocation } from '../runtime/location.ts'

/**
 * Writes a file piece by piece, which appears when it is complete.
 * @returns its size in bytes
 * @throws AlreadyExistsError unless `overwrite` is set; ReadOnlyError; what making the pieces throws
 */
export async function writeNewFile(
  file: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  overwrite: boolean,
): Promise<number> {
  const { store, path } = await resolveLocation(file)
  if (store.stage === undefined) throw new HyperslabError('ReadOnlyError', 'nothing can be written there', { file })
  if (!overwrite && (await store.stat(path)) !== undefined)
    throw new HyperslabError('AlreadyExistsError', 'the file exists; --overwrite replaces it', { file })
  const stage = await store.stage(path)
  try {
    for await (const piece of pieces) await stage.append(piece)
    await stage.publish(path, new Uint8Array(0), { ifAbsent: !overwrite })
    return stage.size
  } finally {
    await stage.discard()
    await store.close?.()
  }
}
