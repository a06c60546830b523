import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { installation } from '../support/provide.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * Port that reports when the program with the crate array-format is built. Undefined if it cannot be
     * compiled.
     */
    readonly peerPort: number | undefined
    /** Port for the program with the same crate from 0.15 on, which knows footer version 6 alone. */
    readonly immutablePort: number | undefined
    /** Port for the first program, compiled with version 0.14 of the crate. */
    readonly zeroAxesPort: number | undefined
    /** Port for the program with the crate zarrs. */
    readonly zarrsPort: number | undefined
  }
}

/** A program in Rust. */
interface Program {
  readonly crate: string
  readonly port: 'peerPort' | 'immutablePort' | 'zeroAxesPort' | 'zarrsPort'
  readonly manifest: string
  /** Ignored by git; later runs find what was compiled. */
  readonly target: string
  /** Flags of cargo, and the path of the program below `target`. */
  readonly flags: readonly string[]
  readonly path: string
  /** The oldest cargo that compiles the crate. */
  readonly needed: Version
}

type Version = readonly [major: number, minor: number]

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const PROGRAMS: readonly Program[] = [
  {
    crate: 'array-format 0.15',
    port: 'immutablePort',
    manifest: at('immutable/Cargo.toml'),
    target: at('../../build/immutable/'),
    flags: ['--release'],
    path: 'release/hyperslab-immutable',
    needed: [1, 85],
  },
  {
    crate: 'array-format',
    port: 'peerPort',
    manifest: at('rust/Cargo.toml'),
    target: at('../../build/interop/'),
    flags: ['--release'],
    path: 'release/hyperslab-interop',
    needed: [1, 85],
  },
  {
    // Beside the program of 0.12: they share all other crates, which are compiled once.
    crate: 'array-format 0.14',
    port: 'zeroAxesPort',
    manifest: at('zero-axes/Cargo.toml'),
    target: at('../../build/interop/'),
    flags: ['--release'],
    path: 'release/hyperslab-zero-axes',
    needed: [1, 85],
  },
  {
    crate: 'zarrs',
    port: 'zarrsPort',
    manifest: at('zarrs/Cargo.toml'),
    target: at('../../build/zarrs/'),
    flags: [],
    path: 'debug/hyperslab-zarrs',
    needed: [1, 91],
  },
]

const run = promisify(execFile)

/**
 * Compiles programs in Rust once, one after the other, while tests without need of them run already. A client
 * that connects to the port of a program is told when that has ended: `built PATH`, or why it failed.
 */
export default async function setup(project: TestProject): Promise<() => void> {
  const inCI = process.env['CI'] === 'true'
  const abandoned = new AbortController()
  const servers: Server[] = []
  let last: Promise<unknown> = Promise.resolve()
  for (const program of PROGRAMS) {
    const { crate, port, needed } = program
    project.provide(port, undefined)
    if (!inCI && !isNewEnough(await cargoVersion(), needed)) {
      console.warn(`SKIPPED: what compares with the Rust crate ${crate} needs cargo ${needed.join('.')} or newer`)
      continue
    }
    const ended = last
      .then(() => build(program, inCI, abandoned.signal))
      .then(
        (path) => `built ${path}`,
        (error: unknown) => String(error),
      )
    last = ended
    const server = createServer(async (socket) => socket.end(await ended))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    servers.push(server)
    project.provide(port, (server.address() as AddressInfo).port)
  }
  return () => {
    for (const server of servers) server.close()
    abandoned.abort()
  }
}

/** In CI cargo is installed when there is none, so that its tests are never left out there. */
async function build({ manifest, target, flags, path, needed }: Program, inCI: boolean, signal: AbortSignal): Promise<string> {
  if (inCI && process.getuid?.() === 0 && !isNewEnough(await cargoVersion(), needed)) {
    const [program, args, env] = installation(['cargo'])
    await run(program, args, { env, signal })
  }
  const version = await cargoVersion()
  if (!isNewEnough(version, needed))
    throw new Error(`cargo ${needed.join('.')} or newer is needed, found ${version?.join('.') ?? 'none'}`)
  const args = ['build', ...flags, '--locked', '--quiet', '--manifest-path', manifest, '--target-dir', target]
  await run('cargo', args, { signal })
  return target + path
}

const isNewEnough = (version: Version | undefined, needed: Version): boolean =>
  version !== undefined && (version[0] > needed[0] || (version[0] === needed[0] && version[1] >= needed[1]))

async function cargoVersion(): Promise<Version | undefined> {
  const answer = await run('cargo', ['--version']).catch(() => undefined)
  const [, major, minor] = /(\d+)\.(\d+)/.exec(answer?.stdout ?? '') ?? []
  return major === undefined ? undefined : [Number(major), Number(minor)]
}
