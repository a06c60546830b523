// Python with packages of PyPI, for tests and benchmarks. Packages are installed into build/python on first
// use.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const cache = fileURLToPath(new URL('../build/python', import.meta.url))

/**
 * Returns the environment of a Python process with these packages, in a folder that may contain others.
 * @param packages with versions: `['numcodecs==0.16.6']`
 * @returns the environment, or the reason why there is none
 */
export function pythonEnvironment(packages) {
  const wanted = packages.map((name) => name.replace('==', '-'))
  const known = existsSync(cache) ? readdirSync(cache) : []
  const name = known.find((name) => wanted.every((each) => name.split('_').includes(each))) ?? wanted.sort().join('_')
  const failure = install(join(cache, name), packages)
  return failure === undefined ? { env: { ...process.env, PYTHONPATH: join(cache, name), OMP_NUM_THREADS: '1' } } : { failure }
}

/** Starts a script that answers requests, each a line of JSON, in order. */
export function startScript(path, env, args = []) {
  const python = spawn('python3', ['-u', path, ...args], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = []
  let hasEnded = false
  createInterface({ input: python.stdout }).on('line', (line) => waiting.shift().resolve(JSON.parse(line)))
  python.on('exit', () => {
    hasEnded = true
    for (const { reject } of waiting.splice(0)) reject(new Error(`${path} ended`))
  })
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        if (hasEnded) return reject(new Error(`${path} ended`))
        waiting.push({ resolve, reject })
        python.stdin.write(`${JSON.stringify(request)}\n`)
      }),
    close: () => python.stdin.end(),
  }
}

/** Installs packages; returns the error, if there is one. */
function install(folder, packages) {
  if (existsSync(folder)) return undefined
  mkdirSync(cache, { recursive: true })
  const unfinished = mkdtempSync(join(cache, '.'))
  try {
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary=:all:', '--target', unfinished]
    const { status, stderr, error } = spawnSync('python3', [...args, ...packages], { encoding: 'utf8', timeout: 240_000 })
    if (status !== 0) return (error?.message ?? stderr).trim().split('\n').at(-1)
    // Another process may have been faster.
    if (!existsSync(folder)) renameSync(unfinished, folder)
    return undefined
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
