import { randomName } from './random-name.js'

declare const process: { readonly pid: number }

/** A name beside `path` that nobody has and nobody takes for anything; it tells the process that it is of. */
export const temporaryName = (path: string): string => `${path}.${process.pid}-${randomName()}.tmp`

/** The file whose presence locks a path. */
export const lockName = (path: string): string => `${path}.lock`

/**
 * Names that only this package gives: of stages and of locks that were moved aside, of locks of the files of containers, and of containers that
 * the command had not finished.
 */
const TEMPORARY = /\.\d+-[0-9a-z]+\.tmp$|\.(af|stats)\.lock$|\.unfinished-(\d+-)?[0-9a-z]+\./

export const isTemporary = (name: string): boolean => TEMPORARY.test(name)
