import { randomName } from '../conditions.ts'

declare const process: { readonly pid: number }

/** Returns a unique name beside `path`, which contains the process id. */
export const temporaryName = (path: string): string => `${path}.${process.pid}-${randomName()}.tmp`

/** Returns the name of the file that locks a path. */
export const lockName = (path: string): string => `${path}.lock`

/** Returns the temporary name of a container during an import; `stem` is the final name without `.af`. */
export const draftName = (stem: string): string => `${stem}.hyperslab-import-${randomName()}.af`

/**
 * Names that only this package creates, so that no file of a user matches. They belong to stages and locks
 * that were moved aside, to locks of container files, Zarr metadata and replacements, and to imports.
 */
const TEMPORARY =
  /\.\d+-[0-9a-f]{24}\.tmp$|\.(af|stats)\.lock$|^(zarr\.json|owner\.json|journal-[0-9a-f]{24}\.json|\.z(array|group|attrs|metadata)|\.hyperslab-append)\.lock$|\.hyperslab-import-[0-9a-f]{24}\.((\d+\.)?af|stats)$/

export const isTemporary = (name: string): boolean => TEMPORARY.test(name)
