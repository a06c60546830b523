import { type ErrorDetails, HyperslabError } from '../../core/errors.ts'
import { type Controller, newController, type Signal } from '../../core/signal.ts'
import type { Engine, StoredFailure } from './engine.ts'
import { errorOfFailure } from './failure.ts'
import { contentOf, type NodeRunner, runId } from './nodes.ts'

/** What a worker knows of plans. */
export interface Plans {
  /** Makes what works on the nodes of one, or refuses it. */
  open(content: unknown): Promise<NodeRunner>
  /** Drops what nodes have handed over of a run that failed, where the next try begins anew. */
  abandon?(content: unknown): Promise<void>
  /** What messages say of a node: the file, the array and which part of it. Opens nothing. */
  describe(content: unknown, level: number, index: number): ErrorDetails & { readonly text: string }
}

/** So old may what a worker knows of a run's end be, in milliseconds. */
const FRESH_MS = 1_000

/** A run that a worker has a part in. */
export class JoinedRun {
  readonly runner: NodeRunner
  /** Tasks of it that are under way here. */
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
   * Why the run is to stop, if it is.
   * @param freshMs how old an answer may be
   */
  async stop(freshMs = FRESH_MS): Promise<StoredFailure | undefined> {
    if (Date.now() - this.#asked < freshMs) return this.#stop
    this.#asked = Date.now()
    const job = await this.#engine.stops.getJob(this.runner.id)
    if (job !== undefined) this.#controller.abort(errorOfFailure(job.data))
    // It has been taken up again.
    else if (this.#stop !== undefined) this.#controller = newController()
    this.#stop = job?.data
    return this.#stop
  }
}

/** The runs of a worker, by the ids of their plans; some are kept open while they have no task here. */
export class JoinedRuns {
  readonly #engine: Engine
  readonly #plans: Plans
  readonly #runs = new Map<string, Promise<JoinedRun | undefined>>()

  constructor(engine: Engine, plans: Plans) {
    this.#engine = engine
    this.#plans = plans
  }

  /** @returns undefined for a run that was removed */
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
      // It may be opened another time.
      if (this.#runs.get(plan) === run) this.#runs.delete(plan)
      throw error
    }
  }

  /** Asks for each run that is worked on whether it is to stop. */
  async look(): Promise<void> {
    for (const run of await Promise.allSettled(this.#runs.values()))
      if (run.status === 'fulfilled' && run.value !== undefined && run.value.active > 0) await run.value.stop()
  }

  /** Closes all but those used last. */
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
    const runner = await this.#plans.open(contentOf(job))
    if (runner.id !== plan) {
      const text = `the plan of run ${plan} in the queue is another one, ${runner.id}`
      throw new HyperslabError('FormatError', text, { file: this.#engine.server, actual: runner.id, expected: plan })
    }
    return new JoinedRun(this.#engine, runner)
  }
}
