import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { allocate, type DataOf, type DType, isBigInt, isFixed, type TypedArray, toBytes } from '../../../../src/core/dtype.ts'
import { eachIndex, sizeOf, stridesOf } from '../../../../src/core/shape.ts'
import type { Slice } from '../../../../src/grid/slice.ts'
import { slice } from '../../../../src/grid/slice.ts'

/** Random numbers that are the same for a seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** An integer from 0 to below a limit. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % limit
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  chance(percent: number): boolean {
    return this.below(100) < percent
  }
}

const FLOATS = [0, -0, Number.NaN, Infinity, -Infinity, 1.5, -2.25, 1e30]
const TEXTS = ['', 'a', 'ä€', '😀', 'long text '.repeat(9), 'b\0c']

/** An element of a type, the ends and what is special among them. */
export function elementFor(random: Random, dtype: DType): unknown {
  if (dtype === 'bool') return random.chance(50)
  if (dtype === 'string') return random.pick(TEXTS)
  if (dtype === 'binary') return new TextEncoder().encode(random.pick(TEXTS))
  if (dtype === 'float32' || dtype === 'float64') return random.chance(30) ? random.pick(FLOATS) : random.below(1000) / 8
  const unsigned = dtype.startsWith('u')
  if (isBigInt(dtype)) {
    const ends = unsigned ? [0n, 2n ** 64n - 1n, 2n ** 53n + 1n] : [0n, -(2n ** 63n), 2n ** 63n - 1n, -1n]
    return random.chance(30) ? random.pick(ends) : BigInt(random.below(100))
  }
  const bits = Number(/\d+$/.exec(dtype)![0])
  return random.chance(30) ? (unsigned ? 2 ** bits - 1 : -(2 ** (bits - 1))) : random.below(100)
}

/** Model of an array: every element in C order, changed one by one. */
export class Model<D extends DType = DType> {
  readonly dtype: D
  readonly fill: unknown
  shape: readonly number[]
  data: DataOf<D>

  constructor(dtype: D, shape: readonly number[], fill: unknown) {
    this.dtype = dtype
    this.fill = fill
    this.shape = shape
    this.data = this.#filled(sizeOf(shape))
  }

  /** Sets what slices select to values in C order. */
  set(slices: readonly Slice[], values: readonly unknown[]): void {
    const strides = stridesOf(this.shape)
    let next = 0
    eachIndex(slices.map(lengthOf), (index) => {
      const at = index.reduce((sum, i, axis) => sum + (slices[axis]!.start! + i * slices[axis]!.step!) * strides[axis]!, 0)
      this.data[at] = stored(values[next++]) as never
    })
  }

  resize(shape: readonly number[]): void {
    const [before, data] = [this.shape, this.data]
    this.shape = shape
    this.data = this.#filled(sizeOf(shape))
    const [from, to] = [stridesOf(before), stridesOf(shape)]
    eachIndex(
      shape.map((length, axis) => Math.min(length, before[axis]!)),
      (index) => {
        const place = (strides: readonly number[]): number => index.reduce((sum, i, axis) => sum + i * strides[axis]!, 0)
        this.data[place(to)] = data[place(from)] as never
      },
    )
  }

  #filled(count: number): DataOf<D> {
    const data = allocate(this.dtype, count)
    data.fill(stored(this.fill) as never)
    return data
  }
}

const stored = (value: unknown): unknown => (typeof value === 'boolean' ? Number(value) : value)

export const lengthOf = ({ start, stop, step }: Slice): number => Math.max(0, Math.ceil((stop! - start!) / step!))

/** Slices of an array, without steps or with some. */
export const someSlices = (random: Random, shape: readonly number[]): Slice[] =>
  shape.map((length) => {
    const start = random.below(length)
    return slice(start, random.between(start + 1, length), random.chance(20) ? random.between(1, 4) : 1)
  })

/** Array as a Python library reads it. Numbers are returned as their bytes. */
export interface ReadBack {
  readonly path: string
  readonly shape: readonly number[]
  readonly data: Uint8Array | readonly (string | Uint8Array)[]
}

const SCRIPT = fileURLToPath(new URL('read_back.py', import.meta.url))

export function readBack(
  env: NodeJS.ProcessEnv,
  folder: string,
  library: 'zarr' | 'tensorstore',
  paths: readonly string[],
): ReadBack[] {
  const text = execFileSync('python3', [SCRIPT, folder, library, ...paths], { env, encoding: 'utf8', maxBuffer: 2 ** 28 })
  const values = new Uint8Array(readFileSync(join(folder, 'values.bin')))
  interface Answer {
    readonly path: string
    readonly shape: readonly number[]
    readonly elements?: readonly (string | readonly number[])[]
    readonly offset?: number
    readonly length?: number
  }
  return (JSON.parse(text) as Answer[]).map(({ path, shape, elements, offset = 0, length = 0 }) => ({
    path,
    shape,
    data:
      elements?.map((each) => (typeof each === 'string' ? each : Uint8Array.from(each))) ?? values.slice(offset, offset + length),
  }))
}

/** The elements of a model as Python gives them. */
export const asRead = ({ dtype, shape, data }: Model): Omit<ReadBack, 'path'> => ({
  shape: [...shape],
  data: isFixed(dtype) ? new Uint8Array(toBytes(data as TypedArray)) : (data as (string | Uint8Array)[]),
})
