import { execFileSync } from 'node:child_process'

/** Whether what tests need is there; in CI its Debian package is installed when it is not, so that its tests are never left out there. */
export function provide(debian: string, isThere: () => boolean): boolean {
  if (isThere()) return true
  if (process.env['CI'] === 'true') {
    if (process.getuid?.() === 0) install(debian)
    if (isThere()) return true
    throw new Error(`tests need ${debian} (apt-get install ${debian}; root installs it)`)
  }
  console.warn(`SKIPPED: tests with ${debian} (apt-get install ${debian}; with CI=true, root installs it)`)
  return false
}

/** Whether a program is there and ends well. */
export function runs(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function install(debian: string): void {
  execFileSync('apt-get', ['update', '-qq'], { stdio: 'inherit' })
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', debian], {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}
