import { HyperslabError, isHyperslabError } from '../../core/errors.ts'
import { untilSettled } from '../../core/pace.ts'
import { newController, raceAbort, type Signal } from '../../core/signal.ts'
import { exists, randomName, unmatched } from '../conditions.ts'
import type { HttpAnswer } from '../http/client.ts'
import { contentLength, headerInfo } from '../http/headers.ts'
import { allOrNone } from '../requester.ts'
import { Transient } from '../retry.ts'
import type { ObjectInfo, OpenUpload, SharedUpload } from '../store.ts'
import { changed } from '../store.ts'
import { checkComplete, escaped, readBody, textOf } from './answers.ts'
import type { S3Client } from './client.ts'

/** An object that the server copies as a part of another object. */
export interface CopiedPart {
  readonly key: string
  readonly size: number
  /** Offset of the part in the object; undefined if the part is the whole object. */
  readonly offset?: number
  /** Required version of the copied object. */
  readonly etag?: string | undefined
}

export type UploadedPart = Uint8Array | CopiedPart

export interface WriteOptions {
  readonly ifAbsent?: boolean
  /** Value of `If-Match`, in the form that the server accepts. */
  readonly ifMatch?: string | undefined
  /** Cancels the call when it is aborted. */
  readonly signal?: Signal | undefined
}

/** Most parts of one object in S3. */
export const MAX_PARTS = 10_000

/** Header stored with an object. It identifies the write that created the object. */
const MARK = 'x-amz-meta-hyperslab-write'

/**
 * Statuses of a condition that does not hold: the object exists, is missing, has another version, or is being
 * written by another client.
 */
const REFUSED = [404, 409, 412]

/** Writes objects, each completely or not at all. */
export class S3Writer {
  readonly #client: S3Client

  constructor(client: S3Client) {
    this.#client = client
  }

  /**
   * Writes an object in one request.
   * @throws ConflictError if the condition does not hold
   */
  put(key: string, bytes: Uint8Array, options: WriteOptions = {}): Promise<ObjectInfo> {
    return this.#settled(key, options, (mark, attempt) => {
      const headers = { [MARK]: mark, ...conditional(options) }
      const receive = async (answer: HttpAnswer, attempts: number): Promise<ObjectInfo> => {
        attempt(attempts)
        // Read the body, so that the connection is free for the next request.
        const xml = await readBody(answer)
        if (answer.status !== 200) throw this.#refusal(answer.status, xml, key, options)
        return headerInfo(answer.headers, bytes.length)
      }
      return this.#client.send({ method: 'PUT', key, headers, body: bytes }, refusedOn(options), receive, options.signal)
    })
  }

  /**
   * Writes an object in parts, which stay invisible until all are stored. Each part has at least 5 MiB,
   * except the last.
   * @throws ConflictError if the condition does not hold, on servers that check it
   */
  async putParts(key: string, parts: readonly UploadedPart[], options: WriteOptions = {}): Promise<ObjectInfo> {
    const { signal } = options
    const file = this.#file(key)
    if (parts.length > MAX_PARTS) {
      const text = `${parts.length} parts, S3 takes ${MAX_PARTS}: pass larger \`partBytes\` to the store`
      throw new HyperslabError('UnsupportedError', text, { file, actual: parts.length, expected: MAX_PARTS })
    }
    return this.#settled(key, options, async (mark, attempt) => {
      const uploadId = await this.beginUpload(key, mark, signal)
      try {
        const tags = new Map<number, string>()
        const upload = async ([i, part]: [number, UploadedPart], shared: Signal): Promise<void> => {
          tags.set(i + 1, await this.uploadPart(key, uploadId, i + 1, part, shared))
        }
        await allOrNone([...parts.entries()], upload, signal)
        const size = parts.reduce((sum, part) => sum + (part instanceof Uint8Array ? part.length : part.size), 0)
        return await this.#completed(key, mark, { id: uploadId, tags, size }, options, attempt)
      } catch (error) {
        // If aborting fails, too, the leftovers are invisible, and the first error is more useful.
        await this.abortUpload(key, uploadId).catch(() => undefined)
        throw error
      }
    })
  }

  /**
   * Completes an upload that {@link beginUpload} began.
   * @param mark the mark passed to {@link beginUpload}
   * @throws ConflictError if the condition does not hold, on servers that check it
   */
  completeUpload(key: string, mark: string, upload: SharedUpload, options: WriteOptions = {}): Promise<ObjectInfo> {
    const work = (_: string, attempt: (attempts: number) => void) => this.#completed(key, mark, upload, options, attempt)
    return this.#settled(key, options, work, mark)
  }

  /** Returns open uploads to keys that start with a prefix, at most 1000. */
  openUploads(prefix: string, signal: Signal | undefined): Promise<OpenUpload[]> {
    const request = { method: 'GET', key: '', about: prefix, query: { uploads: '', prefix } } as const
    const receive = async (answer: HttpAnswer): Promise<OpenUpload[]> => {
      const xml = await readBody(answer)
      checkComplete(xml, 'ListMultipartUploadsResult', this.#file(prefix))
      const uploads = xml.split('<Upload>').slice(1)
      return uploads.map((each) => ({ key: this.#field(each, 'Key', prefix), id: this.#field(each, 'UploadId', prefix) }))
    }
    return this.#client.send(request, [], receive, signal)
  }

  /** Drops an upload with its parts. A missing upload is no error. */
  async abortUpload(key: string, uploadId: string, signal?: Signal): Promise<void> {
    await this.#client.send({ method: 'DELETE', key, query: { uploadId } }, [204, 404], readBody, signal)
  }

  async #completed(
    key: string,
    mark: string,
    upload: SharedUpload,
    options: WriteOptions,
    attempt: (attempts: number) => void,
  ): Promise<ObjectInfo> {
    const { size } = upload
    const etag = await this.#complete(key, upload, options, attempt)
    if (etag !== '') return { size, etag: `"${etag}"` }
    const found = await this.#found(key, options.signal)
    if (found?.mark !== mark) throw changed(this.#file(key))
    return { size, etag: found.etag }
  }

  /**
   * Deletes an object.
   * @throws ConflictError if it does not have the version `ifMatch`, on servers that check it
   */
  async delete(key: string, { ifMatch, signal }: Omit<WriteOptions, 'ifAbsent'> = {}): Promise<void> {
    const receive = async (answer: HttpAnswer): Promise<void> => {
      const xml = await readBody(answer)
      if (answer.status === 409 || answer.status === 412) throw this.#refusal(answer.status, xml, key, { ifMatch })
    }
    const request = { method: 'DELETE', key, headers: conditional({ ifMatch }) } as const
    const statuses = [204, 404, ...(ifMatch === undefined ? [] : [409, 412])]
    try {
      await this.#client.send(request, statuses, receive, signal)
    } catch (error) {
      if (ifMatch === undefined || !isHyperslabError(error, 'ConflictError')) throw error
      const found = await this.#found(key, signal)
      // If it is gone, another client removed it, or this request did and its first answer was lost.
      if (found !== undefined) throw unmatched(this.#file(key), ifMatch, found.etag)
    }
  }

  /** Returns the error for an answer that reports a failed condition. */
  #refusal(status: number, xml: string, key: string, { ifMatch }: WriteOptions): HyperslabError | Transient {
    const file = this.#file(key)
    const code = textOf(xml, 'Code')
    const text = `the server answered ${[status, code].filter(Boolean).join(' ')}`
    const error = new HyperslabError('StoreError', text, { file, actual: code ?? status })
    // Another client was writing at that moment. A retry shows whether the condition holds.
    if (status === 409) return new Transient(error)
    if (ifMatch === undefined) return exists(file)
    return status === 404 && code !== undefined && code !== 'NoSuchKey' ? error : unmatched(file, ifMatch, undefined)
  }

  /**
   * Runs a write. A request that seems to have failed may have been carried out: its answer was lost, or a
   * retry met its own earlier write. The mark of the object reveals this.
   */
  async #settled(
    key: string,
    { ifAbsent, ifMatch, signal }: WriteOptions,
    work: (mark: string, attempt: (attempts: number) => void) => Promise<ObjectInfo>,
    mark = randomName(),
  ): Promise<ObjectInfo> {
    let attempts = 0
    try {
      return await work(mark, (count) => {
        attempts = count
      })
    } catch (error) {
      if (signal?.aborted || !isHyperslabError(error)) throw error
      const conflict = isHyperslabError(error, 'ConflictError')
      if (conflict && attempts === 1 && ifMatch === undefined) throw error
      // If this request fails, too, the first error is thrown. Retrying the write is safe in any case.
      const found = await this.#found(key, signal).catch(() => null)
      if (found === null) throw error
      if (found?.mark === mark) return { size: found.size, etag: found.etag }
      if (ifAbsent && found !== undefined) throw exists(this.#file(key))
      throw conflict && ifMatch !== undefined ? unmatched(this.#file(key), ifMatch, found?.etag) : error
    }
  }

  /** Returns the current object, with the mark of the write that created it. */
  #found(key: string, signal: Signal | undefined): Promise<(ObjectInfo & { readonly mark: string | null }) | undefined> {
    const receive = (answer: HttpAnswer): (ObjectInfo & { readonly mark: string | null }) | undefined => {
      answer.discard()
      if (answer.status === 404) return undefined
      return { ...headerInfo(answer.headers, contentLength(answer.headers) ?? 0), mark: answer.headers.get(MARK) }
    }
    return this.#client.send({ method: 'HEAD', key }, [404], receive, signal)
  }

  /**
   * Begins a multipart upload. Any client that knows the id can take part in it. If the signal aborts
   * meanwhile, the upload that the server has begun is dropped.
   * @param mark distinguishes the object from those of other writers
   */
  async beginUpload(key: string, mark: string, signal: Signal | undefined): Promise<string> {
    signal?.throwIfAborted()
    const request = { method: 'POST', key, query: { uploads: '' }, headers: { [MARK]: mark } } as const
    const receive = async (answer: HttpAnswer): Promise<string> => this.#field(await readBody(answer), 'UploadId', key)
    // The signal does not cancel the request at once: the server may have carried it out, and only its answer
    // names the upload.
    const late = newController()
    const begun = this.#client.send(request, [], receive, late.signal)
    try {
      return await raceAbort(begun, signal)
    } catch (error) {
      if (signal?.aborted) await untilSettled(begun.then((id) => this.abortUpload(key, id)))
      late.abort(error)
      throw error
    }
  }

  /** Uploads a part, replacing an earlier one of the same number, and returns its tag. */
  uploadPart(key: string, uploadId: string, number: number, part: UploadedPart, signal: Signal | undefined): Promise<string> {
    const request = { method: 'PUT', key, query: { partNumber: String(number), uploadId } } as const
    if (part instanceof Uint8Array) {
      const receive = async (answer: HttpAnswer): Promise<string> => {
        await readBody(answer)
        return answer.headers.get('etag') ?? this.#field('', 'ETag', key)
      }
      return this.#client.send({ ...request, body: part }, [], receive, signal)
    }
    const { offset, size } = part
    const headers = {
      ...this.#copied(part),
      ...(offset !== undefined && { 'x-amz-copy-source-range': `bytes=${offset}-${offset + size - 1}` }),
    }
    const receive = async (answer: HttpAnswer): Promise<string> => {
      const xml = await readBody(answer)
      checkComplete(xml, 'CopyPartResult', this.#file(key))
      return this.#field(xml, 'ETag', key)
    }
    return this.#client.send({ ...request, headers, copiedBytes: part.size }, [], receive, signal)
  }

  /**
   * Makes the server copy an object to another key, in one request; up to 5 GiB.
   * @throws StoreError if the object no longer exists or has another version
   */
  async copy(key: string, from: CopiedPart, signal: Signal | undefined): Promise<void> {
    const receive = async (answer: HttpAnswer): Promise<void> =>
      checkComplete(await readBody(answer), 'CopyObjectResult', this.#file(key))
    const request = { method: 'PUT', key, headers: this.#copied(from), copiedBytes: from.size } as const
    await this.#client.send(request, [], receive, signal)
  }

  #copied({ key, etag }: CopiedPart): Record<string, string> {
    const { address } = this.#client
    return {
      'x-amz-copy-source': address.copySource(key),
      ...(etag !== undefined && { 'x-amz-copy-source-if-match': etag }),
    }
  }

  /**
   * Completes an upload and returns the tag without quotes. The tag is empty if the server omits it, as some
   * do for large objects.
   */
  #complete(
    key: string,
    { id: uploadId, tags, size }: SharedUpload,
    options: WriteOptions,
    attempt: (attempts: number) => void,
  ): Promise<string> {
    const parts = [...tags]
      .sort(([a], [b]) => a - b)
      .map(([number, tag]) => `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(tag)}</ETag></Part>`)
    const body = new TextEncoder().encode(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    const receive = async (answer: HttpAnswer, attempts: number): Promise<string> => {
      attempt(attempts)
      const xml = await readBody(answer)
      const late = textOf(xml, 'Code') === 'PreconditionFailed'
      if (answer.status !== 200 || late) throw this.#refusal(late ? 412 : answer.status, xml, key, options)
      checkComplete(xml, 'CompleteMultipartUploadResult', this.#file(key))
      return (textOf(xml, 'ETag') ?? '').replace(/"/g, '')
    }
    const headers = conditional(options)
    // Servers may assemble the parts before they answer.
    const request = { method: 'POST', key, query: { uploadId }, headers, body, copiedBytes: size } as const
    return this.#client.send(request, refusedOn(options), receive, options.signal)
  }

  /**
   * Returns a required field of an answer.
   * @throws StoreError if the server omits it
   */
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

const conditional = ({ ifAbsent = false, ifMatch }: WriteOptions): Record<string, string> => ({
  ...(ifAbsent && { 'if-none-match': '*' }),
  ...(ifMatch !== undefined && { 'if-match': ifMatch }),
})

/**
 * Returns the statuses that mean that the condition does not hold. Without `If-Match`, 404 is about a bucket
 * or an upload.
 */
const refusedOn = ({ ifAbsent = false, ifMatch }: WriteOptions): number[] =>
  ifMatch !== undefined ? REFUSED : ifAbsent ? REFUSED.filter((status) => status !== 404) : []
