import { spawnSync } from 'node:child_process'
import { randoms } from '../kernels/support.ts'

/** Runs the reference implementation, the program `zstd`. */
export function zstdProgram(args: string[], input: Uint8Array): Uint8Array {
  const { status, stdout, stderr, error } = spawnSync('zstd', ['-q', '-c', ...args], { input, maxBuffer: 2 ** 30 })
  if (status === 0) return new Uint8Array(stdout)
  throw error ?? new Error(String(stderr))
}

const hasZstdProgram = spawnSync('zstd', ['--version']).status === 0

/** Whether tests against the `zstd` program are skipped; in CI they fail instead. */
export const skipZstd = !hasZstdProgram && process.env.CI !== 'true'

/**
 * Contents that a compressor treats differently: nothing, one byte, a run, noise, text, values that repeat
 * from afar.
 */
export function contents(): [string, Uint8Array][] {
  const next = randoms(7)
  const noise = Uint8Array.from({ length: 200_000 }, () => next() >>> 24)
  const values = new Uint8Array(Float32Array.from({ length: 150_000 }, (_, i) => Math.round(280 + 15 * Math.sin(i / 977))).buffer)
  const text = new TextEncoder().encode(Array.from({ length: 9000 }, (_, i) => `station ${next() % 97}: ${i % 13} °C`).join('\n'))
  const far = new Uint8Array(3_000_000)
  for (let i = 0; i < far.length; i += 1000) far.set(noise.subarray(i % 100_000, (i % 100_000) + 1000), i)
  return [
    ['nothing', new Uint8Array(0)],
    ['one byte', Uint8Array.of(42)],
    ['a run', new Uint8Array(300_000).fill(7)],
    ['noise', noise],
    ['numbers', values],
    ['text', text],
    ['repeats from afar', far],
  ]
}
