// Peers in Python: a process that does what it is told and says how long it took, so that both take turns.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const cache = fileURLToPath(new URL('../build/bench-peers', import.meta.url))

/**
 * Starts `bench/peers.py` with packages of PyPI, installed into build/ on first use.
 * @param packages such as `['numpy==2.1.3']`
 * @returns `ask(request)` for the answer, `label` and `close`; undefined, with a line that says so, where Python or the packages are missing
 */
export async function startPython(packages) {
  const folder = join(cache, `python-${packages.join('_').replaceAll('==', '-')}`)
  const error = existsSync(folder) ? undefined : install(folder, packages)
  if (error !== undefined) {
    console.log(`peer not installed: ${packages.join(', ')} (${error})`)
    return undefined
  }
  const script = fileURLToPath(new URL('./peers.py', import.meta.url))
  const env = { ...process.env, PYTHONPATH: folder, OMP_NUM_THREADS: '1' }
  const python = spawn('python3', ['-u', script], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: python.stdout })[Symbol.asyncIterator]()
  return {
    label: packages.join(', ').replaceAll('==', ' '),
    async ask(request) {
      python.stdin.write(`${JSON.stringify(request)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error('the peer in Python ended')
      return JSON.parse(value)
    },
    close: () => python.stdin.end(),
  }
}

/** What went wrong, if anything did. */
function install(folder, packages) {
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  try {
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary=:all:', '--target', unfinished]
    const { status, stderr, error } = spawnSync('python3', [...args, ...packages], { encoding: 'utf8', timeout: 240_000 })
    if (status !== 0) return (error?.message ?? stderr).trim().split('\n').at(-1)
    renameSync(unfinished, folder)
    return undefined
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
