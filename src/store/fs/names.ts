import { randomName } from '../conditions.ts'

declare const process: { readonly pid: number }

/** A name beside `path` that nobody has and nobody takes for anything; it tells the process that it is of. */
export const temporaryName = (path: string): string => `${path}.${process.pid}-${randomName()}.tmp`

/** The file whose presence locks a path. */
export const lockName = (path: string): string => `${path}.lock`

/**
 * The name of a container that is being imported, before it gets the one that is asked for; `stem` is that
 * without `.af`.
 */
export const draftName = (stem: string): string => `${stem}.hyperslab-import-${randomName()}.af`

/**
 * Names that only this package gives, so that no file of a user is ever taken for one: of stages and of locks
 * that were moved aside, of locks of the files of containers and of Zarr metadata, and of imports.
 */
const TEMPORARY =
  /\.\d+-[0-9a-f]{24}\.tmp$|\.(af|stats)\.lock$|^(zarr\.json|owner\.json|\.z(array|group|attrs|metadata)|\.hyperslab-append)\.lock$|\.hyperslab-import-[0-9a-f]{24}\.((\d+\.)?af|stats)$/

export const isTemporary = (name: string): boolean => TEMPORARY.test(name)
