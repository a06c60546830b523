/** Joins a relative path to that of another file, and resolves `.` and `..` where possible. */
export function joinPath(home: string, given: string): string {
  const parts: string[] = home.split('/').slice(0, -1)
  for (const part of given.split('/')) {
    if (part === '.') continue
    const last = parts.at(-1)
    if (part === '..' && last !== undefined && last !== '..' && last !== '') parts.pop()
    else parts.push(part)
  }
  return parts.join('/')
}
