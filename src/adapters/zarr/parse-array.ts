import { rethrowWithin } from '../../core/errors.ts'
import type { ZarrArrayMetadata } from './metadata.ts'
import { parseArrayV2 } from './v2.ts'
import { parseArrayV3 } from './v3.ts'

/**
 * What is stored of an array, as JSON: `zarr.json`, or `.zarray` and, where there are attributes, `.zattrs`.
 */
export type ArrayDocument =
  | { readonly version: 3; readonly metadata: unknown }
  | { readonly version: 2; readonly metadata: unknown; readonly attributes: unknown }

/**
 * What the metadata of an array say.
 * @param where the file and array that errors name
 * @throws FormatError for what the format does not allow; UnsupportedError, which names it, for what nobody
 *   here reads
 */
export function parseArray(stored: ArrayDocument, where: { readonly file: string; readonly array?: string }): ZarrArrayMetadata {
  try {
    return stored.version === 3 ? parseArrayV3(stored.metadata) : parseArrayV2(stored.metadata, stored.attributes)
  } catch (error) {
    return rethrowWithin(error, where)
  }
}
