import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { installation } from '../support/provide.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where to wait for the crate's side of the tests; undefined where it cannot be compiled. */
    readonly peerPort: number | undefined
  }
}

const MANIFEST = fileURLToPath(new URL('rust/Cargo.toml', import.meta.url))
/** Ignored by git; later runs find what was compiled. */
const TARGET = fileURLToPath(new URL('../../build/interop/', import.meta.url))
/** The oldest that compiles the crate. */
const NEEDED = [1, 85] as const

const run = promisify(execFile)

/**
 * Compiles the crate's side of the tests once, while tests that do not need it run already. Whoever connects to the port that is provided
 * is told when that has ended: `built PATH`, or why it failed.
 */
export default async function setup(project: TestProject): Promise<(() => void) | undefined> {
  const inCI = process.env['CI'] === 'true'
  if (!inCI && !isNewEnough(await cargoVersion())) {
    console.warn(`SKIPPED: what compares with the Rust crate array-format needs cargo ${NEEDED.join('.')} or newer`)
    project.provide('peerPort', undefined)
    return
  }
  const abandoned = new AbortController()
  const ended = build(inCI, abandoned.signal).then(
    (path) => `built ${path}`,
    (error: unknown) => String(error),
  )
  const server = createServer(async (socket) => socket.end(await ended))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  project.provide('peerPort', (server.address() as AddressInfo).port)
  return () => {
    server.close()
    abandoned.abort()
  }
}

/** In CI cargo is installed when there is none, so that its tests are never left out there. */
async function build(inCI: boolean, signal: AbortSignal): Promise<string> {
  if (inCI && process.getuid?.() === 0 && !isNewEnough(await cargoVersion())) {
    const [program, args, env] = installation(['cargo'])
    await run(program, args, { env, signal })
  }
  const version = await cargoVersion()
  if (!isNewEnough(version))
    throw new Error(`cargo ${NEEDED.join('.')} or newer is needed, found ${version?.join('.') ?? 'none'}`)
  const args = ['build', '--release', '--locked', '--quiet', '--manifest-path', MANIFEST, '--target-dir', TARGET]
  await run('cargo', args, { signal })
  return `${TARGET}release/hyperslab-interop`
}

type Version = readonly [major: number, minor: number]

const isNewEnough = (version: Version | undefined): boolean =>
  version !== undefined && (version[0] > NEEDED[0] || (version[0] === NEEDED[0] && version[1] >= NEEDED[1]))

async function cargoVersion(): Promise<Version | undefined> {
  const answer = await run('cargo', ['--version']).catch(() => undefined)
  const [, major, minor] = /(\d+)\.(\d+)/.exec(answer?.stdout ?? '') ?? []
  return major === undefined ? undefined : [Number(major), Number(minor)]
}
