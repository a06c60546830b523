import { HyperslabError, isHyperslabError } from '../core/errors.js'
import { randomName } from './random-name.js'
import type { S3Address } from './s3-address.js'
import type { CopiedPart, S3Writer } from './s3-writer.js'

/**
 * Whether a server creates objects only where there are none when it is asked to (`If-None-Match: *`). Amazon's does; some others take no
 * notice, and then of two writers one would lose what it wrote. So others are asked once, with an object that is there already.
 */
export class S3Conditions {
  readonly #writer: S3Writer
  readonly #address: S3Address
  #put: Promise<boolean> | undefined
  #complete: Promise<boolean> | undefined

  constructor(writer: S3Writer, address: S3Address) {
    this.#writer = writer
    this.#address = address
  }

  /** @throws UnsupportedError when whole objects are overwritten regardless */
  async checkPut(near: string): Promise<void> {
    if (this.#address.amazon) return
    this.#put ??= this.#tryPut(near)
    const honoured = await this.#put.catch((error: unknown) => {
      this.#put = undefined
      throw error
    })
    if (honoured) return
    const text = 'the server ignores If-None-Match: writers would overwrite each other; only overwriting is possible there'
    throw new HyperslabError('UnsupportedError', text, { file: this.#address.describe(near) })
  }

  /**
   * Whether objects in parts are refused where there is one: Ceph 16 does not look.
   * @param object written over, should it be so, with what it has
   */
  async ofParts(object: CopiedPart): Promise<boolean> {
    if (this.#address.amazon) return true
    this.#complete ??= isRefused(this.#writer.putParts(object.key, [object], { ifAbsent: true }))
    return this.#complete.catch((error: unknown) => {
      this.#complete = undefined
      throw error
    })
  }

  async #tryPut(near: string): Promise<boolean> {
    const key = temporary(near)
    const nothing = new Uint8Array(0)
    try {
      await this.#writer.put(key, nothing)
      return await isRefused(this.#writer.put(key, nothing, { ifAbsent: true }))
    } finally {
      await this.#writer.delete(key)
    }
  }
}

/** The name of an object that nobody takes for anything. */
export const temporary = (near: string): string => `${near}.${randomName()}.tmp`

async function isRefused(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return false
  } catch (error) {
    if (isHyperslabError(error, 'ConflictError')) return true
    throw error
  }
}
