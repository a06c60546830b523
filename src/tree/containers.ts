import { ArrayFile } from '../af/file.ts'
import type { ArrayTypes, CreateOptions, OpenOptions, Untyped } from '../af/layers/file-options.ts'
import type { Verification, VerifyOptions } from '../af/verify/verify.ts'
import { isHyperslabError } from '../core/errors.ts'
import { checkUrlOptions, type Location, resolveLocation } from './location.ts'

/**
 * Opens a container.
 * @throws NotFoundError; FormatError if it is not a container, or is damaged; UnsupportedError;
 *   UnknownArrayError or InvalidArgumentError if `arrays` names a missing array, or a wrong type or rank. Of
 *   another format the error names `openDataset` and `openTree`, which open it
 * @example
 * await using file = await open('climate.af')
 * console.log(file.arrays()) // [ 'tas' ]
 * console.log(await file.array('tas', 'float32', 3).get([0, 0, 0])) // 280
 */
export async function open<const A extends ArrayTypes = Untyped>(
  location: Location,
  options?: OpenOptions<A>,
): Promise<ArrayFile<A>> {
  await checkUrlOptions('open', location, Object(options))
  const { store, path } = await resolveLocation(location, Object(options))
  try {
    return await ArrayFile.open(store, path, options)
  } catch (error) {
    // Errors of the store say nothing about the format, and no module loads while too many files are open.
    if (!isHyperslabError(error, 'FormatError', 'NotFoundError', 'InvalidArgumentError')) throw error
    const reason = await (await import('./other-format.ts')).reasonOfContainer({ store, path }, error)
    if (Object(location).store !== store) await store.close?.()
    throw reason
  }
}

/**
 * Creates an empty container.
 * @throws AlreadyExistsError unless `overwrite` is set; ReadOnlyError; InvalidArgumentError for a name that
 *   does not end in `.af`
 * @example
 * await using file = await create('year.af', { codec: 'lz4' })
 * file.createArray('tas', { dtype: 'float32', shape: [12, 4, 8], dimensionNames: ['time', 'lat', 'lon'] })
 * await file.flush()
 * console.log(file.arrays()) // [ 'tas' ]
 */
export async function create(location: Location, options?: CreateOptions): Promise<ArrayFile> {
  const { store, path } = await resolveLocation(location)
  return ArrayFile.create(store, path, options)
}

/**
 * Checks a container, even if it does not open: as `verify` of {@link ArrayFile}, with the damage of any of
 * its files among the findings.
 * @throws NotFoundError if it does not exist; ConflictError if another writer compacts it meanwhile; errors
 *   of the store
 * @example
 * const { ok, checked } = await verify('climate.af')
 * console.log(ok) // true
 * console.log(checked.chunks) // 4
 */
export async function verify(
  location: Location,
  options: Pick<OpenOptions, 'codecs' | 'limits' | 'layer' | 'notFound'> & VerifyOptions = {},
): Promise<Verification> {
  await checkUrlOptions('verify', location, Object(options))
  const [{ store, path }, { verifyPath }] = await Promise.all([
    resolveLocation(location, Object(options)),
    import('../af/verify/verify.ts'),
  ])
  try {
    return await verifyPath(store, path, options)
  } finally {
    await store.close?.()
  }
}
