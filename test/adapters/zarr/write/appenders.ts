import { isDeepStrictEqual } from 'node:util'
import type { ZarrArray } from '../../../../src/adapters/zarr/group.ts'
import { isHyperslabError } from '../../../../src/core/errors.ts'
import { createZarr, openZarr, verifyZarr } from '../../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../../src/store/memory.ts'
import type {
  DeleteOptions,
  ObjectTail,
  PublishCondition,
  RangeOptions,
  Stage,
  Store,
  WholeOptions,
} from '../../../../src/store/store.ts'
import { type Fault, FaultStore } from '../../../../src/testing/index.ts'

/** Objects whose versions follow from their bytes alone, as on S3. */
class DigestStore extends MemoryStore {
  override async stat(key: string) {
    const found = await this.get(key)
    return found && { size: found.size, etag: found.etag }
  }

  override async get(key: string, options?: WholeOptions): Promise<ObjectTail | undefined> {
    const found = await super.get(key, options)
    return found && { ...found, etag: digest(found.bytes) }
  }

  override async getRange(key: string, offset: number, length: number, options?: RangeOptions) {
    return super.getRange(key, offset, length, options?.ifMatch === undefined ? options : { ifMatch: await this.#own(key, options.ifMatch) }) // biome-ignore format: one line
  }

  override async delete(key: string, options?: DeleteOptions): Promise<void> {
    return super.delete(key, options?.ifMatch === undefined ? options : { ifMatch: await this.#own(key, options.ifMatch) })
  }

  override async stage(): Promise<Stage> {
    const inner = await super.stage()
    const publish = inner.publish.bind(inner)
    inner.publish = async (key: string, tail: Uint8Array, condition: PublishCondition) => {
      const ifMatch = condition.ifMatch === undefined ? undefined : await this.#own(key, condition.ifMatch)
      await publish(key, tail, { ...condition, ifMatch })
      return (await this.stat(key))!
    }
    return inner
  }

  /** The version of the inner store that has these bytes. */
  async #own(key: string, etag: string): Promise<string> {
    const found = await super.get(key)
    return found !== undefined && digest(found.bytes) === etag ? found.etag : 'gone'
  }
}

const digest = (bytes: Uint8Array): string => {
  let hash = 0xcbf29ce484222325n
  for (const byte of bytes) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn
  return hash.toString(16)
}

/** A kind of array that grows along its first axis. */
export interface Layout {
  readonly version: 2 | 3
  readonly chunks: readonly number[]
  readonly shards?: readonly number[]
  /** Versions of objects follow from their bytes. */
  readonly isDigest?: boolean
}

const WIDTH = 3
const FILL = -1
const START = 5

/** An array of five rows below a group with consolidated metadata. */
export async function prepared({ version, chunks, shards, isDigest = false }: Layout): Promise<MemoryStore> {
  const store = isDigest ? new DigestStore() : new MemoryStore()
  const place = { store, path: 'a.zarr' }
  if (version === 3) {
    const group = await createZarr(place)
    const options = { dtype: 'int16', shape: [START, WIDTH], chunks, shards, fillValue: FILL, codec: 'none' } as const
    await group.createArray('x', options)
    await group.consolidate()
  } else {
    const array = { zarr_format: 2, shape: [START, WIDTH], chunks, dtype: '<i2', compressor: null, fill_value: FILL, order: 'C', filters: null } // biome-ignore format: one line
    const documents = { '.zgroup': { zarr_format: 2 }, 'x/.zarray': array }
    const all = { ...documents, '.zmetadata': { metadata: documents, zarr_consolidated_format: 1 } }
    for (const [key, value] of Object.entries(all))
      await store.put(`a.zarr/${key}`, new TextEncoder().encode(JSON.stringify(value)))
  }
  await (await writable(store)).set(null, rows(1, START))
  return store
}

export const writable = async (store: Store): Promise<ZarrArray<'int16'>> =>
  (await openZarr({ store, path: 'a.zarr' }, { kind: 'group', mode: 'r+' })).array('x', 'int16')

/** Rows that are all of one value. */
export const rows = (value: number, count: number): number[] => new Array(WIDTH * count).fill(value)

/**
 * The first elements of the rows that the array has, by its own metadata and by those that are consolidated.
 */
async function stored(store: Store): Promise<number[]> {
  const found = await Promise.all(
    [true, false].map(async (consolidated) => {
      const group = await openZarr({ store, path: 'a.zarr' }, { kind: 'group', consolidated })
      return [...(await (await group.array('x', 'int16')).toTensor()).data]
    }),
  )
  if (!isDeepStrictEqual(found[0], found[1])) throw new Error(`consolidated ${found[0]}, own ${found[1]}`)
  const values = found[1]!
  const heads = values.filter((_, i) => i % WIDTH === 0)
  if (
    !isDeepStrictEqual(
      values,
      heads.flatMap((value) => rows(value, 1)),
    )
  )
    throw new Error(`torn rows: ${values}`)
  return heads
}

/** An appender whose store has a fault at one of its operations, or stops there. */
export interface Trial {
  readonly layout: Layout
  /** The operation. */
  readonly at: number
  /** `'stop'` holds up this operation and all that follow until others have appended. */
  readonly fault: Fault | 'stop'
  /** Rows of the appender with the fault, and of those after it; the last one appends rows of fill. */
  readonly counts: readonly [number, number, number]
}

/**
 * One process appends, and something goes wrong; then others append, late requests arrive, and the array
 * grows.
 * @returns whether the fault happened
 * @throws for rows that are lost, torn, twice or out of order
 */
export async function tryAppend({ layout, at, fault, counts }: Trial): Promise<boolean> {
  const inner = await prepared(layout)
  let go: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  let isReady = false
  let count = 0
  let isReached: () => void = () => undefined
  const reached = new Promise<void>((resolve) => {
    isReached = resolve
  })
  const store = new FaultStore(inner, {
    faults: async () => {
      if (!isReady) return undefined
      const number = count++
      if (number >= at) isReached()
      if (fault !== 'stop') return number === at ? fault : undefined
      if (number >= at) await gate
      return undefined
    },
  })
  const a = await writable(store)
  isReady = true
  let error: unknown
  const first = a.append(0, rows(2, counts[0])).catch((reason: unknown) => {
    error = reason
  })
  await (fault === 'stop' ? Promise.race([reached, first]) : first)
  const happened = count > at
  await (await writable(inner)).append(0, rows(3, counts[1]))
  go()
  await first
  await store.runLate()
  if (error !== undefined && !isHyperslabError(error)) throw error
  const c = await writable(inner)
  await c.append(0, rows(FILL, counts[2]))
  const found = await stored(inner)
  const of = (value: number, length: number): number[] => new Array(length).fill(value)
  const own = of(2, counts[0])
  const before = [...of(1, START), ...own, ...of(3, counts[1]), ...of(FILL, counts[2])]
  const without = [...of(1, START), ...of(3, counts[1]), ...of(FILL, counts[2])]
  // The fault comes after the publication, or is no fault for it.
  const after = [...of(1, START), ...of(3, counts[1]), ...own, ...of(FILL, counts[2])]
  const allowed = error === undefined ? [before, after] : [before, without]
  if (!allowed.some((each) => isDeepStrictEqual(each, found)))
    throw new Error(`${error === undefined ? 'acknowledged' : `refused (${error})`}, stored ${found}`)
  await c.resize([found.length + 4, WIDTH])
  const grown = await stored(inner)
  if (!isDeepStrictEqual(grown, [...found, ...of(FILL, 4)])) throw new Error(`after growing, stored ${grown}`)
  const { ok, findings } = await verifyZarr({ store: inner, path: 'a.zarr' })
  if (!ok || findings.length > 0) throw new Error(`findings: ${JSON.stringify(findings)}`)
  return happened
}
