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
  /**
   * Does what is left to do with what a merge came to; with that of the last one, what there is left of the
   * job, on whichever machine that is.
   * @returns what goes on to the merge above
   */
  settle(all: unknown, isLast: boolean, options: NodeOptions): Promise<unknown>
  /** What the job gives, on the machine that waits for it. */
  result(all: unknown): Promise<unknown>
  close(): Promise<void>
}
