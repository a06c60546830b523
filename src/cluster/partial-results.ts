import { decodeBase64, encodeBase64 } from '../core/base64.ts'
import { HyperslabError } from '../core/errors.ts'
import type { JobPlan } from './job-plan.ts'
import type { NodeOptions } from './job-work.ts'
import type { Places } from './places.ts'
import { type ScratchFolder, scratchOf } from './scratch-folder.ts'
import { decodeState, encodeState, type StateValue } from './state-codec.ts'

/**
 * The partial result of a task or a merge, as JSON: at hand, in base64; or in the scratch folder of the job,
 * where it is too large to be handed around. That of the last node holds the result of the job.
 */
export type PartialResult = { readonly state: string } | { readonly key: string; readonly bytes: number }

/** Larger ones go to the scratch folder, where there is one. */
const INLINE_BYTES = 4096

/** What the nodes of a job come to; needs its plan alone, and its scratch folder. */
export class PartialResults implements AsyncDisposable {
  readonly #scratch: ScratchFolder | undefined

  constructor(plan: JobPlan, places?: Places) {
    this.#scratch = scratchOf(plan, places)
  }

  /** That of a node which somebody has done already. */
  async known(level: number, index: number, options: NodeOptions): Promise<PartialResult | undefined> {
    if (this.#scratch === undefined) return undefined
    const key = await this.#scratch.key(`${level}-${index}`)
    const bytes = await this.#scratch.size(key, options)
    return bytes === undefined ? undefined : { key, bytes }
  }

  async store(level: number, index: number, value: unknown, options: NodeOptions): Promise<PartialResult> {
    const bytes = encodeState(value as StateValue)
    if (bytes.length <= INLINE_BYTES || this.#scratch === undefined) return { state: encodeBase64(bytes) }
    const key = await this.#scratch.key(`${level}-${index}`)
    // Whoever was faster has written the same.
    await this.#scratch.put(key, bytes, options)
    return { key, bytes: bytes.length }
  }

  /** @throws NotFoundError where it is gone; FormatError for what is none */
  async load(part: PartialResult, options: NodeOptions): Promise<unknown> {
    if ('state' in part) return decodeState(decodeBase64(part.state) ?? new Uint8Array())
    return decodeState(await this.#scratch!.read(part.key, options))
  }

  storeResult(level: number, index: number, result: unknown, options: NodeOptions): Promise<PartialResult> {
    return this.store(level, index, { result }, options)
  }

  /** @throws NotFoundError where it is gone; FormatError for that of a node which is not the last one */
  async loadResult(last: PartialResult, options: NodeOptions): Promise<unknown> {
    const value = await this.load(last, options)
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'result'))
      return (value as { result: unknown }).result
    throw new HyperslabError('FormatError', 'this is a partial result of a job, and not that of its last node')
  }

  /**
   * Removes what is in the scratch folder.
   * @param kept what somebody may still ask for
   */
  async clean(options: NodeOptions = {}, kept?: PartialResult): Promise<void> {
    const isKept = (name: string): boolean => kept !== undefined && 'key' in kept && kept.key.endsWith(`/${name}`)
    await this.#scratch?.clean(options, isKept)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scratch?.close()
  }
}
