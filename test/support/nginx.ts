import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { provide, runs } from './provide.ts'

const BINARY = '/usr/sbin/nginx'

export const haveNginx = (): boolean => provide('nginx-light', () => runs(BINARY, '-v'))

/** An nginx on loopback that serves a folder of its own. */
export class Nginx {
  readonly folder: string
  readonly origin: string
  readonly #process: ChildProcess

  private constructor(folder: string, origin: string, child: ChildProcess) {
    this.folder = folder
    this.origin = origin
    this.#process = child
  }

  /** @param directives of its server, besides the folder */
  static async start(directives = ''): Promise<Nginx> {
    const folder = await mkdtemp(join(tmpdir(), 'hyperslab-nginx-'))
    const port = await freePort()
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/temp;`)
    await writeFile(
      join(folder, 'nginx.conf'),
      `${user} daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
      events {}
      http { access_log off; ${temporary.join(' ')} server { listen 127.0.0.1:${port}; root ${folder}; ${directives} } }`,
    )
    const child = spawn(BINARY, ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')], {
      stdio: 'inherit',
    })
    const nginx = new Nginx(folder, `http://127.0.0.1:${port}`, child)
    while (!(await fetch(nginx.origin).catch(() => undefined))) {
      if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return nginx
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.kill()
    await ended
    await rm(this.folder, { recursive: true })
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
