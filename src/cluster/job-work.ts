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
   * Does what is left to do with what a merge came to.
   * @returns what goes on to the merge above
   */
  settle(merged: unknown, options: NodeOptions): Promise<unknown>
  /**
   * Does what is left to do of the job, on the machine that has the last node.
   * @param all what everything came to
   * @returns the result of the job
   */
  finish(all: unknown, options: NodeOptions): Promise<unknown>
  close(): Promise<void>
}
