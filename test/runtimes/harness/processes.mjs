// Child processes that end: at their time limit, and with this process.
import { spawn } from 'node:child_process'

/** Something that is not on this machine: a reason to skip, outside CI. */
export class Missing extends Error {}

/** Leaders of process groups that are to be gone with this process. */
const groups = new Set()

export function watch(pid) {
  groups.add(pid)
  return pid
}

/** Ends a whole process group, without asking. */
export function end(pid) {
  groups.delete(pid)
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL')
    } catch {}
  }
}

process.on('exit', () => groups.forEach(end))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130))

/**
 * Runs a program to its end or time limit.
 * @returns `{ code, stdout, stderr }`; the code of a program that was ended is null
 */
export function execute(program, args, { cwd, env = {}, seconds = 60 } = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output = { stdout: '', stderr: '' }
    for (const stream of ['stdout', 'stderr']) child[stream].setEncoding('utf8').on('data', (text) => (output[stream] += text))
    const timer = setTimeout(() => {
      output.stderr += `\nended after ${seconds} s`
      end(child.pid)
    }, seconds * 1000)
    child.on('error', (error) => finish(null, error.message))
    // Not 'close': a grandchild that kept the pipes open would keep us waiting.
    child.on('exit', (code) => setImmediate(finish, code))
    const finish = (code, message = '') => {
      clearTimeout(timer)
      if (child.pid !== undefined) end(child.pid)
      resolve({ code, ...output, stderr: output.stderr + message })
    }
    if (child.pid !== undefined) watch(child.pid)
  })
}

/** Fails when `work` takes longer; it is up to the caller to end what goes on. */
export async function within(seconds, what, work) {
  let timer
  const limit = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no answer within ${seconds} s`)), seconds * 1000)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
