// How far a computation is, as far as requests tell.
import type { DataArray } from 'hyperslab/dataset'
import { byId } from './dom.ts'
import type { Cost } from './opening.ts'

export class Progress {
  #read: Cost = { requests: 0, bytes: 0 }
  #total: Readonly<Cost> | undefined

  /** Shows that something is computed of an array; how far it is shows where reading that takes requests. */
  begin({ array }: DataArray, signal: AbortSignal): void {
    this.#read = { requests: 0, bytes: 0 }
    this.#total = undefined
    byId('progress-share').removeAttribute('value')
    byId('progress').hidden = false
    // What cannot be planned cannot be read, of which the reader tells.
    array.plan().then(
      ({ requests = Number.POSITIVE_INFINITY, bytes }) => {
        if (!signal.aborted) this.#total = { requests, bytes }
      },
      () => undefined,
    )
  }

  /**
   * Takes note of what was answered. Requests of neighbours are made together, and values are fewer bytes where they are compressed: the
   * larger share is the nearer one.
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
