import { checkApart } from '../copy/replace/apart.ts'
import { writeFile } from '../copy/replace/file.ts'
import { HyperslabError } from '../core/errors.ts'
import type { StoredAt } from '../store/store.ts'
import { resolveLocation } from '../tree/location.ts'

/** Number of bytes that tell text from other files. */
const START_BYTES = 512

/**
 * Writes a file of text in pieces. The file appears when it is complete.
 * @param sources places that are read meanwhile; the target must not be one of them
 * @returns size in bytes
 * @throws AlreadyExistsError unless `overwrite` is set; UnsupportedError if it would replace a file that is
 *   no text; ReadOnlyError; errors of producing the pieces
 */
export async function writeNewFile(
  file: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { overwrite, sources }: { readonly overwrite: boolean; readonly sources: readonly string[] },
): Promise<number> {
  const place = await resolveLocation(file)
  try {
    for (const source of sources) await checkApart(await resolveLocation(source), place)
    if (overwrite) await checkText(place)
    return await writeFile(place, { overwrite }, async (stage) => {
      for await (const piece of pieces) await stage.append(piece)
    })
  } finally {
    await place.store.close?.()
  }
}

/** @throws UnsupportedError for a file of another kind, which the user hardly meant to replace */
async function checkText({ store, path }: StoredAt): Promise<void> {
  const info = await store.stat(path)
  const start = info && (await store.getRange(path, 0, Math.min(info.size, START_BYTES), { ifMatch: info.etag }))
  if (!start?.includes(0)) return
  const text = '--overwrite replaces files of text, and this one is of another kind; write to another name, or remove it first'
  throw new HyperslabError('UnsupportedError', text, { file: store.describe(path) })
}
