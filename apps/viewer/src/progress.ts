// Shows the progress of a computation, estimated from its requests.
import type { DataArray } from 'hyperslab/dataset'
import { byId } from './dom.ts'
import type { Cost } from './opening.ts'

export class Progress {
  #read: Cost = { requests: 0, bytes: 0 }
  #total: Readonly<Cost> | undefined

  /** Shows that an array is being computed. The bar shows progress only if reading takes requests. */
  begin({ array }: DataArray, signal: AbortSignal): void {
    this.#read = { requests: 0, bytes: 0 }
    this.#total = undefined
    byId('progress-share').removeAttribute('value')
    byId('progress').hidden = false
    // Planning errors are ignored here, because the read reports them.
    array.plan().then(
      ({ requests = Number.POSITIVE_INFINITY, bytes }) => {
        if (!signal.aborted) this.#total = { requests, bytes }
      },
      () => undefined,
    )
  }

  /**
   * Records an answer. Neighbouring requests are merged, and compressed values take fewer bytes, so the
   * larger of both shares is the better estimate.
   */
  answered({ requests, bytes }: Cost): void {
    this.#read.requests += requests
    this.#read.bytes += bytes
    if (this.#total === undefined) return
    const share = Math.max(this.#read.requests / this.#total.requests, this.#read.bytes / this.#total.bytes)
    if (share > 0) byId<HTMLProgressElement>('progress-share').value = Math.min(1, share)
  }

  end(): void {
    byId('progress').hidden = true
    this.#total = undefined
  }
}
