import { checkApart } from '../copy/replace/apart.ts'
import { writeFile } from '../copy/replace/file.ts'
import { resolveLocation } from '../tree/location.ts'

/**
 * Writes a file in pieces. The file appears when it is complete.
 * @param sources places that are read meanwhile; the target must not be one of them
 * @returns size in bytes
 * @throws AlreadyExistsError unless `overwrite` is set; ReadOnlyError; errors of producing the pieces
 */
export async function writeNewFile(
  file: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { overwrite, sources }: { readonly overwrite: boolean; readonly sources: readonly string[] },
): Promise<number> {
  const place = await resolveLocation(file)
  try {
    for (const source of sources) await checkApart(await resolveLocation(source), place)
    return await writeFile(place, { overwrite }, async (stage) => {
      for await (const piece of pieces) await stage.append(piece)
    })
  } finally {
    await place.store.close?.()
  }
}
