import { type DType, type FixedDType, isFixed, isFloat } from '../core/dtype.js'
import { sizeOf } from '../core/shape.js'
import type { Arena } from '../kernels/arena.js'
import { chunkStats as statsOf } from '../kernels/reduce.js'
import type { ArrayState } from './array-state.js'
import { type ChunkBytes, viewOf } from './block.js'
import { type Definition, dtypeOf } from './definition.js'
import { fromFill } from './fill.js'
import { floatFill, type StatValue } from './footer-values.js'
import type { ArrayStats } from './stats-file.js'
import { decodeChunk } from './values.js'

/** What one chunk contributes: its extremes, fill values apart, and how many elements are not fill. */
export interface ChunkStats {
  readonly min: Extreme | undefined
  readonly max: Extreme | undefined
  readonly taken: number
}

type Extreme = number | bigint | Uint8Array

/** Statistics of an array, as users see them. Elements equal to the fill value, and those nobody wrote, count as null. */
export interface Statistics {
  readonly min: number | bigint | string | Uint8Array | undefined
  readonly max: number | bigint | string | Uint8Array | undefined
  readonly nullCount: number
  readonly rowCount: number
}

/**
 * Which fill value statistics take for "null": narrower rules than those of reading, as the format has them. Floats compare with `==`,
 * and a NaN fill matches every NaN.
 */
function nullOf({ dtype, fillValue }: Definition): number | bigint | string | undefined {
  if (fillValue === null || dtype.kind === 'list' || dtype.kind === 'fixed_size_list') return undefined
  const kinds: Partial<Record<DType, readonly string[]>> = {
    bool: ['bool'],
    float32: ['float'],
    float64: ['float'],
    string: ['string'],
    binary: ['string'],
    timestamp_ns: ['timestamp_ns', 'int'],
  }
  if (!(kinds[dtype.kind] ?? ['int', 'uint']).includes(fillValue.kind)) return undefined
  if (dtype.kind === 'binary') return fillValue.kind === 'string' ? fillValue.value : undefined
  const value = fromFill(dtype.kind, fillValue)
  return typeof value === 'boolean' ? Number(value) : (value as number | bigint | string | undefined)
}

/** Takes the statistics of a chunk that is in memory anyway. */
export function measure(arena: Arena, state: ArrayState, number: number, bytes: ChunkBytes): void {
  const shape = state.grid.shapeOf(state.grid.index(number))
  state.chunkStats.set(number, statsOfChunk(arena, state.definition, bytes, shape))
}

/** @param shape of the chunk as stored */
function statsOfChunk(arena: Arena, definition: Definition, chunk: ChunkBytes, shape: readonly number[]): ChunkStats {
  const dtype = dtypeOf(definition)
  const count = sizeOf(shape)
  if (!isFixed(dtype))
    return statsOfValues(decodeChunk(dtype, viewOf(arena, chunk), count) as (string | Uint8Array)[], nullOf(definition))
  const pointer = chunk instanceof Uint8Array ? arena.put(chunk) : chunk.pointer
  const { min, max, taken } = statsOf(
    arena,
    dtype as FixedDType,
    pointer,
    count,
    nullOf(definition) as number | bigint | undefined,
  )
  return taken === 0 ? { min: undefined, max: undefined, taken } : { min, max, taken }
}

function statsOfValues(values: readonly (string | Uint8Array)[], nothing: unknown): ChunkStats {
  const utf8 = new TextEncoder()
  const skipped = typeof nothing === 'string' ? utf8.encode(nothing) : undefined
  const taken = values
    .map((value) => (typeof value === 'string' ? utf8.encode(value) : value))
    .filter((value) => skipped === undefined || compareBytes(value, skipped) !== 0)
  if (taken.length === 0) return { min: undefined, max: undefined, taken: 0 }
  const min = taken.reduce((a, b) => (compareBytes(b, a) < 0 ? b : a))
  const max = taken.reduce((a, b) => (compareBytes(b, a) > 0 ? b : a))
  return { min, max, taken: taken.length }
}

/** The statistics of an array from those of its chunks; chunks nobody wrote are all null. */
export function combine({ name, dtype, shape }: Definition, chunks: Iterable<ChunkStats>): ArrayStats {
  let min: Extreme | undefined
  let max: Extreme | undefined
  let taken = 0
  for (const chunk of chunks) {
    taken += chunk.taken
    if (chunk.taken === 0) continue
    if (min === undefined || compare(chunk.min!, min) < 0) min = chunk.min!
    if (max === undefined || compare(chunk.max!, max) > 0) max = chunk.max!
  }
  const rowCount = sizeOf(shape)
  const kind = dtype.kind
  return {
    name,
    min: toStat(kind, min),
    max: toStat(kind, max),
    nullCount: BigInt(Math.max(0, rowCount - taken)),
    rowCount: BigInt(rowCount),
  }
}

function toStat(kind: string, value: Extreme | undefined): StatValue | null {
  if (value === undefined) return null
  if (value instanceof Uint8Array) return { kind: 'bytes', value }
  if (isFloat(kind as DType)) return floatFill(value as number)
  if (kind === 'timestamp_ns') return { kind, value: value as bigint }
  return { kind: kind === 'bool' || kind.startsWith('uint') ? 'uint' : 'int', value: BigInt(value) }
}

/** Statistics as stored, for users: numbers where the array has numbers, strings for strings. */
export function present(kind: string, { min, max, nullCount, rowCount }: ArrayStats): Statistics {
  const show = (stat: StatValue | null): Statistics['min'] => {
    if (stat === null) return undefined
    if (stat.kind === 'bytes') return kind === 'string' ? new TextDecoder().decode(stat.value) : stat.value
    if (stat.kind === 'float') return stat.value
    return kind.endsWith('64') || kind === 'timestamp_ns' ? stat.value : Number(stat.value)
  }
  return { min: show(min), max: show(max), nullCount: Number(nullCount), rowCount: Number(rowCount) }
}

/** Numbers in IEEE 754's total order (-NaN, -Infinity, …, -0, +0, …, Infinity, NaN), bytes lexicographically. */
function compare(a: Extreme, b: Extreme): number {
  if (a instanceof Uint8Array) return compareBytes(a, b as Uint8Array)
  if (typeof a === 'bigint') return a < (b as bigint) ? -1 : Number(a > (b as bigint))
  const [left, right] = [totalOrder(a), totalOrder(b as number)]
  return left < right ? -1 : Number(left > right)
}

function totalOrder(value: number): bigint {
  const bits = new BigInt64Array(new Float64Array([value]).buffer)[0]!
  return bits < 0n ? bits ^ 0x7fffffffffffffffn : bits
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!
  return a.length - b.length
}
