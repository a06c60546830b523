// The Rust crate array-format in a process of its own, compiled from test/interop/rust on first use.
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const MANIFEST = fileURLToPath(new URL('../test/interop/rust/Cargo.toml', import.meta.url))
/** Shared with the tests, which compile to the same folder. */
const TARGET = fileURLToPath(new URL('../build/interop', import.meta.url))

/**
 * Starts a program with the crate.
 * @param program the binary of test/interop/rust: `bench`, or `hyperslab-interop`, which the tests use
 * @returns `{ run, stop }`, where `run(command)` returns the program's answer. Without cargo 1.85 or newer,
 *   prints a line and returns undefined
 */
export async function startCrate(program = 'bench') {
  const build = ['build', '--release', '--locked', '--quiet', '--manifest-path', MANIFEST, '--target-dir', TARGET]
  const { status, stderr, error } = spawnSync('cargo', build, { encoding: 'utf8' })
  if (status !== 0) {
    console.log(
      `skipped: the Rust crate array-format needs cargo 1.85 or newer (${(error?.message ?? stderr).trim().split('\n').at(-1)})`,
    )
    return undefined
  }
  const peer = spawn(`${TARGET}/release/${program}`, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: peer.stdout })[Symbol.asyncIterator]()
  return {
    async run(command) {
      peer.stdin.write(`${JSON.stringify(command)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`the program around the crate has ended at ${JSON.stringify(command.do)}`)
      return JSON.parse(value)
    },
    stop: () => peer.stdin.end(),
  }
}
