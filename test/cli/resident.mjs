// Runs the built command again and again in one process: starting one takes ten times as long as most
// commands do. The chunks that the command imports stay; the command itself is evaluated anew, under another
// URL each time.
import { fileURLToPath } from 'node:url'

const COMMAND = new URL('../../dist/cli.js', import.meta.url)

let runs = 0

/** Collects what is written to a stream; gives what ends that and tells the bytes. */
function collect(stream) {
  const written = []
  const { write } = stream
  stream.write = (piece, ...rest) => {
    written.push(Buffer.from(piece))
    rest.find((argument) => typeof argument === 'function')?.()
    return true
  }
  return () => {
    stream.write = write
    stream.removeAllListeners('error')
    return Buffer.concat(written)
  }
}

process.on('message', async ({ folder, args, env }) => {
  const { argv, env: before } = process
  process.chdir(folder)
  process.argv = [argv[0], fileURLToPath(COMMAND), ...args]
  process.env = { ...before, ...env }
  process.exitCode = undefined
  const stdout = collect(process.stdout)
  const stderr = collect(process.stderr)
  await import(`${COMMAND}?${runs++}`)
  const answer = { exitCode: process.exitCode ?? 0, stdout: stdout(), stderr: stderr() }
  Object.assign(process, { argv, env: before, exitCode: undefined })
  process.send(answer)
})
process.on('disconnect', () => process.exit())
