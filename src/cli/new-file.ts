import { checkApart } from '../copy/replace/apart.ts'
import { writeFile } from '../copy/replace/file.ts'
import { resolveLocation } from '../tree/location.ts'

/** Options for writing a file of the command. */
export interface NewFileOptions {
  /** Kind of the file. With `overwrite`, it replaces files of this kind. */
  readonly kind: 'text' | 'references' | 'png'
  readonly overwrite: boolean
  /** Places that are read meanwhile; the target must not be one of them. */
  readonly sources: readonly string[]
}

/**
 * Writes a file in pieces. The file appears when it is complete. Every command that writes a single file
 * other than a container writes it through this function.
 * @returns size in bytes
 * @throws AlreadyExistsError unless `overwrite` is set, and for a file of another kind; InvalidArgumentError
 *   for a source, and for a place that belongs to a container or a Zarr store; ReadOnlyError; errors of
 *   producing the pieces
 */
export async function writeNewFile(
  file: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { kind, overwrite, sources }: NewFileOptions,
): Promise<number> {
  const place = await resolveLocation(file)
  try {
    for (const source of sources) await checkApart(await resolveLocation(source), place)
    return await writeFile(place, { overwrite, kind: async () => kind }, async (stage) => {
      for await (const piece of pieces) await stage.append(piece)
    })
  } finally {
    await place.store.close?.()
  }
}
