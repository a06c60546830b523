// Peers in Python: a process that runs requests and reports how long they took, so that both sides take
// turns.
import { fileURLToPath } from 'node:url'
import { pythonEnvironment, startScript } from '../scripts/python.mjs'

/**
 * Starts `bench/peers.py` with packages of PyPI.
 * @param packages such as `['numpy==2.1.3']`
 * @returns `ask(request)` for the answer, `label` and `close`. If Python or the packages are missing,
 *   prints a line and returns undefined
 */
export async function startPython(packages) {
  const { env, failure } = pythonEnvironment(packages)
  if (failure === undefined)
    return {
      ...startScript(fileURLToPath(new URL('./peers.py', import.meta.url)), env),
      label: packages.join(', ').replaceAll('==', ' '),
    }
  console.log(`peer not installed: ${packages.join(', ')} (${failure})`)
  return undefined
}
