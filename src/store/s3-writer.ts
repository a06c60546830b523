import { HyperslabError, isHyperslabError } from '../core/errors.js'
import type { Signal } from '../core/signal.js'
import { exists } from './conditions.js'
import type { Answer } from './http-client.js'
import { contentLength, infoOf } from './http-headers.js'
import { changed } from './memory.js'
import { randomName } from './random-name.js'
import { allOrNone } from './requester.js'
import { checkComplete, escaped, textOf } from './s3-answers.js'
import type { S3Client } from './s3-client.js'
import type { ObjectInfo } from './store.js'

/** An object whose bytes become a part of another one, copied by the server. */
export interface CopiedPart {
  readonly key: string
  readonly size: number
}

export type Part = Uint8Array | CopiedPart

export interface WriteOptions {
  readonly ifAbsent?: boolean
  readonly signal?: Signal | undefined
}

/** S3 takes no more parts of one object. */
const MAX_PARTS = 10_000

/** A header that stays with the object: who finds it there knows whose writing made it. */
const MARK = 'x-amz-meta-hyperslab-write'

/** Statuses for an object that is there, or was being made by someone else at that moment. */
const TAKEN = [409, 412]

/** Writes objects, each completely or not at all. */
export class S3Writer {
  readonly #client: S3Client

  constructor(client: S3Client) {
    this.#client = client
  }

  /**
   * In one request.
   * @throws ConflictError with `ifAbsent` when the object exists
   */
  put(key: string, bytes: Uint8Array, { ifAbsent = false, signal }: WriteOptions = {}): Promise<ObjectInfo> {
    return this.#settled(key, signal, (mark, attempt) => {
      const headers = { [MARK]: mark, ...conditional(ifAbsent) }
      const receive = async (answer: Answer, attempts: number): Promise<ObjectInfo> => {
        attempt(attempts)
        // Read, so that the connection is free for the next request.
        await answer.text()
        if (answer.status !== 200) throw exists(this.#file(key))
        return infoOf(answer.headers, bytes.length)
      }
      return this.#client.send({ method: 'PUT', key, headers, body: bytes }, ifAbsent ? TAKEN : [], receive, signal)
    })
  }

  /**
   * In parts, which nobody sees before all are there; each of at least 5 MiB, except the last.
   * @throws ConflictError with `ifAbsent` when the object exists, on servers that look
   */
  async putParts(key: string, parts: readonly Part[], { ifAbsent = false, signal }: WriteOptions = {}): Promise<ObjectInfo> {
    const file = this.#file(key)
    if (parts.length > MAX_PARTS) {
      const text = `${parts.length} parts, S3 takes ${MAX_PARTS}: pass larger partBytes to the store`
      throw new HyperslabError('UnsupportedError', text, { file, actual: parts.length, expected: MAX_PARTS })
    }
    return this.#settled(key, signal, async (mark, attempt) => {
      const uploadId = await this.#begin(key, mark, signal)
      try {
        const etags: string[] = []
        const upload = async ([i, part]: [number, Part], shared: Signal): Promise<void> => {
          etags[i] = await this.#part(key, { partNumber: String(i + 1), uploadId }, part, shared)
        }
        await allOrNone([...parts.entries()], upload, signal)
        const etag = await this.#complete(key, uploadId, etags, { ifAbsent, signal }, attempt)
        const size = parts.reduce((sum, part) => sum + (part instanceof Uint8Array ? part.length : part.size), 0)
        if (etag !== '') return { size, etag: `"${etag}"` }
        const info = await this.#marked(key, mark, signal)
        if (info === undefined) throw changed(file)
        return info
      } catch (error) {
        // What is left behind when this fails, too, nobody sees; the first error says more.
        await this.#client
          .send({ method: 'DELETE', key, query: { uploadId } }, [204, 404], (answer) => answer.text())
          .catch(() => undefined)
        throw error
      }
    })
  }

  delete(key: string, signal?: Signal): Promise<void> {
    const receive = async (answer: Answer): Promise<void> => void (await answer.text())
    return this.#client.send({ method: 'DELETE', key }, [204, 404], receive, signal)
  }

  /**
   * A request that seems to have failed may have been carried out: its answer was lost, or its repetition met what it had written itself.
   * Whether it was, the object's mark tells.
   */
  async #settled(
    key: string,
    signal: Signal | undefined,
    work: (mark: string, attempt: (attempts: number) => void) => Promise<ObjectInfo>,
  ): Promise<ObjectInfo> {
    const mark = randomName()
    let attempts = 0
    try {
      return await work(mark, (count) => {
        attempts = count
      })
    } catch (error) {
      const certain = attempts === 1 && isHyperslabError(error, 'ConflictError')
      if (certain || signal?.aborted || !isHyperslabError(error)) throw error
      // Where even this cannot be asked, the first error stands: writing the same once more is right in any case.
      const info = await this.#marked(key, mark, signal).catch(() => undefined)
      if (info === undefined) throw error
      return info
    }
  }

  /** The object, if it is the one that was written with this mark. */
  #marked(key: string, mark: string, signal: Signal | undefined): Promise<ObjectInfo | undefined> {
    const receive = (answer: Answer): ObjectInfo | undefined => {
      answer.discard()
      const size = contentLength(answer.headers)
      return answer.headers.get(MARK) === mark && size !== undefined ? infoOf(answer.headers, size) : undefined
    }
    return this.#client.send({ method: 'HEAD', key }, [404], receive, signal)
  }

  async #begin(key: string, mark: string, signal: Signal | undefined): Promise<string> {
    const request = { method: 'POST', key, query: { uploads: '' }, headers: { [MARK]: mark } } as const
    return this.#client.send(request, [], async (answer) => this.#field(await answer.text(), 'UploadId', key), signal)
  }

  #part(key: string, query: Record<string, string>, part: Part, signal: Signal): Promise<string> {
    const request = { method: 'PUT', key, query } as const
    if (part instanceof Uint8Array) {
      const receive = async (answer: Answer): Promise<string> => {
        await answer.text()
        return answer.headers.get('etag') ?? this.#field('', 'ETag', key)
      }
      return this.#client.send({ ...request, body: part }, [], receive, signal)
    }
    const headers = { 'x-amz-copy-source': this.#client.address.copySource(part.key) }
    const receive = async (answer: Answer): Promise<string> => {
      const xml = await answer.text()
      checkComplete(xml, 'CopyPartResult', this.#file(key))
      return this.#field(xml, 'ETag', key)
    }
    return this.#client.send({ ...request, headers }, [], receive, signal)
  }

  /** The tag without quotes; empty where the server does not tell it, as some do of large objects. */
  #complete(
    key: string,
    uploadId: string,
    etags: readonly string[],
    { ifAbsent = false, signal }: WriteOptions,
    attempt: (attempts: number) => void,
  ): Promise<string> {
    const parts = etags.map((tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`)
    const body = new TextEncoder().encode(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    const receive = async (answer: Answer, attempts: number): Promise<string> => {
      attempt(attempts)
      if (answer.status !== 200) {
        await answer.text()
        throw exists(this.#file(key))
      }
      const xml = await answer.text()
      if (textOf(xml, 'Code') === 'PreconditionFailed') throw exists(this.#file(key))
      checkComplete(xml, 'CompleteMultipartUploadResult', this.#file(key))
      return (textOf(xml, 'ETag') ?? '').replace(/"/g, '')
    }
    const request = { method: 'POST', key, query: { uploadId }, headers: conditional(ifAbsent), body } as const
    return this.#client.send(request, ifAbsent ? TAKEN : [], receive, signal)
  }

  /** @throws StoreError when the server leaves out what it must say */
  #field(xml: string, name: string, key: string): string {
    const text = textOf(xml, name)
    if (text) return text
    const hint = name === 'ETag' ? '; on other origins it must expose the header ETag' : ''
    throw new HyperslabError('StoreError', `the server answered without ${name}${hint}`, { file: this.#file(key) })
  }

  #file(key: string): string {
    return this.#client.address.describe(key)
  }
}

const conditional = (ifAbsent: boolean): Record<string, string> => (ifAbsent ? { 'if-none-match': '*' } : {})
