import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('../interop/rust/', import.meta.url))
/** Ignored by git; later runs find what was compiled. */
const TARGET = fileURLToPath(new URL('../../build/interop/', import.meta.url))
/** The oldest that compiles the crate. */
const NEEDED = [1, 85] as const

/** Whether there is a cargo that is new enough; in CI it is installed when there is none, so that its tests are never left out there. */
export function haveCargo(): boolean {
  if (works()) return true
  if (process.env['CI'] === 'true') {
    if (process.getuid?.() === 0) install()
    if (works()) return true
    throw new Error(`cargo ${NEEDED.join('.')} or newer is needed, found ${version()?.join('.') ?? 'none'}`)
  }
  console.warn(`skipped: what compares with the Rust crate array-format needs cargo ${NEEDED.join('.')} or newer`)
  return false
}

/** Compiles the crate's side of the tests and returns its path. Does nothing when it is there and up to date. */
export function buildPeer(): string {
  const manifest = join(SOURCE, 'Cargo.toml')
  execFileSync('cargo', ['build', '--release', '--locked', '--quiet', '--manifest-path', manifest, '--target-dir', TARGET], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return join(TARGET, 'release', 'hyperslab-interop')
}

function works(): boolean {
  const [major, minor] = version() ?? [0, 0]
  return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])
}

function version(): [number, number] | undefined {
  try {
    const text = execFileSync('cargo', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    const [, major, minor] = /(\d+)\.(\d+)/.exec(text) ?? []
    return [Number(major), Number(minor)]
  } catch {
    return undefined
  }
}

function install(): void {
  execFileSync('apt-get', ['update', '-qq'], { stdio: 'inherit' })
  execFileSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'cargo'], {
    stdio: 'inherit',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
}
