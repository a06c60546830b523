import { rethrowWithin } from '../../core/errors.ts'
import { member } from '../../core/member.ts'
import { isObject } from './document.ts'
import type { ZarrArrayMetadata } from './metadata.ts'
import { parseArrayV2 } from './v2.ts'
import { parseArrayV3 } from './v3.ts'

/** Stored metadata of an array as JSON: `zarr.json`, or `.zarray` with an optional `.zattrs`. */
export type ArrayDocument =
  | { readonly version: 3; readonly metadata: unknown }
  | { readonly version: 2; readonly metadata: unknown; readonly attributes: unknown }

/** Whether elements of an array contain several values, as complex numbers and structures do. */
export function hasElements({ metadata }: ArrayDocument): boolean {
  if (!isObject(metadata)) return false
  const type = member(metadata, 'data_type') ?? member(metadata, 'dtype')
  return Array.isArray(type) || /^([<>]c|complex|struct)/.test(String(isObject(type) ? member(type, 'name') : type))
}

/**
 * Parses the metadata of an array.
 * @param where file and array, for errors
 * @throws FormatError for metadata that violate the format; UnsupportedError for those that cannot be read
 *   here, with the reason
 */
export function parseArray(stored: ArrayDocument, where: { readonly file?: string; readonly array?: string }): ZarrArrayMetadata {
  try {
    return stored.version === 3 ? parseArrayV3(stored.metadata) : parseArrayV2(stored.metadata, stored.attributes)
  } catch (error) {
    return rethrowWithin(error, where)
  }
}
