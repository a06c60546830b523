import { findScheme } from '../core/scheme.ts'

/**
 * Returns a location that is valid in every folder: a relative path is resolved against the working folder of
 * the process.
 */
export function absolutePath(location: string): string {
  const isAbsolute = findScheme(location) !== undefined || /^([a-z]:[\\/]|[\\/])/i.test(location)
  const folder = isAbsolute ? undefined : globalThis.process?.cwd?.()
  return folder === undefined ? location : `${folder}/${location.replace(/^(\.\/)+/, '')}`
}
