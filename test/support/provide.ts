import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Whether what tests need is there; in CI its Debian package is installed when it is not, so that its tests
 * are never left out there.
 */
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

export function install(...debian: string[]): void {
  const [program, args, env] = installation(debian)
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
}

/**
 * The program that installs Debian packages, its arguments and its environment. Test files run beside each
 * other, and apt-get fails while another one runs: flock lets them in one by one. RUNLEVEL keeps services
 * from being started, of which only the programs are wanted.
 */
export function installation(debian: readonly string[]): [program: string, args: string[], env: NodeJS.ProcessEnv] {
  const script = 'apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"'
  const args = [join(tmpdir(), 'hyperslab-apt.lock'), 'sh', '-c', script, 'sh', ...debian]
  return ['flock', args, { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }]
}
