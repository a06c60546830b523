import type { ContainerPart } from '../af/write/parts.ts'
import { joinBytes } from '../core/bytes.ts'
import { HyperslabError } from '../core/errors.ts'
import { sha256 } from '../core/sha256.ts'
import type { ObjectInfo, Stage, Store, StoreOptions, WritableStore } from '../store/store.ts'
import { asWritable } from '../store/writer.ts'
import type { Scratch } from './scratch.ts'

/** Bytes of some parts of a container, one after another, stored together. */
export interface PackedBytes {
  readonly parts: readonly ContainerPart[]
  /** Number of these bytes. */
  readonly bytes: number
  /** Number of a part of the upload, unique within the job. */
  readonly number: number
  /**
   * Location of the bytes: a part of an upload with its tag, or an object of the scratch folder with its key.
   */
  readonly at: { readonly upload: string; readonly tag: string } | { readonly key: string }
}

/** Returns the default scratch folder of a container that is written in parts. */
export const scratchBeside = (target: string): string => `${target}.parts`

/** Name of the object in the scratch folder that contains the id of the shared upload. */
const UPLOAD = 'upload'
/** Prefix of the names of objects with packed bytes. */
const PART = 'part-'

/** Object that the parts are joined to. */
export interface PackedTarget {
  readonly store: Store
  readonly key: string
  /** Marks the object as the output of this job. */
  readonly mark: string
}

/**
 * Stores the parts of a container until they are joined. If the store has uploads that several processes can
 * share, packed bytes become a part of one. Bytes too short for a part wait in the scratch folder until there
 * are enough of them. For other stores, all bytes wait there.
 */
export class PackedParts {
  readonly #target: PackedTarget & { readonly store: WritableStore }
  readonly #scratch: Scratch

  constructor(target: PackedTarget, scratch: Scratch) {
    this.#target = { ...target, store: asWritable(target.store) }
    this.#scratch = scratch
  }

  /**
   * @throws UnsupportedError for a server on which completing the upload could overwrite an object that
   *   another writer has created meanwhile
   */
  async check(): Promise<void> {
    await this.#target.store.sharedUploads?.check(this.#probe)
  }

  /**
   * Stores the bytes of some parts.
   * @param number from 1, unique to these bytes
   */
  async add(parts: readonly ContainerPart[], bytes: Uint8Array, number: number, options: StoreOptions): Promise<PackedBytes> {
    const packed = { parts, bytes: bytes.length, number }
    const { store, key: target } = this.#target
    const uploads = store.sharedUploads
    if (uploads !== undefined && bytes.length >= uploads.minPartBytes) {
      const upload = await this.#upload(options)
      return { ...packed, at: { upload, tag: await uploads.put(target, upload, number, bytes, options) } }
    }
    // Another release may pack other bytes for the same parts. The hash gives those a different name.
    const key = await this.#scratch.key(`${PART}${number}-${(await sha256(bytes)).slice(0, 16)}`)
    await this.#scratch.put(key, bytes, options)
    return { ...packed, at: { key } }
  }

  /**
   * Uploads waiting bytes together, as far as they are long enough for a part. The rest stays where it is.
   */
  async combine(packed: readonly PackedBytes[], options: StoreOptions): Promise<PackedBytes[]> {
    const least = this.#target.store.sharedUploads?.minPartBytes
    if (least === undefined) return [...packed]
    const done = packed.filter(isUploaded)
    let open: PackedBytes[] = []
    let size = 0
    for (const each of packed) {
      if (isUploaded(each)) continue
      open.push(each)
      size += each.bytes
      if (size < least) continue
      const parts = open.flatMap((waiting) => waiting.parts)
      done.push(await this.add(parts, joinBytes(await this.#read(open, options)), open[0]!.number, options))
      open = []
      size = 0
    }
    return [...done, ...open]
  }

  /**
   * Returns the parts in the order of their bytes, with the stage that publishes them.
   * @throws ConflictError for parts of another upload, which was aborted
   */
  async assembled(
    packed: readonly PackedBytes[],
    options: StoreOptions,
  ): Promise<{ readonly parts: ContainerPart[]; readonly stage: Pick<Stage, 'publish' | 'discard'> }> {
    const sorted = [...packed].sort((a, b) => Number(isUploaded(b)) - Number(isUploaded(a)) || a.number - b.number)
    const parts = sorted.flatMap((each) => each.parts)
    return {
      parts,
      stage: await (this.#target.store.sharedUploads ? this.#uploaded(sorted, options) : this.#staged(sorted, options)),
    }
  }

  /** Removes the waiting bytes after the publication. Before it, a repeated merge could need them. */
  async clean(options: StoreOptions): Promise<void> {
    await this.#sweep(options)
    await this.#scratch.clean(options, (name) => !name.startsWith(UPLOAD) && !name.startsWith(PART))
  }

  /** Discards all stored bytes. */
  async abandon(): Promise<void> {
    const { store, key } = this.#target
    const id = await this.#known({})
    if (id !== undefined) await store.sharedUploads?.abort(key, id)
    await this.#sweep({})
    await this.#scratch.clean()
  }

  /** Prefix of the temporary objects that test the server. */
  get #probe(): string {
    return `${scratchBeside(this.#target.key)}/${this.#target.mark}/probe`
  }

  /** Removes objects of workers that died while they tested the server. */
  async #sweep(options: StoreOptions): Promise<void> {
    const { store } = this.#target
    if (store.sharedUploads === undefined) return
    for (const { key, id } of await store.sharedUploads.open(this.#probe, options)) await store.sharedUploads.abort(key, id)
    for (const key of (await store.list?.(this.#probe, options)) ?? []) await store.delete(key, options)
  }

  async #uploaded(packed: readonly PackedBytes[], options: StoreOptions): Promise<Pick<Stage, 'publish' | 'discard'>> {
    const { store, key: target, mark } = this.#target
    const uploads = store.sharedUploads!
    const id = await this.#upload(options)
    const tags = new Map<number, string>()
    let size = 0
    for (const { at, number, bytes } of packed) {
      if (!('upload' in at)) continue
      if (at.upload !== id) {
        const text = `part ${number} was uploaded for another try, which has ended; run the job again`
        throw new HyperslabError('ConflictError', text, { file: store.describe(target), actual: at.upload, expected: id })
      }
      tags.set(number, at.tag)
      size += bytes
    }
    const left = await this.#read(packed, options)
    return {
      publish: async (_, tail): Promise<ObjectInfo> => {
        const last = joinBytes([...left, tail])
        const number = Math.max(0, ...tags.keys()) + 1
        tags.set(number, await uploads.put(target, id, number, last, options))
        // Uploads whose start was not acknowledged, or whose worker died before it recorded them, are
        // aborted. Aborted after the completion, because none of them can be completed then: they require
        // that the object does not exist.
        const others = (await uploads.open(target, options)).filter((each) => each.key === target && each.id !== id)
        const info = await uploads.complete(target, mark, { id, tags, size: size + last.length }, options)
        for (const other of others) await uploads.abort(target, other.id)
        return info
      },
      async discard() {},
    }
  }

  async #staged(packed: readonly PackedBytes[], options: StoreOptions): Promise<Stage> {
    const { store, key: target } = this.#target
    // Left over from workers that died here. There is no object yet, so no other writer can be replacing it.
    const left = ((await store.files?.leftovers(target)) ?? []).filter(({ key }) => key.startsWith(`${target}.`))
    const stage = await store.stage(target)
    try {
      for (const each of packed) for (const bytes of await this.#read([each], options)) await stage.append(bytes)
      for (const { key } of left) await store.delete(key)
      return stage
    } catch (error) {
      await stage.discard()
      throw error
    }
  }

  /**
   * Reads the bytes that wait in the scratch folder.
   * @throws NotFoundError; FormatError if their number differs
   */
  async #read(packed: readonly PackedBytes[], options: StoreOptions): Promise<Uint8Array[]> {
    const all: Uint8Array[] = []
    for (const { at, bytes } of packed) {
      if (!('key' in at)) continue
      const found = await this.#scratch.read(at.key, options)
      if (found.length !== bytes)
        throw new HyperslabError('FormatError', `a part of the container has ${found.length} bytes, not ${bytes}`, {
          file: at.key,
          actual: found.length,
          expected: bytes,
        })
      all.push(found)
    }
    return all
  }

  /** Returns the id of the shared upload. The first worker starts it. */
  async #upload(options: StoreOptions): Promise<string> {
    const known = await this.#known(options)
    if (known !== undefined) return known
    const { store, key: target, mark } = this.#target
    const own = await store.sharedUploads!.begin(target, mark, options)
    try {
      if (await this.#scratch.put(await this.#scratch.key(UPLOAD), new TextEncoder().encode(own), options)) return own
    } catch (error) {
      // An upload that no worker knows would stay open.
      // The first error is more useful than one of dropping it.
      if ((await this.#known({}).catch(() => own)) !== own) await store.sharedUploads!.abort(target, own).catch(() => undefined)
      throw error
    }
    await store.sharedUploads!.abort(target, own)
    return (await this.#known(options)) ?? this.#upload(options)
  }

  async #known(options: StoreOptions): Promise<string | undefined> {
    const bytes = await this.#scratch.find(await this.#scratch.key(UPLOAD), options)
    return bytes && new TextDecoder().decode(bytes)
  }
}

const isUploaded = ({ at }: PackedBytes): boolean => 'upload' in at
