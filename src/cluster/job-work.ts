import type { Signal } from '../core/signal.ts'

/** Options for running a part of a job. */
export interface NodeOptions {
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

/** Receives the results of a node's children, in their order. */
export interface Collector {
  add(part: unknown): void
  finish(): unknown
}

/** Work of a job, by its operation. */
export interface JobWork {
  /** Runs a task. Its result consists of numbers, texts and typed arrays. */
  task(index: number, options: NodeOptions): Promise<unknown>
  collect(): Collector
  /**
   * Finishes the result of a merge.
   * @returns the value for the merge above
   */
  settle(merged: unknown, options: NodeOptions): Promise<unknown>
  /**
   * Finishes the job, on the machine of the last node.
   * @param all result of all nodes
   * @returns result of the job
   */
  finish(all: unknown, options: NodeOptions): Promise<unknown>
  close(): Promise<void>
}
