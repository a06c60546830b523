import type { Location } from '../tree/location.ts'
import type { ImmutableSource, WriteImmutableOptions } from './immutable-source.ts'
import type { ImportResult } from './import-arrays.ts'

/**
 * Writes a file of footer version 6, which the crate array-format reads from 0.15 on: a single file that is
 * never changed. It appears when it is complete.
 * @param source a container, whose chunks and attributes are copied as they are stored; a dataset; or arrays
 *   by name, with options that replace their properties
 * @throws AlreadyExistsError if the file exists, unless `overwrite` is set, and if files of a container with
 *   layers lie beside it; InvalidArgumentError; UnsupportedError for arrays that the version cannot hold;
 *   ConflictError if another process has written the file meanwhile
 * @example
 * await using file = await open('climate.af')
 * const place = { store: new MemoryStore(), path: 'copy.af' }
 * const { arrays } = await writeImmutable({ tas: file.array('tas') }, place, { codec: 'zstd' })
 * console.log(arrays) // [ 'tas' ]
 * const copy = await open(place)
 * console.log(copy.layers()[0]?.version) // 6
 */
export async function writeImmutable(
  source: ImmutableSource,
  location: Location,
  options?: WriteImmutableOptions,
): Promise<ImportResult> {
  return (await import('./immutable-source.ts')).writeSource(source, location, options)
}
