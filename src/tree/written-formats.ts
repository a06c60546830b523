import { type ForeignOption, findForeign } from './foreign-option.ts'
import { FORMATS, type Format, withoutEnding } from './formats.ts'
import { isRemote } from './not-found.ts'
import type { ZarrLocation } from './open-zarr.ts'
import { labelOf } from './place-names.ts'

/** A format that is written. */
export type WrittenFormat = Format & Required<Pick<Format, 'writing'>>

/**
 * Returns the format that is written under a name; undefined for other names.
 * @example
 * console.log(formatToWrite('out.af')?.noun, formatToWrite('out.csv')) // a container undefined
 */
export function formatToWrite(name: string): WrittenFormat | undefined {
  const own = name.replace(/\/$/, '')
  const format = FORMATS.filter(isWritten).find(({ endings, writing }) => (writing.endings ?? endings)?.test(own))
  if (format === undefined) return undefined
  // A file needs a name of its own, besides the ending.
  return format.writing.isFile && !/[^/\\]$/.test(withoutEnding(name)) ? undefined : format
}

const isWritten = (format: Format | undefined): format is WrittenFormat => format?.writing !== undefined

/** Formats of files and of folders that are written under names that tell none. */
export const [FILE_TO_WRITE, FOLDER_TO_WRITE] = [true, false].map(
  (isFile) => FORMATS.filter(isWritten).find(({ writing }) => writing.isFile === isFile)!,
) as [WrittenFormat, WrittenFormat]

/** Names of the formats that are written. */
export const WRITTEN_FORMATS: readonly string[] = FORMATS.filter(isWritten).map(({ name }) => name)

/**
 * Returns an option of writing that a format does not take.
 * @param place name of the place in the sentence
 */
export const foreignWriteOption = (format: WrittenFormat, options: object, place?: string): ForeignOption | undefined =>
  findForeign(format, options as Readonly<Record<string, unknown>>, ({ writing }) => writing?.options, place)

/** Returns the format that the name of a place implies for writing; undefined for other names. */
export function formatOfTarget(location: ZarrLocation): WrittenFormat | undefined {
  const label = labelOf(location)
  // A URL ends its path with `?` or `#`. Both are ordinary characters of local names.
  return formatToWrite(isRemote(label) ? label.replace(/[?#].*$/s, '') : label)
}
