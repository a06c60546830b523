import { kernels, kernelsModule } from '../kernels/instance.ts'
import type { Reply, TaskRequest } from './perform.ts'
import type { WorkerLike } from './spawn.ts'
import type { Hello } from './worker.ts'

/** Time after which a silent new worker counts as failed. */
const START_MS = 5_000

export interface ThreadEvents {
  onReply(reply: Reply): void
  /** Called once, when the worker has ended or failed to start; `started` distinguishes the two. */
  onEnd(cause: unknown, started: boolean): void
}

/** One worker, from before it is created until after it has ended. */
export class Thread {
  readonly #events: ThreadEvents
  #worker: WorkerLike | undefined
  #started = false
  #ended = false
  #waiting: TaskRequest[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(worker: Promise<WorkerLike>, events: ThreadEvents) {
    this.#events = events
    worker.then((made) => this.#greet(made)).catch((error: unknown) => this.end(error))
  }

  /** Sends a request, or queues it until the worker is ready. */
  send(request: TaskRequest): void {
    if (!this.#started) {
      this.#waiting.push(request)
      return
    }
    this.#worker!.ref?.()
    this.#worker!.postMessage(request, [request.buffer])
  }

  /** Lets the process end even while the worker runs. */
  rest(): void {
    this.#worker?.unref?.()
  }

  end(cause: unknown): void {
    if (this.#ended) return
    this.#ended = true
    clearTimeout(this.#timer)
    this.#worker?.terminate()
    this.#events.onEnd(cause, this.#started)
  }

  #greet(worker: WorkerLike): void {
    if (this.#ended) {
      worker.terminate()
      return
    }
    this.#worker = worker
    const listen = <T>(type: string, listener: (value: T) => void): void => {
      if (worker.addEventListener !== undefined) worker.addEventListener(type, listener)
      else worker.on?.(type, listener)
    }
    listen('message', (message: unknown) => this.#receive(messageData(message)))
    listen('error', (event: { message?: string; preventDefault?(): void }) => {
      // The error is handled here, so the page need not report it.
      event.preventDefault?.()
      this.end(event.message || 'the worker could not be loaded')
    })
    listen('messageerror', () => this.end('a message could not be read'))
    // Only workers of Node emit this event.
    listen('exit', (code: number) => this.end(`the worker ended with code ${code}`))
    this.#timer = setTimeout(() => this.end(`the worker did not answer within ${START_MS / 1000} s`), START_MS)
    hello().then(
      (message) => this.#ended || worker.postMessage(message, []),
      (error: unknown) => this.end(error),
    )
  }

  #receive(data: unknown): void {
    if (this.#ended) return
    if (!('ready' in (data as object))) {
      this.#events.onReply(data as Reply)
      return
    }
    clearTimeout(this.#timer)
    this.#started = true
    for (const request of this.#waiting.splice(0)) this.send(request)
  }
}

async function hello(): Promise<Hello> {
  const { computeModule } = await import('../kernels/compute.ts')
  return { module: kernelsModule(), compute: computeModule(kernels()) }
}

/** Returns the message of an event. Web events contain it; in Node, the event is the message. */
const messageData = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'data' in message ? message.data : message
