import { Scratch } from '../copy/scratch.ts'
import { decodeBase64, encodeBase64 } from '../core/base64.ts'
import { HyperslabError } from '../core/errors.ts'
import type { StoredAt } from '../store/store.ts'
import { defaultScratch, type JobOperation } from './job-operation.ts'
import type { JobPlan } from './job-plan.ts'
import type { NodeOptions } from './job-work.ts'
import { ANY_PLACE, type Places } from './places.ts'
import type { AnyPlan } from './plan-parts.ts'
import { decodeState, encodeState, type StateValue } from './state-codec.ts'

/**
 * Partial result of a task or a merge, as JSON: inline as base64 or, if it is too large to be passed along,
 * in the scratch folder of the job. The last node's contains the result of the job.
 */
export type PartialResult = { readonly state: string } | { readonly key: string; readonly bytes: number }

/** Larger results go to the scratch folder, if there is one. */
const INLINE_BYTES = 4096

/** Partial results of a job. Requires only its plan and its scratch folder. */
export class PartialResults implements AsyncDisposable {
  readonly #scratch: Scratch | undefined

  constructor(plan: JobPlan, places?: Places) {
    this.#scratch = openScratch(plan, places)
  }

  /** Returns the stored result of a node; undefined if no worker has stored one. */
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
    // If another worker was faster, it has written the same bytes.
    await this.#scratch.put(key, bytes, options)
    return { key, bytes: bytes.length }
  }

  /** @throws NotFoundError if it no longer exists; FormatError for an invalid one */
  async load(part: PartialResult, options: NodeOptions): Promise<unknown> {
    if ('state' in part) return decodeState(decodeBase64(part.state) ?? new Uint8Array())
    return decodeState(await this.#scratch!.read(part.key, options))
  }

  storeResult(level: number, index: number, result: unknown, options: NodeOptions): Promise<PartialResult> {
    return this.store(level, index, { result }, options)
  }

  /** @throws NotFoundError if it no longer exists; FormatError for a node other than the last one */
  async loadResult(last: PartialResult, options: NodeOptions): Promise<unknown> {
    const value = await this.load(last, options)
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, 'result'))
      return (value as { result: unknown }).result
    throw new HyperslabError('FormatError', 'this is the partial result of a node that is not the last one')
  }

  /**
   * Removes the content of the scratch folder.
   * @param kept result to keep for later callers
   */
  async clean(options: NodeOptions = {}, kept?: PartialResult): Promise<void> {
    const isKept = (name: string): boolean => kept !== undefined && 'key' in kept && kept.key.endsWith(`/${name}`)
    await this.#scratch?.clean(options, isKept)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#scratch?.close()
  }
}

/** Returns the scratch folder of a plan; undefined for a plan without one. */
export function openScratch(
  { id, scratch, operation }: Pick<AnyPlan, 'id' | 'scratch'> & { readonly operation: JobOperation },
  places: Places = ANY_PLACE,
): Scratch | undefined {
  if (scratch === undefined) return undefined
  const folder = async (): Promise<StoredAt> => {
    const { store, path } = await places.resolve(scratch)
    return { store, path: `${path.replace(/\/$/, '')}/${id}/` }
  }
  return new Scratch(folder, { isOnly: scratch === defaultScratch(operation) })
}
