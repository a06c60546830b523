import type { Signal } from '../core/signal.ts'

/** Options of doing a part of a job. */
export interface NodeOptions {
  readonly signal?: Signal | undefined
}

/** Takes what the children of a node have come to, in their order. */
export interface Collector {
  add(part: unknown): void
  finish(): unknown
}

/** What a job does, by its operation. */
export interface JobWork {
  /** Does a task: what it comes to is made of numbers, texts and typed arrays. */
  task(index: number, options: NodeOptions): Promise<unknown>
  collect(): Collector
  /** Does what is left once all tasks are done, on whichever machine that is. */
  complete(): Promise<void>
  /** What the job gives, on the machine that waits for it. */
  result(all: unknown): Promise<unknown>
  close(): Promise<void>
}
