import { execFileSync } from 'node:child_process'

/** Whether a program works; in CI its Debian package is installed when it does not, so that its tests are never left out there. */
export function provide(debian: string, program: string, ...args: string[]): boolean {
  if (works(program, args)) return true
  if (process.env['CI'] === 'true' && process.getuid?.() === 0) {
    execFileSync('apt-get', ['update', '-qq'], { stdio: 'inherit' })
    execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', debian], {
      stdio: 'inherit',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (works(program, args)) return true
  }
  console.warn(`SKIPPED: tests with ${debian} (apt-get install ${debian}; with CI=true, root installs it)`)
  return false
}

function works(program: string, args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
