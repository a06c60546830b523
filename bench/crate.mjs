// The Rust crate array-format in a process of its own, compiled from test/interop on first use.
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

/** Sources and targets of each version of the crate. The tests compile to the same folders. */
const CRATES = {
  '0.12.0': { manifest: at('../test/interop/rust/Cargo.toml'), target: at('../build/interop') },
  '0.15.0': { manifest: at('../test/interop/immutable/Cargo.toml'), target: at('../build/immutable') },
}

/**
 * Starts a program with the crate.
 * @param program its binary: `bench`, or `hyperslab-interop` of version 0.12.0, which the tests use
 * @returns `{ run, stop }`, where `run(command)` returns the program's answer. Without cargo 1.85 or newer,
 *   prints a line and returns undefined
 */
export async function startCrate(program = 'bench', version = '0.12.0') {
  const { manifest, target } = CRATES[version]
  const build = ['build', '--release', '--locked', '--quiet', '--manifest-path', manifest, '--target-dir', target]
  const { status, stderr, error } = spawnSync('cargo', build, { encoding: 'utf8' })
  if (status !== 0) {
    console.log(
      `skipped: the Rust crate array-format ${version} needs cargo 1.85 or newer (${(error?.message ?? stderr).trim().split('\n').at(-1)})`,
    )
    return undefined
  }
  const peer = spawn(`${target}/release/${program}`, { stdio: ['pipe', 'pipe', 'inherit'] })
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
