import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { create } from '../../src/runtime/index.ts'
import { folderInMemory } from '../support/folder.ts'

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const RESIDENT = fileURLToPath(new URL('resident.mjs', import.meta.url))
export const NETCDF = fileURLToPath(new URL('../../demo/data/tas_rectilinear_grid_2D.nc', import.meta.url))

export interface Run {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly bytes: Buffer
}

/** The environment of a command: that of the tests, without what would change its output. */
function environment(env: Record<string, string>): NodeJS.ProcessEnv {
  const { NO_COLOR: _, COLORTERM: __, DEBUG: ___, ...rest } = process.env
  return { ...rest, ...env }
}

let resident: ChildProcess | undefined
/** Ends with the command before. */
let before: Promise<unknown> = Promise.resolve()

/** Runs the built command without a terminal, in a process that stays for the next one. */
export function hyperslab(folder: string, args: readonly string[], env: Record<string, string> = {}): Promise<Run> {
  const run = before.then(() => askResident(folder, args, env))
  before = run.catch(() => undefined)
  return run
}

async function askResident(folder: string, args: readonly string[], env: Record<string, string>): Promise<Run> {
  if (resident === undefined) {
    resident = fork(RESIDENT, { env: environment({}), serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    resident.unref()
    resident.channel!.unref()
  }
  const child = resident
  return await new Promise((resolve, reject) => {
    const fail = (exitCode: number | null): void => {
      resident = undefined
      reject(new Error(`hyperslab ${args.join(' ')} ended its process, with ${exitCode}`))
    }
    child.channel!.ref()
    child.once('exit', fail)
    child.once('message', (answer) => {
      child.off('exit', fail)
      child.channel!.unref()
      const { exitCode, stdout, stderr } = answer as { exitCode: number; stdout: Uint8Array; stderr: Uint8Array }
      const bytes = Buffer.from(stdout)
      resolve({ exitCode, stdout: bytes.toString(), stderr: Buffer.from(stderr).toString(), bytes })
    })
    child.send({ folder, args, env })
  })
}

/** Runs the command on a terminal of its own; returns what it shows. */
export function onTerminal(folder: string, args: readonly string[]): string {
  const script = 'import pty, sys; pty.spawn(sys.argv[1:])'
  const given = ['-c', script, process.execPath, COMMAND, ...args]
  return spawnSync('python3', given, { cwd: folder, env: environment({}), encoding: 'utf8' }).stdout
}

/** Runs the command in a process of its own. */
export function hyperslabAlone(
  folder: string,
  args: readonly string[],
  { closeEarly = false, command = COMMAND } = {},
): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [command, ...args], {
      cwd: folder,
      env: environment({}),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const out: Buffer[] = []
    let stderr = ''
    child.stdout.on('data', (piece: Buffer) => {
      out.push(piece)
      if (closeEarly) child.stdout.destroy()
    })
    child.stderr.on('data', (piece: Buffer) => {
      stderr += piece
    })
    child.on('error', reject)
    child.on('close', (exitCode) => {
      const bytes = Buffer.concat(out)
      resolve({ exitCode, stdout: bytes.toString(), stderr, bytes })
    })
  })
}

/**
 * Starts a command that serves; gives the lines that it prints when it does, what ends it, and all that it
 * has told by then.
 */
export async function startServer(folder: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [COMMAND, ...args], {
    cwd: folder,
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.on('data', (piece: Buffer) => {
    stderr += piece
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const lines = await new Promise<string[]>((resolve, reject) => {
    child.stdout.once('data', (piece: Buffer) => resolve(piece.toString().trim().split('\n')))
    child.once('close', () => reject(new Error(stderr)))
  })
  const end = async () => {
    child.kill('SIGINT')
    return { exitCode: await ended, stderr }
  }
  return { lines, end }
}

/** An answer to a request of which `fetch` would not let us write the headers and the path. */
export const rawAnswer = (url: string, head: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname, () => socket.write(`${head}\r\nconnection: close\r\n\r\n`))
    let answer = ''
    socket.on('data', (piece) => {
      answer += piece
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
  })

export async function temporaryFolder(): Promise<string> {
  const folder = await folderInMemory('cli')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/**
 * A folder with `small.af`: `t(time 2, lat 3, lon 4)` counting up from 0 with -999 as fill value, of which
 * the second time step is in a second layer, its first element missing; coordinates; a text array.
 */
export async function smallContainer(): Promise<string> {
  const folder = await temporaryFolder()
  await using file = await create(join(folder, 'small.af'))
  const dimensionNames = ['time', 'lat', 'lon']
  const t = file.createArray('t', { dtype: 'float32', shape: [2, 3, 4], chunks: [1, 3, 4], dimensionNames, fillValue: -999 })
  t.attrs.set('units', 'K').set('long_name', 'temperature')
  const time = file.createArray('time', { dtype: 'int32', shape: [2], dimensionNames: ['time'] })
  time.attrs.set('units', 'days since 2000-01-01')
  const lat = file.createArray('lat', { dtype: 'float64', shape: [3], dimensionNames: ['lat'] })
  lat.attrs.set('units', 'degrees_north')
  const lon = file.createArray('lon', { dtype: 'float64', shape: [4], dimensionNames: ['lon'] })
  lon.attrs.set('units', 'degrees_east')
  const id = file.createArray('id', { dtype: 'int64', shape: [2], dimensionNames: ['time'] })
  const name = file.createArray('name', { dtype: 'string', shape: [2], dimensionNames: ['time'] })
  file.attrs.set('title', 'a small container')
  await t.set(
    [0],
    Float32Array.from({ length: 12 }, (_, i) => i),
  )
  await time.set(null, [0, 31])
  await lat.set(null, [-10, 0, 10])
  await lon.set(null, [0, 90, 180, 270])
  await id.set(null, [2n ** 53n + 1n, -1n])
  await name.set(null, ['one', 'two "2"'])
  await file.flush()
  await file.compact()
  await t.set(
    [1],
    Float32Array.from({ length: 12 }, (_, i) => (i === 0 ? -999 : 12 + i)),
  )
  await file.flush()
  return folder
}

/** Names and contents of all files of a folder. */
export async function contents(folder: string): Promise<Map<string, string>> {
  const names = (await readdir(folder)).sort()
  return new Map(
    await Promise.all(names.map(async (name) => [name, (await readFile(join(folder, name))).toString('base64')] as const)),
  )
}
