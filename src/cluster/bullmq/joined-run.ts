import { type ErrorDetails, HyperslabError } from '../../core/errors.ts'
import { type Controller, newController, type Signal } from '../../core/signal.ts'
import type { Engine, StoredFailure } from './engine.ts'
import { errorOfFailure } from './failure.ts'
import { type NodeRunner, parseContent, runId } from './nodes.ts'

/** Handlers of a worker for plans. */
export interface Plans {
  /** Creates the runner for the nodes of a plan, or rejects the plan. */
  open(content: unknown): Promise<NodeRunner>
  /** Discards the output of the nodes of a failed run, if the next attempt starts from the beginning. */
  abandon?(content: unknown): Promise<void>
  /** Describes a node for messages: the file, the array and its part. Opens nothing. */
  describe(content: unknown, level: number, index: number): ErrorDetails & { readonly text: string }
}

/** Maximum age of a worker's knowledge that a run was stopped, in ms. */
const FRESH_MS = 1_000

/** A run in which a worker takes part. */
export class JoinedRun {
  readonly runner: NodeRunner
  /** Number of its tasks that are running in this worker. */
  active = 0
  readonly #engine: Engine
  #controller: Controller = newController()
  #stop: StoredFailure | undefined
  #asked = Number.NEGATIVE_INFINITY

  constructor(engine: Engine, runner: NodeRunner) {
    this.#engine = engine
    this.runner = runner
  }

  /** Aborts when the run is stopped. */
  get signal(): Signal {
    return this.#controller.signal
  }

  /**
   * Returns the reason why the run must stop; undefined if it continues.
   * @param freshMs maximum age of a known answer, in ms
   */
  async stop(freshMs = FRESH_MS): Promise<StoredFailure | undefined> {
    if (Date.now() - this.#asked < freshMs) return this.#stop
    this.#asked = Date.now()
    const job = await this.#engine.stops.getJob(this.runner.id)
    if (job !== undefined) this.#controller.abort(errorOfFailure(job.data))
    // The run was resumed.
    else if (this.#stop !== undefined) this.#controller = newController()
    this.#stop = job?.data
    return this.#stop
  }
}

/** Runs of a worker, by the ids of their plans. Some stay open while they have no task here. */
export class JoinedRuns {
  readonly #engine: Engine
  readonly #plans: Plans
  readonly #runs = new Map<string, Promise<JoinedRun | undefined>>()

  constructor(engine: Engine, plans: Plans) {
    this.#engine = engine
    this.#plans = plans
  }

  /** @returns undefined if the run was removed */
  async join(plan: string): Promise<JoinedRun | undefined> {
    const known = this.#runs.get(plan)
    const run = known ?? this.#find(plan)
    this.#runs.delete(plan)
    this.#runs.set(plan, run)
    try {
      const joined = await run
      if (joined === undefined) this.#runs.delete(plan)
      return joined
    } catch (error) {
      // A later attempt may open it.
      if (this.#runs.get(plan) === run) this.#runs.delete(plan)
      throw error
    }
  }

  /** Checks each run with running tasks for a request to stop. */
  async look(): Promise<void> {
    for (const run of await Promise.allSettled(this.#runs.values()))
      if (run.status === 'fulfilled' && run.value !== undefined && run.value.active > 0) await run.value.stop()
  }

  /** Closes all runs except the `kept` ones used last. */
  async close(kept = 0): Promise<void> {
    for (const [plan, opened] of this.#runs) {
      if (this.#runs.size <= kept) return
      const run = await opened.catch(() => undefined)
      if (run !== undefined && run.active > 0) continue
      this.#runs.delete(plan)
      await run?.runner.close?.()
    }
  }

  async #find(plan: string): Promise<JoinedRun | undefined> {
    const job = await this.#engine.tasks.getJob(runId(plan))
    if (job === undefined) return undefined
    const runner = await this.#plans.open(parseContent(job))
    if (runner.id !== plan) {
      const text = `the plan of run ${plan} in the queue is another one, ${runner.id}`
      throw new HyperslabError('FormatError', text, { file: this.#engine.server, actual: runner.id, expected: plan })
    }
    return new JoinedRun(this.#engine, runner)
  }
}
