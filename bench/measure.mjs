import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Suites run once at their least, to see that they run: what they time means nothing then. See `--smallest` of run.mjs. */
export const smallest = process.env.HYPERSLAB_BENCH === 'smallest'

/** A size or a number of rounds: as it is meant, and at the least that goes through all of a suite. */
export const sized = (usual, least) => (smallest ? least : usual)

/**
 * A result: `ratio` of what was measured to `peer`; of times where the goal is an upper limit, of speeds where it is a lower one, and of something
 * else, which chart.mjs leaves out, where `speed` is false. Printed as JSON, read by run.mjs.
 */
export function report(row) {
  console.log(JSON.stringify(row))
}

export const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1]

/** Milliseconds that `work` takes. */
export async function time(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** A seeded generator of numbers in [0, 1): the same data at every run (the mixing function of splitmix32). */
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

/** Like temperatures: a smooth field with noise, quantised to 0.01, a new one for each seed. */
export function climate(length, seed) {
  const next = random(seed)
  const [a, b] = [next() * 6, next() * 6]
  return Float32Array.from(
    { length },
    (_, i) => Math.round((280 + 15 * Math.sin(i / 977 + a) + 5 * Math.cos(i / 61 + b) + next() * 0.4) * 100) / 100,
  )
}

/** Runs `work` with a folder that is gone afterwards. */
export async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-bench-'))
  try {
    await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export const MiB = 2 ** 20
