import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const cache = fileURLToPath(new URL('../../build/test-peers', import.meta.url))

/** A process in Python that answers requests, each a line of JSON, in their order. */
export interface Python {
  // biome-ignore lint/suspicious/noExplicitAny: each script has answers of its own.
  ask(request: object): Promise<any>
  close(): void
}

/**
 * The environment of Python with packages of PyPI, which are installed into build/ on first use. Undefined where Python or the packages cannot
 * be had: with CI=true that is an error, so that its tests are never left out there.
 * @param packages with versions: `['numcodecs==0.16.6']`
 */
export function pythonEnvironment(packages: readonly string[]): NodeJS.ProcessEnv | undefined {
  const folder = join(cache, `python-${packages.join('_').replaceAll('==', '-')}`)
  const failure = existsSync(folder) ? undefined : install(folder, packages)
  if (failure === undefined) return { ...process.env, PYTHONPATH: folder, OMP_NUM_THREADS: '1' }
  const text = `tests need Python with ${packages.join(', ')}: ${failure}`
  if (process.env['CI'] === 'true') throw new Error(text)
  console.warn(`SKIPPED: ${text}`)
  return undefined
}

/** Starts a script beside this file; undefined where there is no environment for it. */
export function startPython(script: string, packages: readonly string[]): Python | undefined {
  const env = pythonEnvironment(packages)
  if (env === undefined) return undefined
  const path = fileURLToPath(new URL(script, import.meta.url))
  const python = spawn('python3', ['-u', path], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting: { resolve(answer: unknown): void; reject(error: Error): void }[] = []
  createInterface({ input: python.stdout }).on('line', (line) => waiting.shift()!.resolve(JSON.parse(line)))
  python.on('exit', () => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`${script} ended`))
  })
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject })
        python.stdin.write(`${JSON.stringify(request)}\n`)
      }),
    close: () => python.stdin.end(),
  }
}

/** What went wrong, if anything did. */
function install(folder: string, packages: readonly string[]): string | undefined {
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary=:all:', '--target', unfinished]
    const { status, stderr, error } = spawnSync('python3', [...args, ...packages], { encoding: 'utf8', timeout: 240_000 })
    if (status !== 0) return (error?.message ?? stderr).trim().split('\n').at(-1)
    // Another test file may have been faster.
    if (!existsSync(folder)) renameSync(unfinished, folder)
    return undefined
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
