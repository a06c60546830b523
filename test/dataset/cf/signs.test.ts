import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pythonEnvironment } from '../../../scripts/python.mjs'
import { scaled } from '../../../src/array/combine.ts'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { allocate, type NumericDType } from '../../../src/core/dtype.ts'
import { ChunkGrid } from '../../../src/grid/chunks.ts'
import { Dataset, openDataset } from '../../../src/runtime/dataset.ts'
import { CountingSource } from '../../support/counting-source.ts'
import { folderInMemory } from '../../support/folder.ts'
import { HDF5_PACKAGES } from '../../support/hdf5-filters.ts'

const WIDTHS = [8, 16, 32, 64] as const
/** Spelling of an attribute: the value itself, or the stored element with the same bits. */
const SPELLINGS = ['value', 'element', undefined] as const

/** A variable whose values have the other sign than its type. */
interface Signed {
  readonly name: string
  readonly type: NumericDType
  readonly elements: readonly bigint[]
  readonly attributes: Readonly<Record<string, readonly [type: NumericDType, numbers: readonly bigint[]]>>
  /** Decoded values; NaN is missing. */
  readonly expected: readonly number[]
}

/** Returns the same bits as a number of a sign. */
const ofSign = (isUnsigned: boolean, bits: number, value: bigint): bigint =>
  isUnsigned ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value)

function variableOf(bits: number, isUnsigned: boolean, fill: 'element' | undefined, others: Spelling, range: Spelling): Signed {
  const type = `${isUnsigned ? '' : 'u'}int${bits}` as NumericDType
  const other = `${isUnsigned ? 'u' : ''}int${bits}` as NumericDType
  const top = 2n ** BigInt(bits)
  const half = top / 2n
  // None is a default fill value of netCDF.
  const elements = [0n, 1n, 5n, half - 6n, half - 1n, half, half + 3n, half + 9n, top - 100n, top - 6n, top - 3n, top - 4n]
  const values = elements.map((each) => ofSign(isUnsigned, bits, each))
  // All three are beyond the sign bit.
  const [fillBits, otherBits] = [top - 6n, top - 3n]
  const [low, high] = isUnsigned ? [3n, half + 8n] : [-50n, half - 2n]
  const spelled = (spelling: Spelling, numbers: readonly bigint[]): readonly [NumericDType, readonly bigint[]] =>
    spelling === 'value'
      ? [other, numbers.map((each) => ofSign(isUnsigned, bits, each))]
      : [type, numbers.map((each) => ofSign(!isUnsigned, bits, each))]
  const expected = values.map((value) => {
    const own = BigInt.asUintN(bits, value)
    const isMissing = (fill && own === fillBits) || (others && own === otherBits) || (range && (value < low || value > high))
    return isMissing ? Number.NaN : Number(value) * 0.5
  })
  return {
    name: `${type}_${fill}_${others}_${range}`,
    type,
    elements: elements.map((each) => ofSign(!isUnsigned, bits, each)),
    attributes: {
      ...(fill && { _FillValue: spelled(fill, [fillBits]) }),
      ...(others && { missing_value: spelled(others, [otherBits]) }),
      ...(range && { valid_range: spelled(range, [low, high]) }),
    },
    expected,
  }
}

type Spelling = (typeof SPELLINGS)[number]

const VARIABLES = WIDTHS.flatMap((bits) =>
  [true, false].flatMap((isUnsigned) =>
    // netCDF refuses a fill value of another type.
    (['element', undefined] as const).flatMap((fill) =>
      SPELLINGS.flatMap((others) => SPELLINGS.map((range) => variableOf(bits, isUnsigned, fill, others, range))),
    ),
  ),
)
const EXPECTED = Object.fromEntries(VARIABLES.map(({ name, expected }) => [name, expected]))

const { env, failure } = pythonEnvironment(HDF5_PACKAGES)
if (failure !== undefined) console.warn(`SKIPPED: signs of integers need netCDF4: ${failure}`)
const FORMS = { netcdf4: 'NETCDF4', cdf5: 'NETCDF3_64BIT_DATA' } as const
let folder: string
beforeAll(async () => {
  folder = await folderInMemory('signs')
  if (failure !== undefined) return
  const files = Object.entries(FORMS).map(([name, form]) => [join(folder, `${name}.nc`), form])
  const variables = VARIABLES.map(({ name, type, elements, attributes }) => [
    name,
    type,
    elements.map(String),
    Object.fromEntries(Object.entries(attributes).map(([key, [kind, numbers]]) => [key, [kind, numbers.map(String)]])),
  ])
  const script = fileURLToPath(new URL('signs.py', import.meta.url))
  execFileSync('python3', [script], { env, input: JSON.stringify([files, variables]) })
})
afterAll(() => rmSync(folder, { recursive: true }))

async function read(place: string): Promise<Record<string, readonly number[]>> {
  const dataset = await openDataset(place)
  expect(dataset.warnings).toEqual([])
  expect([...dataset.decodeErrors]).toEqual([])
  const entries = Object.entries(dataset.variables).map(async ([name, variable]) => [
    name,
    Array.from((await variable.values()) as ArrayLike<number>),
  ])
  return Object.fromEntries(await Promise.all(entries)) as Record<string, readonly number[]>
}

describe.skipIf(failure !== undefined)('integers of the other sign, by _Unsigned', () => {
  test.each(Object.keys(FORMS))('have the values of their bits in %s, with fills and ranges in both spellings', async (name) => {
    expect(await read(join(folder, `${name}.nc`))).toEqual(EXPECTED)
  })

  test.each(['zarr', 'af', 'cdf5.nc', 'nc'])('keep their values in copies as .%s', async (ending) => {
    for (const from of Object.keys(FORMS)) {
      const target = join(folder, `copy-${from}.${ending}`)
      await (await openDataset(join(folder, `${from}.nc`))).write(target, ending === 'cdf5.nc' ? { kind: 5 } : {})
      expect(await read(target)).toEqual(EXPECTED)
    }
  })
})

describe('values that an encoding stores with the other sign', () => {
  const CASES = WIDTHS.flatMap((bits) => [true, false].map((isUnsigned) => ({ bits, isUnsigned })))
  test.each(CASES)('are read again, with $bits bits, unsigned: $isUnsigned', async ({ bits, isUnsigned }) => {
    const dtype = `${isUnsigned ? '' : 'u'}int${bits}` as const
    // Floats hold 53 bits.
    const far = 2 ** Math.min(bits - 1, 52) - 1
    const values = isUnsigned
      ? [0, 1, far, 2 ** (bits - 1), 2 ** (bits - 1) + 2 ** Math.max(4, bits - 20)]
      : [0, 1, -1, -3, far, 3 - far, -(2 ** (bits - 1))]
    const one = async (encoding: object, place: string): Promise<unknown> => {
      const data = Float64Array.from(values, (each) => each * 0.25)
      await new Dataset({ v: { dims: ['x'], data } }).write(place, { overwrite: true, encoding: { v: encoding } })
      return Array.from((await (await openDataset(place)).get('v').values()) as ArrayLike<number>)
    }
    for (const ending of ['nc', 'zarr', 'af'])
      expect(
        await one(
          { dtype, _Unsigned: isUnsigned ? 'true' : 'false', scale_factor: 0.25 },
          join(folder, `encoded-${dtype}.${ending}`),
        ),
        ending,
      ).toEqual(values.map((each) => each * 0.25))
  })

  test.each(CASES)('are written through `scaled`, with $bits bits, unsigned: $isUnsigned', async ({ bits, isUnsigned }) => {
    const dtype = `${isUnsigned ? '' : 'u'}int${bits}` as NumericDType
    const half = 2 ** (bits - 1)
    const values = isUnsigned ? [0, 3, half, half / 2, half * 1.5] : [0, 3, -3, -1, -half]
    const data = allocate(dtype, values.length)
    const shape = [values.length]
    const source = new CountingSource({ dtype, shape, data }, ChunkGrid.regular(shape, shape))
    const view = scaled(new DiskArray(source), { ...(isUnsigned ? { unsigned: true } : { signed: true }), scaleFactor: 0.5 })
    await view.set(
      null,
      Float64Array.from(values, (each) => each / 2),
    )
    const bitsOf = (value: number): bigint => BigInt.asUintN(bits, BigInt(value))
    expect(Array.from(data as ArrayLike<number>, bitsOf)).toEqual(values.map(bitsOf))
    expect(Array.from((await view.get()).data)).toEqual(values.map((each) => each / 2))
    for (const beyond of isUnsigned ? [-1, -3, 2 * half] : [half, 2 * half, -2 * half])
      await expect(view.set([0], beyond / 2), String(beyond)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})

test('a range beyond int32 bounds the same packed values when 64-bit integers are stored as int32', async () => {
  const ranges: Record<string, readonly [NumericDType, bigint, bigint, string | undefined]> = {
    wide: ['int64', 3n, 2n ** 40n, undefined],
    low: ['int64', -(2n ** 40n), 3n, undefined],
    signed: ['uint64', 2n ** 64n - 2n ** 40n, 3n, 'false'],
    unsigned: ['int64', 3n, -5n, 'true'],
    natural: ['uint64', 3n, 2n ** 63n + 9n, undefined],
  }
  const place = join(folder, 'ranges.nc')
  const copy = join(folder, 'ranges-copy.nc')
  const variables = Object.entries(ranges).map(([name, [dtype, low, high, sign]]) => {
    const data = allocate(dtype, 3)
    for (const [i, value] of [1n, 3n, 7n].entries()) data[i] = value as never
    const range = allocate(dtype, 2)
    for (const [i, value] of [low, high].entries()) range[i] = value as never
    return [name, { dims: ['x'], data, attrs: { scale_factor: 0.5, valid_range: range, ...(sign && { _Unsigned: sign }) } }]
  })
  await new Dataset(Object.fromEntries(variables)).write(place, { kind: 5 })
  const expected = {
    wide: [NaN, 1.5, 3.5],
    low: [0.5, 1.5, NaN],
    signed: [0.5, 1.5, NaN],
    unsigned: [NaN, 1.5, 3.5],
    natural: [NaN, 1.5, 3.5],
  }
  expect(await read(place)).toEqual(expected)
  const { warnings } = await (await openDataset(place)).write(copy)
  expect(warnings.filter((text) => text.includes('are written as int32'))).toHaveLength(5)
  expect(await read(copy)).toEqual(expected)
})
