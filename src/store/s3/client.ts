import type { Signal } from '../../core/signal.ts'
import type { HttpAnswer, HttpClient, HttpRequest } from '../http/client.ts'
import type { RangeRequester } from '../requester.ts'
import type { S3Address } from './address.ts'
import { refusal } from './answers.ts'

export interface S3Request {
  readonly method: HttpRequest['method']
  /** Empty for the bucket. */
  readonly key: string
  /** Names the request in messages where that is not its key. */
  readonly about?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Record<string, string>
  readonly body?: Uint8Array
  /** Bytes that the server copies before it answers. */
  readonly copiedBytes?: number
}

/** Requests other than for ranges: to buckets, and those that write. */
export class S3Client {
  readonly address: S3Address
  readonly #client: HttpClient
  readonly #requester: RangeRequester

  constructor(address: S3Address, client: HttpClient, requester: RangeRequester) {
    this.address = address
    this.#client = client
    this.#requester = requester
  }

  /**
   * @param receive takes answers of status 200 and those of `statuses`
   * @throws StoreError, ReadOnlyError for all others
   */
  send<T>(
    { key, about = key, query, body, ...request }: S3Request,
    statuses: readonly number[],
    receive: (answer: HttpAnswer, attempts: number) => Promise<T> | T,
    signal?: Signal,
  ): Promise<T> {
    const url = this.address.url(key, query)
    const file = this.address.describe(about)
    // Never shared memory here: what is written was copied or made by this package or came as plain bytes.
    const sent = { ...request, url, file, ...(body && { body: body as Uint8Array<ArrayBuffer> }) }
    const checked = async (answer: HttpAnswer, attempts: number): Promise<T> => {
      if (answer.status === 200 || statuses.includes(answer.status)) return receive(answer, attempts)
      throw await refusal(answer, file)
    }
    return this.#requester.run(body?.length ?? 0, () => this.#client.send(sent, checked, signal), signal)
  }
}
