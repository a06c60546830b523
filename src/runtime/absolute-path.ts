/**
 * The same location wherever it is resolved: a relative path is completed by the folder the process runs in.
 */
export function absolutePath(location: string): string {
  const isAbsolute = /^([a-z][a-z0-9+.-]+:\/\/|[a-z]:[\\/]|[\\/])/i.test(location)
  const folder = isAbsolute ? undefined : globalThis.process?.cwd?.()
  return folder === undefined ? location : `${folder}/${location.replace(/^(\.\/)+/, '')}`
}
