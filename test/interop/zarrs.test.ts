import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { allocate, type DType, type FixedDType, isFixed, type TypedArray, toBytes } from '../../src/core/dtype.ts'
import { eachIndex, sizeOf } from '../../src/core/shape.ts'
import type { MatrixCase } from '../adapters/zarr/matrix.ts'
import { expectSameCase } from '../adapters/zarr/same-cases.ts'
import { randoms } from '../kernels/support.ts'
import { byBudget, seedOf } from '../support/budget.ts'
import { programAt } from './peer.ts'

/** More cases and another seed, for long runs. */
const COUNT = byBudget({ quick: 100, full: 100, soak: 1000 })
const SEED = seedOf('zarrs', 1)

/** By their names in the matrix of arrays. */
const TYPES: Record<string, [type: string, dtype: DType]> = {
  '?': ['bool', 'bool'],
  i1: ['int8', 'int8'],
  i2: ['int16', 'int16'],
  i4: ['int32', 'int32'],
  i8: ['int64', 'int64'],
  u1: ['uint8', 'uint8'],
  u2: ['uint16', 'uint16'],
  u8: ['uint64', 'uint64'],
  f4: ['float32', 'float32'],
  f8: ['float64', 'float64'],
  text: ['string', 'string'],
}
/**
 * None is empty: zarrs takes a chunk for one of nothing but the fill value where all its texts together
 * repeat that, however often.
 */
const WORDS = ['a', 'Köln', '日本', 'x'.repeat(40)]

type Elements = TypedArray | string[]

class Generator {
  readonly #next: () => number

  constructor(seed: number) {
    this.#next = randoms(seed)
  }

  /** From 0 to `end`, without it. */
  below(end: number): number {
    return this.#next() % end
  }

  chance(share: number): boolean {
    return this.#next() < share * 2 ** 32
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  /**
   * Lengths of chunks along an axis as metadata may spell them, and a length of the axis that they cover; all
   * are multiples of `unit`.
   */
  axis(unit: number): { readonly spelt: unknown; readonly length: number } {
    const size = (): number => unit * (1 + this.below(4))
    if (this.chance(0.25)) return { spelt: size(), length: 1 + this.below(14) }
    const lengths = Array.from({ length: 1 + this.below(4) }, () => [size(), 1 + this.below(3)] as const)
    const spelt = lengths.flatMap<unknown>(([bytes, times]) =>
      this.chance(0.5) ? [[bytes, times]] : Array<unknown>(times).fill(bytes),
    )
    const total = lengths.reduce((sum, [bytes, times]) => sum + bytes * times, 0)
    const last = lengths.at(-1)![0]
    return { spelt, length: total - (this.chance(0.5) ? this.below(last) : 0) }
  }

  elements(dtype: DType, count: number): Elements {
    if (!isFixed(dtype)) return Array.from({ length: count }, () => this.pick(WORDS))
    const data = allocate(dtype as FixedDType, count) as TypedArray
    const bytes = new Uint8Array(data.buffer)
    const few = this.chance(0.5)
    for (let i = 0; i < bytes.length; i++) bytes[i] = dtype === 'bool' ? this.below(2) : few && i % 3 > 0 ? 0 : this.below(256)
    return data
  }

  /** A permutation of axes, or none. */
  transpose(rank: number): object[] {
    if (rank < 2 || this.chance(0.6)) return []
    const order = Array.from({ length: rank }, (_, axis) => axis)
    order.splice(this.below(rank), 0, ...order.splice(this.below(rank), 1))
    return [{ name: 'transpose', configuration: { order } }]
  }

  codecs(name: string, rank: number): object[] {
    const bytes =
      name === 'text' ? { name: 'vlen-utf8' } : { name: 'bytes', configuration: { endian: this.pick(['little', 'big']) } }
    const shuffle = { name: 'numcodecs.shuffle', configuration: { elementsize: 2 } }
    const packed = this.pick([
      [],
      [{ name: 'gzip', configuration: { level: 5 } }],
      [{ name: 'zstd', configuration: { level: 1, checksum: true } }],
      [{ name: 'zstd', configuration: { level: 5, checksum: false } }],
      [{ name: 'numcodecs.zlib', configuration: { level: 5 } }],
      // A codec of which only decoding tells how long its result is, before another one.
      [
        { name: 'zstd', configuration: { level: 1, checksum: false } },
        { name: 'gzip', configuration: { level: 1 } },
      ],
      [
        { name: 'gzip', configuration: { level: 1 } },
        { name: 'zstd', configuration: { level: 1, checksum: true } },
      ],
    ])
    // Not fletcher32: of an odd number of bytes zarrs leaves out the last.
    const check = this.pick([[], [], [{ name: 'crc32c' }], [{ name: 'numcodecs.adler32' }]])
    const isEven = /[iuf][248]/.test(name) && this.chance(0.3)
    return [...this.transpose(rank), bytes, ...(isEven ? [shuffle] : []), ...packed, ...check]
  }
}

interface Part {
  readonly start: readonly number[]
  readonly shape: readonly number[]
  readonly elements: Elements
}

/** An array: its metadata, what is written to it, and what it reads as then. */
function makeCase(seed: number): {
  name: string
  metadata: Record<string, unknown> & { shape: number[] }
  parts: Part[]
  data: Elements
} {
  const generator = new Generator(seed)
  const name = generator.pick(Object.keys(TYPES))
  const [type, dtype] = TYPES[name]!
  const rank = 1 + generator.below(3)
  const inner = Array.from({ length: rank }, () => 1 + generator.below(3))
  const isSharded = generator.chance(0.4)
  const axes = inner.map((length) => generator.axis(isSharded ? length : 1))
  const shape = axes.map(({ length }) => length)
  const codecs = generator.codecs(name, rank)
  const index_codecs = [{ name: 'bytes', configuration: { endian: generator.pick(['little', 'big']) } }, { name: 'crc32c' }]
  const sharding = { chunk_shape: inner, codecs, index_codecs, index_location: generator.pick(['start', 'end']) }
  const fill = generator.elements(dtype, 1)[0]!
  const isNumber = typeof fill === 'number' && /[iu?]/.test(name)
  const fillValue = name === 'text' ? fill : name === '?' ? fill === 1 : isNumber ? fill : 3
  const separator = generator.pick(['/', '.'])
  const metadata = {
    zarr_format: 3,
    node_type: 'array',
    shape,
    data_type: type,
    chunk_grid: { name: 'rectilinear', configuration: { kind: 'inline', chunk_shapes: axes.map(({ spelt }) => spelt) } },
    chunk_key_encoding: { name: generator.pick(['default', 'v2']), configuration: { separator } },
    fill_value: fillValue,
    codecs: isSharded ? [{ name: 'sharding_indexed', configuration: sharding }] : codecs,
  }
  const data = allocate(dtype, sizeOf(shape)) as Elements
  const filling = typeof data[0] === 'bigint' ? 3n : name === '?' ? fill : fillValue
  for (let i = 0; i < data.length; i++) data[i] = filling as never
  const parts = Array.from({ length: generator.below(4) }, () => {
    const isWhole = generator.chance(0.4)
    const start = shape.map((length) => (isWhole ? 0 : generator.below(length)))
    const box = shape.map((length, axis) => (isWhole ? length : 1 + generator.below(length - start[axis]!)))
    const elements = generator.elements(dtype, sizeOf(box))
    let at = 0
    eachIndex(box, (index) => {
      let place = 0
      for (const [axis, length] of shape.entries()) place = place * length + start[axis]! + index[axis]!
      data[place] = elements[at++] as never
    })
    return { start, shape: box, elements }
  })
  return { name, metadata, parts, data }
}

const port = inject('zarrsPort')

test.skipIf(port === undefined)(
  'arrays with chunks of any lengths that zarrs writes read the same here',
  { timeout: 1_800_000 },
  async () => {
    const program = await programAt(port!)
    const folder = mkdtempSync(join(tmpdir(), 'hyperslab-zarrs-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const stored: Uint8Array[] = []
    let end = 0
    const all = Array.from({ length: COUNT }, (_, i) => ({ path: `/${i}`, ...makeCase(SEED * 1_000_003 + i) }))
    const cases = all.map(({ path, metadata, parts }) => ({
      path,
      metadata,
      parts: parts.map(({ start, shape, elements }) => {
        if (Array.isArray(elements)) return { start, shape, texts: elements }
        const bytes = toBytes(elements)
        stored.push(bytes)
        end += bytes.length
        return { start, shape, bytes: [end - bytes.length, bytes.length] }
      }),
    }))
    writeFileSync(join(folder, 'cases.json'), JSON.stringify(cases))
    writeFileSync(join(folder, 'elements.bin'), Buffer.concat(stored))
    execFileSync(program, [folder], { stdio: ['ignore', 'inherit', 'inherit'] })
    const elements = new Map<unknown, Uint8Array | string[]>()
    for (const { path, name, metadata, data } of all) {
      const one: MatrixCase = {
        path: path.slice(1),
        version: 3,
        name,
        shape: metadata.shape,
        chunks: [],
        codecs: [JSON.stringify(metadata)],
      }
      elements.set(one, Array.isArray(data) ? data : toBytes(data))
      await expectSameCase({ folder, elementsOf: (which) => elements.get(which)! }, one, SEED)
    }
    expect(elements.size).toBe(COUNT)
  },
)
