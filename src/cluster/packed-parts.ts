import type { ContainerPart } from '../af/write/parts.ts'
import { joinBytes } from '../core/bytes.ts'
import { HyperslabError } from '../core/errors.ts'
import { sha256 } from '../core/sha256.ts'
import type { ObjectInfo, Stage, Store } from '../store/store.ts'
import { defaultScratchOf } from './job-operation.ts'
import type { NodeOptions } from './job-work.ts'
import type { ScratchFolder } from './scratch-folder.ts'

/** The bytes of some parts of a container, one after another, that were handed over at once. */
export interface PackedBytes {
  readonly parts: readonly ContainerPart[]
  /** How many bytes these are. */
  readonly bytes: number
  /** The number of a part of the upload, which no other of the job has. */
  readonly number: number
  /** Where they are: a part of an upload, with its tag; or an object of the scratch folder, by its key. */
  readonly at: { readonly upload: string; readonly tag: string } | { readonly key: string }
}

/** The object of the scratch folder that has the id of the upload that all workers share. */
const UPLOAD = 'upload'
/** What objects with packed bytes begin with. */
const PART = 'part-'

/** The object that parts are put together as. */
export interface PackedTarget {
  readonly store: Store
  readonly key: string
  /** Marks the object as that of this job. */
  readonly mark: string
}

/**
 * Hands over what a container is to be put together of. Where the store has uploads that many share, what is
 * packed becomes a part of one, unless it is too short: then it waits in the scratch folder until there is
 * enough of it. In other stores all of it waits there.
 */
export class PackedParts {
  readonly #target: PackedTarget
  readonly #scratch: ScratchFolder

  constructor(target: PackedTarget, scratch: ScratchFolder) {
    this.#target = target
    this.#scratch = scratch
  }

  /**
   * @throws UnsupportedError for a server on which putting the object together could overwrite what another
   *   writer has made meanwhile
   */
  async check(): Promise<void> {
    await this.#target.store.sharedUploads?.check(this.#probe)
  }

  /**
   * Hands over the bytes of some parts.
   * @param number from 1, for these bytes alone
   */
  async add(parts: readonly ContainerPart[], bytes: Uint8Array, number: number, options: NodeOptions): Promise<PackedBytes> {
    const packed = { parts, bytes: bytes.length, number }
    const { store, key: target } = this.#target
    const uploads = store.sharedUploads
    if (uploads !== undefined && bytes.length >= uploads.minPartBytes) {
      const upload = await this.#upload(options)
      return { ...packed, at: { upload, tag: await uploads.put(target, upload, number, bytes, options) } }
    }
    // Whoever packs the same anew may come to other bytes, with another release: these have another name.
    const key = await this.#scratch.key(`${PART}${number}-${(await sha256(bytes)).slice(0, 16)}`)
    await this.#scratch.put(key, bytes, options)
    return { ...packed, at: { key } }
  }

  /** Uploads together what is long enough together; what is left stays where it is. */
  async combine(packed: readonly PackedBytes[], options: NodeOptions): Promise<PackedBytes[]> {
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
   * The parts in the order in which their bytes come to lie, and what publishes these.
   * @throws ConflictError for parts of another upload, which was dropped
   */
  async assembled(
    packed: readonly PackedBytes[],
    options: NodeOptions,
  ): Promise<{ readonly parts: ContainerPart[]; readonly stage: Pick<Stage, 'publish' | 'discard'> }> {
    const sorted = [...packed].sort((a, b) => Number(isUploaded(b)) - Number(isUploaded(a)) || a.number - b.number)
    const parts = sorted.flatMap((each) => each.parts)
    return {
      parts,
      stage: await (this.#target.store.sharedUploads ? this.#uploaded(sorted, options) : this.#staged(sorted, options)),
    }
  }

  /** Removes what waited, once the object is published: whoever does a merge anew may want it before. */
  async clean(options: NodeOptions): Promise<void> {
    await this.#sweep(options)
    await this.#scratch.clean(options, (name) => !name.startsWith(UPLOAD) && !name.startsWith(PART))
  }

  /** Drops all that was handed over. */
  async abandon(): Promise<void> {
    const { store, key } = this.#target
    const id = await this.#known({})
    if (id !== undefined) await store.sharedUploads?.abort(key, id)
    await this.#sweep({})
    await this.#scratch.clean()
  }

  /** What temporary objects begin with by which the server is tried. */
  get #probe(): string {
    return `${defaultScratchOf(this.#target.key)}/${this.#target.mark}/probe`
  }

  /** Removes what workers have left that died while they tried the server. */
  async #sweep(options: NodeOptions): Promise<void> {
    const { store } = this.#target
    if (store.sharedUploads === undefined) return
    for (const { key, id } of await store.sharedUploads.open(this.#probe, options)) await store.sharedUploads.abort(key, id)
    for (const key of (await store.list?.(this.#probe, options)) ?? []) await store.delete?.(key, options)
  }

  async #uploaded(packed: readonly PackedBytes[], options: NodeOptions): Promise<Pick<Stage, 'publish' | 'discard'>> {
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
        // None of them can be completed after this one: there was no such object when they began. They are
        // left where the answer to their beginning was lost, or a worker died before it could tell of it.
        const others = (await uploads.open(target, options)).filter((each) => each.key === target && each.id !== id)
        const info = await uploads.complete(target, mark, { id, tags, size: size + last.length }, options)
        for (const other of others) await uploads.abort(target, other.id)
        return info
      },
      async discard() {},
    }
  }

  async #staged(packed: readonly PackedBytes[], options: NodeOptions): Promise<Stage> {
    const { store, key: target } = this.#target
    // Left by workers that died here: there is no object yet that anybody else could be replacing.
    const left = ((await store.leftovers?.(target)) ?? []).filter(({ key }) => key.startsWith(`${target}.`))
    const stage = await store.stage!(target)
    try {
      for (const each of packed) for (const bytes of await this.#read([each], options)) await stage.append(bytes)
      for (const { key } of left) await store.delete!(key)
      return stage
    } catch (error) {
      await stage.discard()
      throw error
    }
  }

  /**
   * Those that wait in the scratch folder.
   * @throws NotFoundError; FormatError for other bytes than were put there
   */
  async #read(packed: readonly PackedBytes[], options: NodeOptions): Promise<Uint8Array[]> {
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

  /** The id of the upload that all share: whoever is first begins it. */
  async #upload(options: NodeOptions): Promise<string> {
    const known = await this.#known(options)
    if (known !== undefined) return known
    const { store, key: target, mark } = this.#target
    const own = await store.sharedUploads!.begin(target, mark, options)
    if (await this.#scratch.put(await this.#scratch.key(UPLOAD), new TextEncoder().encode(own), options)) return own
    await store.sharedUploads!.abort(target, own)
    return (await this.#known(options)) ?? this.#upload(options)
  }

  async #known(options: NodeOptions): Promise<string | undefined> {
    const bytes = await this.#scratch.find(await this.#scratch.key(UPLOAD), options)
    return bytes && new TextDecoder().decode(bytes)
  }
}

const isUploaded = ({ at }: PackedBytes): boolean => 'upload' in at
