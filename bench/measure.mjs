import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Whether suites run once at their least, to check that they run; timings are meaningless then. See
 * `--smallest` of run.mjs.
 */
export const smallest = process.env.HYPERSLAB_BENCH === 'smallest'

/** Returns a size or a number of rounds: the usual one, or the least that covers all of a suite. */
export const sized = (usual, least) => (smallest ? least : usual)

/**
 * Reports a result as JSON, which run.mjs reads. `ratio` compares it with `peer`: times if the goal is an
 * upper limit, speeds if it is a lower one. If `speed` is false, it is another quantity, which chart.mjs
 * omits.
 */
export function report(row) {
  console.log(JSON.stringify(row))
}

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

/** Returns the milliseconds that `work` takes. */
export async function time(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/**
 * Creates a seeded generator of numbers in [0, 1), by the mixing function of splitmix32, so that every run
 * uses the same data.
 */
export function random(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

/** Returns data like temperatures: a smooth field with noise, quantised to 0.01, different for each seed. */
export function climate(length, seed) {
  const next = random(seed)
  const [a, b] = [next() * 6, next() * 6]
  return Float32Array.from(
    { length },
    (_, i) => Math.round((280 + 15 * Math.sin(i / 977 + a) + 5 * Math.cos(i / 61 + b) + next() * 0.4) * 100) / 100,
  )
}

/** Runs `work` with a temporary folder, and removes it afterwards. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-bench-'))
  try {
    await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export const MiB = 2 ** 20

/** Returns the seconds that a process takes, and its peak memory in bytes. */
export function runProcess(program, args, env = process.env) {
  const started = performance.now()
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  let peak = 0
  const sample = () => {
    try {
      peak = Number(/VmHWM:\s*(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) * 1024 || peak
    } catch {
      // The process has ended meanwhile.
    }
  }
  const watch = setInterval(sample, 20)
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', (code) => {
      clearInterval(watch)
      if (code === 0) resolve({ seconds: (performance.now() - started) / 1000, peak })
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code}`))
    })
  })
}
