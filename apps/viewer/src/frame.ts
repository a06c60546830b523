// Values of a picture in memory.
import type { DataArray } from 'hyperslab/dataset'
import type { Cells, Region } from './plane.ts'

/** Values row by row; missing ones are NaN. */
export interface Frame extends Cells {
  /** Key of the array that the frame shows, independent of the region. */
  readonly of: string
  readonly values: Float32Array | Float64Array
  readonly missing: number
}

/** Region of a plane that a frame contains. */
interface FramePlace extends Pick<Frame, 'plane' | 'of'> {
  readonly region: Region
}

/** Reads a two-dimensional array with the cells of a region. */
export async function readFrame(array: DataArray, { plane, region, of }: FramePlace, signal: AbortSignal): Promise<Frame> {
  const upright = array.dims[0] === plane.y.dim ? array.array : array.array.transpose([1, 0])
  const { data, shape } = await upright.get([null, null], { signal })
  const values = toFloats(array, data as ArrayLike<number | bigint>)
  let missing = 0
  for (let i = 0; i < values.length; i++) if (Number.isNaN(values[i]!)) missing++
  const { from, steps } = region
  return { values, rows: shape[0]!, columns: shape[1]!, from, steps, plane, of, missing }
}

/**
 * Converts elements to floats, and times to seconds since 1970. Missing elements become NaN.
 * @throws Error for 64-bit integers that no float represents
 */
export function toFloats({ array, dtype, name }: DataArray, data: ArrayLike<number | bigint>): Float32Array | Float64Array {
  const missing = array.missing.values as readonly (number | bigint)[]
  const isFloat = data instanceof Float32Array || data instanceof Float64Array
  if (isFloat && missing.length === 0) return data
  const floats = data instanceof Float32Array ? data : new Float64Array(data.length)
  const scale = dtype === 'timestamp_ns' ? 1e-9 : 1
  for (let i = 0; i < data.length; i++) {
    const value = data[i]!
    if (missing.includes(value)) floats[i] = Number.NaN
    else if (scale === 1 && typeof value === 'bigint' && BigInt(Number(value)) !== value)
      throw new Error(`${name} has the value ${value}, which no number of this page is exactly`)
    else floats[i] = Number(value) * scale
  }
  return floats
}

/** Limit for the frames kept, in bytes. */
const KEPT_BYTES = 2 ** 27

/** Cache of frames by key, which evicts the least recently used ones. */
export class FrameCache {
  readonly #frames = new Map<string, Frame>()
  #bytes = 0

  get(key: string): Frame | undefined {
    const frame = this.#frames.get(key)
    if (frame !== undefined) {
      this.#frames.delete(key)
      this.#frames.set(key, frame)
    }
    return frame
  }

  set(key: string, frame: Frame): void {
    this.#drop(key)
    this.#frames.set(key, frame)
    this.#bytes += frame.values.byteLength
    for (const oldest of this.#frames.keys()) {
      if (this.#bytes <= KEPT_BYTES || oldest === key) break
      this.#drop(oldest)
    }
  }

  clear(): void {
    this.#frames.clear()
    this.#bytes = 0
  }

  get bytes(): number {
    return this.#bytes
  }

  #drop(key: string): void {
    this.#bytes -= this.#frames.get(key)?.values.byteLength ?? 0
    this.#frames.delete(key)
  }
}
