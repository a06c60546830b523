import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/** A process of the built command that works on a queue. */
export class QueueWorker {
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown>
  stderr = ''

  /** @param fileKiB the largest file that it can write, as if the disk were full then */
  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}, fileKiB?: number) {
    const settings = ['--lock', '2', '--check', '1', '--grace', '0', '--concurrency', '2']
    const command = [process.execPath, COMMAND, 'work', ...settings, ...args]
    const limited = ['bash', '-c', `ulimit -f ${fileKiB}; exec "$@"`, 'bash', ...command]
    const [program, ...rest] = fileKiB === undefined ? command : limited
    this.#process = spawn(program!, rest, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...env },
    })
    this.#ended = once(this.#process, 'close')
    this.#process.stderr!.on('data', (text) => {
      this.stderr += text
    })
  }

  /** As the system does when memory runs out. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  /** Its exit code, once it has ended by itself. */
  async ended(): Promise<number | null> {
    await this.#ended
    return this.#process.exitCode
  }

  /** Has it stand still, for as long as a laptop sleeps. */
  async pause(ms: number): Promise<void> {
    this.#process.kill('SIGSTOP')
    await new Promise((resolve) => setTimeout(resolve, ms))
    this.#process.kill('SIGCONT')
  }
}
