import type { Signal } from '../../core/signal.ts'
import type { HttpAnswer, HttpClient, HttpRequest } from '../http/client.ts'
import type { RangeRequester } from '../requester.ts'
import type { S3Address } from './address.ts'
import { refusal } from './answers.ts'

export interface S3Request {
  readonly method: HttpRequest['method']
  /** Key of the object; empty for the bucket. */
  readonly key: string
  /** Name of the request in messages, if it is not the key. */
  readonly about?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Record<string, string>
  readonly body?: Uint8Array
  /** Bytes that the server copies before it answers. */
  readonly copiedBytes?: number
}

/** Sends requests other than range reads: to buckets, and writes. */
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
   * Sends a request under the shared limits.
   * @param receive reads answers of status 200 and of `statuses`
   * @throws StoreError, ReadOnlyError for all other answers
   */
  send<T>(
    { key, about = key, query, body, ...request }: S3Request,
    statuses: readonly number[],
    receive: (answer: HttpAnswer, attempts: number) => Promise<T> | T,
    signal?: Signal,
  ): Promise<T> {
    const url = this.address.url(key, query)
    const file = this.address.describe(about)
    // The body never is shared memory: it was copied or created by this package, or came as plain bytes.
    const sent = { ...request, url, file, ...(body && { body: body as Uint8Array<ArrayBuffer> }) }
    const checked = async (answer: HttpAnswer, attempts: number): Promise<T> => {
      if (answer.status === 200 || statuses.includes(answer.status)) return receive(answer, attempts)
      throw await refusal(answer, file)
    }
    return this.#requester.run(body?.length ?? 0, () => this.#client.send(sent, checked, signal), signal)
  }
}
