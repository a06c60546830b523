import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ZarrArray } from '../../../src/adapters/zarr/group.ts'
import { Hierarchy } from '../../../src/adapters/zarr/hierarchy.ts'
import type { ShardLevel, ZarrArrayMetadata } from '../../../src/adapters/zarr/metadata.ts'
import { indexBytes } from '../../../src/adapters/zarr/shard-table.ts'
import { planChunks, tableShape } from '../../../src/adapters/zarr/shards.ts'
import { isFixed, isNumeric } from '../../../src/core/dtype.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { sizeOf } from '../../../src/core/shape.ts'
import { crc32cOf } from '../../../src/kernels/crc32c.ts'
import { createPool } from '../../../src/pool/pool.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { mutated } from '../../support/mutated.ts'
import { type Matrix, readerOf } from './matrix.ts'

/** Tags of the errors that damaged chunks and shards may cause. */
const TAGS = ['CodecError', 'FormatError', 'IntegrityError', 'TooLargeError', 'UnsupportedError'] as const
const CHECKSUMS = ['crc32c', 'crc32']
const LIMITS = { blockBytes: 2 ** 22 }

interface Whole {
  readonly path: string
  readonly store: MemoryStore
  readonly metadata: ZarrArrayMetadata
  /** Chunks and shards. */
  readonly objects: readonly (readonly [key: string, bytes: Uint8Array])[]
  /** The outermost of shards. */
  readonly level: ShardLevel | undefined
  readonly values: ArrayLike<unknown>
}

/** Arrays of a matrix, of which one chunk or shard is damaged at a time. */
export class DamagedArrays {
  readonly #pool = createPool({ size: 1 })
  readonly #arrays: readonly Whole[]

  private constructor(arrays: readonly Whole[]) {
    this.#arrays = arrays
  }

  static async of({ folder, cases }: Matrix): Promise<DamagedArrays> {
    const all = await Promise.all(cases.map(async ({ path }) => load(join(folder, path), path)))
    return new DamagedArrays(all.filter(({ objects }) => objects.length > 0))
  }

  /**
   * Damages a chunk, or a shard, of one of the arrays, and reads all of it.
   * @param next gives numbers in [0, 1)
   * @returns what came of it: an error that says what is wrong, or values, which may be wrong in that chunk
   *   or shard, if no checksum tells
   * @throws for anything else
   */
  async damage(next: () => number): Promise<'accepted' | 'refused'> {
    const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!
    const whole = pick(this.#arrays)
    const { path, store, metadata, level } = whole
    const [key, bytes] = pick(whole.objects)
    const shard = metadata.chunks as readonly number[]
    const damaged = level !== undefined && next() < 0.5 ? await withIndex(bytes, level, shard, next) : mutated(bytes, next)
    await store.put(key, damaged)
    const pool = next() < 0.2 ? this.#pool : undefined
    try {
      const array = (await openZarr({ store, path: '' }, { kind: 'array', limits: LIMITS, ...(pool && { pool }) })) as ZarrArray
      const { data } = await array.toTensor()
      if (pool !== undefined && isNumeric(array.dtype)) await array.max({ skipMissing: false })
      check(whole, bytes, damaged, data as ArrayLike<unknown>)
      return 'accepted'
    } catch (error) {
      if (isHyperslabError(error, ...TAGS) && error.message.includes(key)) return 'refused'
      throw new Error(`${path}, ${key} (${metadata.codecs.map(({ name }) => name)}): ${(error as Error).stack}`, { cause: error })
    } finally {
      await store.put(key, bytes)
    }
  }

  /** Reason why the pool's worker did no work. */
  get inlineReason(): unknown {
    return this.#pool.inlineReason
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

async function load(folder: string, path: string): Promise<Whole> {
  const store = new MemoryStore()
  const objects: [string, Uint8Array][] = []
  for (const key of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!statSync(join(folder, key)).isFile()) continue
    const bytes = new Uint8Array(readFileSync(join(folder, key)))
    await store.put(key, bytes)
    if (!/zarr.json|\.zarray|\.zattrs|\.zgroup/.test(key)) objects.push([key, bytes])
  }
  const node = await new Hierarchy(readerOf(folder), { file: path }).node('')
  if (node?.kind !== 'array') throw new Error(`${path} is no array`)
  const { metadata } = node
  const [level] = planChunks(metadata).levels
  const array = (await openZarr({ store, path: '' }, { kind: 'array' })) as ZarrArray
  const { data } = await array.toTensor()
  return { path, store, metadata, objects, level, values: data as ArrayLike<unknown> }
}

/** The shard with numbers in its index that are wrong, behind a checksum that is right. */
async function withIndex(
  bytes: Uint8Array,
  level: ShardLevel,
  shardShape: readonly number[],
  next: () => number,
): Promise<Uint8Array> {
  const count = sizeOf(tableShape(shardShape, level))
  const length = await indexBytes(level.indexCodecs, count)
  const out = bytes.slice()
  const index = new DataView(out.buffer, level.indexAtStart ? 0 : out.length - length, length)
  const isLittle = level.indexCodecs[0]!.configuration['endian'] !== 'big'
  for (let left = 1 + Math.floor(next() * 3); left > 0; left--) {
    const at = 8 * Math.floor(next() * 2 * count)
    const near = BigInt(Math.floor(next() * (out.length + 20)))
    const values = [
      near,
      near,
      near,
      0n,
      1n,
      2n ** 31n,
      2n ** 32n,
      2n ** 53n,
      2n ** 63n,
      2n ** 64n - 1n,
      2n ** 64n - BigInt(out.length),
    ]
    index.setBigUint64(at, values[Math.floor(next() * values.length)]!, isLittle)
  }
  if (level.indexCodecs.at(-1)!.name === 'crc32c')
    index.setUint32(16 * count, crc32cOf(new Uint8Array(out.buffer, index.byteOffset, 16 * count)), true)
  return out
}

function check({ metadata, level, values }: Whole, stored: Uint8Array, damaged: Uint8Array, data: ArrayLike<unknown>): void {
  if (data.length !== values.length) throw new Error(`${data.length} elements instead of ${values.length}`)
  let others = 0
  for (let i = 0; i < data.length; i++) {
    if (typeof data[i] !== typeof values[i]) throw new Error(`a ${typeof data[i]} for a ${typeof values[i]}`)
    if (metadata.type.dtype === 'bool' && (data[i] as number) > 1) throw new Error(`${data[i]} for a bool`)
    if (!isSame(data[i], values[i])) others++
  }
  if (others > sizeOf(metadata.chunks as readonly number[])) throw new Error(`${others} elements are others than before`)
  const isChecked = level === undefined && CHECKSUMS.includes(metadata.codecs.at(-1)!.name)
  if (isChecked && Buffer.compare(stored, damaged) !== 0) throw new Error('the checksum is that of other bytes')
  if (isFixed(metadata.type.dtype) && !ArrayBuffer.isView(data)) throw new Error('no typed array')
}

const isSame = (a: unknown, b: unknown): boolean =>
  a instanceof Uint8Array ? Buffer.compare(a, b as Uint8Array) === 0 : Object.is(a, b)
