import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { encodeFooter } from '../../src/af/format/encode.ts'
import { decodeFooter, FOOTER_MAGIC } from '../../src/af/format/footer.ts'
import { STATS_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { decodeStats, encodeStats, type StatValue, splitFile } from '../../src/af/format/stats-file.ts'
import { allocate, type DataOf, type DType } from '../../src/core/dtype.ts'
import { type ArrayFile, type FileArray, open, type Tensor } from '../../src/runtime/index.ts'
import type { Model, ModelArray } from './model.ts'
import type { Peer } from './peer.ts'
import type { Shared } from './shared.ts'
import { KEYS } from './steps.ts'
import { toHex, wireAttribute, wireData, wireScalar } from './wire.ts'

/**
 * Opens the container anew with both sides and compares all they say with the model; and the bytes of their
 * footers with ours.
 */
export async function judge(shared: Shared, peer: Peer): Promise<void> {
  const expected = [...shared.model.arrays.values()].map(description)
  await using file = await open(shared.path)
  expect(await describeFile(file, shared.model.arrays), 'this package').toEqual(expected)
  await shared.openInCrate()
  expect(await describeInCrate(peer, shared.model), 'the crate').toEqual(expected)
  await expectSameBytes(shared.folder)
}

/** An array as both sides must describe it. */
export interface Description {
  readonly name: string
  readonly values: unknown
  readonly attributes: unknown
  readonly stats: unknown
  readonly [key: string]: unknown
}

export function description(array: ModelArray): Description {
  const { name, dtype, options, fill, data, attributes } = array
  const { min, max, nullCount, rowCount } = array.stats()
  return {
    name,
    dtype,
    shape: options.shape,
    chunkShape: options.chunks,
    dimensionNames: options.dimensionNames,
    fillValue: wireScalar(fill),
    values: wireData(dtype, data),
    attributes: Object.fromEntries([...attributes].map(([key, value]) => [key, wireAttribute(value)])),
    stats: { min: wireScalar(min), max: wireScalar(max), nullCount: `${nullCount}`, rowCount: `${rowCount}` },
  }
}

/**
 * All arrays of a file as this package reads them; fails unless they are those of a model, in their order.
 */
export async function describeFile(file: ArrayFile, arrays: Model['arrays']): Promise<Description[]> {
  const all: Description[] = []
  for (const name of arrays.keys()) {
    const array = file.array(name)
    const { min, max, nullCount, rowCount, nanCount = 0 } = await file.stats(name)
    // The crate counts a NaN as larger than all numbers.
    const ends = { min: min ?? (nanCount > 0 ? Number.NaN : undefined), max: nanCount > 0 ? Number.NaN : max }
    all.push({
      name,
      dtype: array.dtype,
      shape: array.shape,
      chunkShape: array.chunks.chunkShape,
      dimensionNames: array.dimensionNames,
      fillValue: wireScalar(array.state.definition.fillValue),
      values: wireData(array.dtype, await dataOf(array)),
      attributes: Object.fromEntries([...array.attrs.keys()].map((key) => [key, wireAttribute(array.attrs.typed(key)!)])),
      stats: {
        min: wireScalar(toStat(array.dtype, ends.min)),
        max: wireScalar(toStat(array.dtype, ends.max)),
        nullCount: `${nullCount}`,
        rowCount: `${rowCount}`,
      },
    })
  }
  // A scalar of this name is taken for the one that carries the attributes of the file.
  const listed = [...arrays].filter(([name, { options }]) => name !== '__file__' || options.shape.length > 0)
  expect(file.arrays()).toEqual(listed.map(([name]) => name))
  return all
}

async function describeInCrate(peer: Peer, model: Model): Promise<Description[]> {
  const { arrays } = await peer.dump(KEYS)
  return arrays.map(({ values, stats, ...rest }) => {
    const array = model.arrays.get(rest.name)
    // The crate has no element type for bool.
    const unreadable = rest.dtype === 'bool' && array !== undefined
    const none = { min: null, max: null, nullCount: `${array?.data.length}`, rowCount: `${array?.data.length}` }
    return {
      ...rest,
      values: unreadable ? wireData<DType>('bool', array.data) : 'ok' in values ? values.ok : values,
      // Statistics of arrays without data are left out by some writers.
      stats: stats ?? (array?.stored.size === 0 ? none : null),
    }
  })
}

export async function dataOf(array: FileArray): Promise<DataOf<DType>> {
  if (array.shape.length > 0) return ((await array.get(array.shape.map(() => null))) as Tensor).data
  const data = allocate(array.dtype, 1)
  const value: unknown = await array.get()
  data[0] = (typeof value === 'boolean' ? Number(value) : value) as never
  return data
}

function toStat(dtype: DType, value: number | bigint | string | Uint8Array | undefined): Parameters<typeof wireScalar>[0] {
  if (value === undefined) return null
  if (value instanceof Uint8Array) return { kind: 'bytes', value }
  if (typeof value === 'string') return { kind: 'bytes', value: new TextEncoder().encode(value) }
  if (dtype.startsWith('float')) return { kind: 'float', value: value as number }
  if (dtype === 'timestamp_ns') return { kind: dtype, value: value as bigint }
  return { kind: dtype === 'bool' || dtype.startsWith('uint') ? 'uint' : 'int', value: BigInt(value) } as StatValue
}

/** Footers and statistics of either side are, decoded and encoded again, the same bytes. */
async function expectSameBytes(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const bytes = new Uint8Array(await readFile(join(folder, name)))
    if (name.endsWith('.stats')) {
      const { payload } = splitFile(bytes, STATS_MAGIC)
      const { version, arrays } = decodeStats(payload)
      expect(toHex(encodeStats(arrays, version)), name).toBe(toHex(payload))
    } else {
      const { payload } = splitFile(bytes, FOOTER_MAGIC)
      expect(toHex(encodeFooter(decodeFooter(payload))), name).toBe(toHex(payload))
    }
  }
}
