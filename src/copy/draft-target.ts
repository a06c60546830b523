import { ArrayFile } from '../af/file.ts'
import { listSidecars } from '../af/layers/listed.ts'
import { Paths } from '../af/layers/paths.ts'
import { withDefaults } from '../af/settings.ts'
import { copyStored, type StoredArrays } from '../af/write/copy-stored.ts'
import { checkFree, checkWrites, findReplaced, type Replaced } from '../af/write/create.ts'
import { checkAlone } from '../af/write/immutable.ts'
import { checkNewName } from '../af/write/occupied.ts'
import { checkCopy } from '../array/iteration.ts'
import { copyRegion, type RegionOptions } from '../array/lazy/rechunk-to.ts'
import { codecsByName } from '../codec/registry.ts'
import { HyperslabError, isHyperslabError, messageOf, within } from '../core/errors.ts'
import type { RechunkPlan } from '../grid/rechunk-plan.ts'
import { draftName } from '../store/fs/names.ts'
import type { StoredAt } from '../store/store.ts'
import { isWritable } from '../store/writable.ts'
import { type Location, resolveLocation } from '../tree/location.ts'
import {
  type ArrayCopy,
  checkChunks,
  containerSettings,
  defineCopies,
  FILE_ARRAY,
  type ImportOptions,
  type ImportResult,
  type ImportSource,
  planCopy,
} from './import-arrays.ts'
import { checkSources, placesRead } from './replace/apart.ts'
import { checkReplacing } from './replace/file.ts'
import { abandonAfter, copyHere } from './run.ts'
import type { CopyTask, OwnTarget } from './target.ts'

/**
 * Copies arrays into a container of a single file. It is written under a temporary name, and appears when it
 * is complete.
 * @param call name of the called function in messages
 * @param open opens the source, after the target was checked
 */
export async function writeContainer(
  call: string,
  open: () => Promise<ImportSource>,
  location: Location,
  { sources = [], ...options }: ImportOptions & { readonly sources?: readonly Location[] | undefined },
): Promise<ImportResult> {
  codecsByName(options.codecs ?? [])
  const place = await resolveLocation(location)
  const { store } = place
  try {
    const replaced = await checkPlace(place, options)
    await using source = await open()
    await checkSources([...sources, ...(await placesRead(source.arrays))], place)
    checkChunks(call, source, options)
    const target = new DraftTarget(place, source, replaced, options)
    const { signal, onProgress } = options
    await copyHere(target, { signal, onProgress })
    return target.result
  } finally {
    await store.close?.()
  }
}

/**
 * Checks the place of a new container.
 * @returns the container that it replaces; undefined without `overwrite`
 */
function checkPlace(
  { store, path }: StoredAt,
  { overwrite = false, immutable = false }: ImportOptions,
): Promise<Replaced | undefined> {
  return within({ file: store.describe(path) }, async () => {
    const paths = new Paths(path)
    checkWrites(store)
    await checkNewName({ store, path })
    if (immutable) await checkAlone({ store, paths })
    if (!overwrite) {
      await checkFree(store, paths)
      return undefined
    }
    // The old container stays until the copy is complete.
    const there = await findReplaced(store, paths)
    if (there.etag !== undefined) await checkReplacing({ store, path })
    return there
  })
}

/**
 * A container that one process writes. Elements go to a draft, whose blocks may hold chunks of several
 * regions. Publication packs them in order into the container. Arrays that are copied as they are stored need
 * no draft.
 */
class DraftTarget implements OwnTarget<never> {
  readonly #place: StoredAt
  readonly #draft: Paths
  readonly #source: ImportSource
  readonly #replaced: Replaced | undefined
  readonly #options: ImportOptions
  readonly #warnings: string[] = []
  #file: ArrayFile | undefined
  #arrays: ReadonlyMap<string, ArrayCopy> = new Map()
  #bytes = 0

  constructor(place: StoredAt, source: ImportSource, replaced: Replaced | undefined, options: ImportOptions) {
    this.#place = place
    this.#draft = new Paths(draftName(new Paths(place.path).stem))
    this.#source = source
    this.#replaced = replaced
    this.#options = options
  }

  get arrays(): readonly ArrayCopy[] {
    return [...this.#arrays.values()]
  }

  get result(): ImportResult {
    const { stored, arrays, warnings } = this.#source
    const names = stored === undefined ? arrays.map(({ name }) => name) : namesIn(stored)
    const all = [...warnings, ...this.#warnings].map((warning) => this.#named(warning))
    return { arrays: names, bytes: this.#bytes, warnings: all }
  }

  /** Creates the draft, once. */
  async claim(): Promise<boolean> {
    if (this.#file !== undefined || this.#source.stored !== undefined) return false
    try {
      await this.#renamed(() => this.#create())
    } catch (error) {
      await abandonAfter(error, this)
    }
    return false
  }

  async #create(): Promise<void> {
    this.#file = await ArrayFile.create(this.#place.store, this.#draft.base, containerSettings(this.#options))
    const { copies, warnings } = defineCopies(this.#file, this.#source, this.#options)
    this.#warnings.push(...warnings)
    this.#arrays = new Map(copies.map((each) => [each.name, each]))
    for (const { array, to } of copies) checkCopy(array.source, to.source)
  }

  plan(name: string, maxBytes: number): RechunkPlan {
    return planCopy(this.#arrays.get(name)!, maxBytes)
  }

  async write({ name, regions, number }: CopyTask, options: RegionOptions): Promise<never[]> {
    const { array, to } = this.#arrays.get(name)!
    const copied = () => copyRegion(array.source, to.source, regions.write, number, options)
    await this.#renamed(() => within(array.source.label ?? {}, copied))
    return []
  }

  async publish(): Promise<void> {
    const { store, path } = this.#place
    const { immutable = false, signal, onProgress } = this.#options
    await this.#renamed(async () => {
      await this.#file?.flush()
      signal?.throwIfAborted()
      const settings = await withDefaults(containerSettings(this.#options))
      // Copies blocks without encoding them again, because the draft already used the final codec.
      const files = {
        store,
        paths: new Paths(path),
        options: this.#file === undefined ? settings : { ...settings, recode: false },
      }
      const stored = this.#file?.stored ?? this.#source.stored!
      // Progress was reported while the draft was written.
      const how = { immutable, signal, ...(this.#file === undefined && { onProgress }) }
      const done = await within({ file: store.describe(path) }, () => copyStored(files, stored, this.#replaced, how))
      this.#bytes = done.bytes
      this.#warnings.push(...(this.#file?.warnings() ?? []), ...done.warnings)
    })
  }

  /** Removes the draft. The container is complete even if that fails. */
  async clean(): Promise<void> {
    await this.abandon().catch((left: unknown) => {
      this.#warnings.push(`temporary files could not be removed: ${messageOf(left)}`)
    })
  }

  async abandon(): Promise<void> {
    const { store } = this.#place
    await this.#file?.close()
    if (!isWritable(store) || this.#source.stored !== undefined) return
    for (const number of await listSidecars(store, this.#draft)) await store.delete(this.#draft.sidecar(number))
    await store.delete(this.#draft.base)
    await store.delete(this.#draft.stats)
  }

  /** Runs work whose errors name the container instead of the draft. */
  async #renamed(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isHyperslabError(error) || this.#named(error.message) === error.message) throw error
      throw new HyperslabError(error.tag, this.#named(error.message), { cause: error })
    }
  }

  #named(text: string): string {
    const { store, path } = this.#place
    return text.replaceAll(store.describe(this.#draft.base), store.describe(path))
  }
}

const namesIn = ({ states }: StoredArrays): string[] => {
  const names = states.filter(({ definition: { name, shape } }) => name !== FILE_ARRAY || shape.length > 0)
  return names.map(({ definition }) => definition.name)
}
