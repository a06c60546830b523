import { type Checks, checkOptions } from '../core/options.ts'
import { type Location, resolveLocation } from '../tree/location.ts'
import { checkApart } from './replace/apart.ts'
import { writeFile } from './replace/file.ts'

/** Options of `writeNewFile`. */
export interface NewFileOptions {
  /** Kind of the file. With `overwrite`, it replaces files of this kind alone. */
  readonly kind: 'text' | 'references' | 'png'
  /** Whether to replace an existing file. Default: false. */
  readonly overwrite?: boolean
  /** Places that are read meanwhile; the target must not be one of them. */
  readonly sources?: readonly Location[]
}

const CHECKS: Checks<NewFileOptions> = { kind: ['text', 'references', 'png'], overwrite: 'boolean', sources: 'list' }

/**
 * Writes one file in pieces: a table, references or a picture. The file appears when it is complete.
 * @returns size in bytes
 * @throws AlreadyExistsError unless `overwrite` is set, and for a file of another kind; InvalidArgumentError
 *   for a source, and for a place that belongs to a container or a Zarr store; ReadOnlyError; errors of
 *   producing the pieces
 * @example
 * const place = { store: new MemoryStore(), path: 'tas.csv' }
 * const bytes = await writeNewFile(place, [new TextEncoder().encode('time,tas\n')], { kind: 'text' })
 * console.log(bytes) // 9
 */
export async function writeNewFile(
  location: Location,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: NewFileOptions,
): Promise<number> {
  checkOptions('writeNewFile', options, CHECKS)
  const { kind, overwrite = false, sources = [] } = options
  const place = await resolveLocation(location)
  try {
    for (const source of sources) await checkApart(await resolveLocation(source), place)
    return await writeFile(place, { overwrite, kind: async () => kind }, async (stage) => {
      for await (const piece of pieces) await stage.append(piece)
    })
  } finally {
    if (Object(location).store !== place.store) await place.store.close?.()
  }
}
