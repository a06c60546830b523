import { readFileSync } from 'node:fs'

/** The version of the package, from its description beside `dist`. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}
