import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { pythonEnvironment, startScript } from '../../scripts/python.mjs'
import { DiskArray } from '../../src/array/disk-array.ts'
import { allocate, DTYPES, type DType, fromBytes, isBigInt, isNumeric, type NumericDType, toBytes } from '../../src/core/dtype.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { Dataset, openDataset } from '../../src/runtime/dataset.ts'
import { byBudget, seedOf, timeLimit } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { HDF5_PACKAGES } from '../support/hdf5-filters.ts'
import { createRandom, type Random } from './netcdf-random.ts'

const SEED = seedOf('written classic files', 421)
const FILES = byBudget({ quick: 15, full: 150, soak: 3000 })

const { env, failure } = pythonEnvironment(HDF5_PACKAGES)
if (failure !== undefined) console.warn(`SKIPPED: written classic files need netCDF4: ${failure}`)
const python = failure === undefined ? startScript(fileURLToPath(new URL('netcdf.py', import.meta.url)), env, []) : undefined
afterAll(() => python?.close())

/** A text, or a type and the texts of numbers. */
type Described = string | readonly [type: string, numbers: readonly string[]]

interface RawVariable {
  readonly type: string
  readonly dims: readonly string[]
  readonly shape: readonly number[]
  /** Elements as little-endian bytes, in base64. */
  readonly data: string
  readonly attrs: Readonly<Record<string, Described>>
}

/** A file as netCDF4 reads it without decoding, and as xarray does. */
interface ReadBack {
  readonly failure?: string
  readonly raw: {
    readonly model: string
    readonly dimensions: Readonly<Record<string, readonly [length: number, isUnlimited: boolean]>>
    readonly attrs: Readonly<Record<string, Described>>
    readonly variables: Readonly<Record<string, RawVariable>>
  }
  readonly decoded: Readonly<
    Record<string, { readonly dims: readonly string[]; readonly type: string; readonly values: readonly string[] }>
  >
}

const ask = async (request: object): Promise<ReadBack> => {
  const read = (await python!.ask(request)) as ReadBack
  expect(read.failure).toBeUndefined()
  return read
}

/** Expected variable of a file. */
interface Expected {
  readonly dims: readonly string[]
  /** Type in the file, and elements as its bytes; undefined for times, whose units are free. */
  readonly raw?: { readonly type: string; readonly bytes: Uint8Array }
  readonly decoded: { readonly type?: string; readonly values: readonly string[] }
  readonly attrs: Readonly<Record<string, Described>>
}

const INTEGERS: Readonly<Record<string, readonly [bigint, bigint]>> = {
  int8: [-128n, 127n],
  int16: [-32768n, 32767n],
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint8: [0n, 255n],
  uint16: [0n, 65535n],
  uint32: [0n, 2n ** 32n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
}

const NUMBERS = DTYPES.filter(isNumeric)

function listOf(type: NumericDType, values: readonly (number | bigint)[]): Uint8Array {
  const list = allocate(type, values.length)
  for (const [i, value] of values.entries()) list[i] = (isBigInt(type) ? BigInt(value) : Number(value)) as never
  return toBytes(list)
}

/** A number as Python writes a float. */
const floatText = (value: number): string => {
  if (Number.isNaN(value)) return 'nan'
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf'
  return Object.is(value, -0) ? '-0' : String(value)
}

/** The text of a float in Python, as JavaScript writes the number. */
const numberOf = (text: string): number => {
  const special: Readonly<Record<string, number>> = { nan: Number.NaN, inf: Number.POSITIVE_INFINITY, '-inf': Number.NEGATIVE_INFINITY } // biome-ignore format: one line
  return special[text] ?? Number(text)
}

const asJavaScript = (text: string): string => floatText(numberOf(text))

interface Drawn {
  readonly array: DiskArray
  readonly encoding?: Readonly<Record<string, unknown>>
  readonly attrs: Readonly<Record<string, unknown>>
  readonly expected: Expected
  readonly needsWide: boolean
}

const TYPES = [...NUMBERS, 'bool', 'string', 'timestamp_ns', 'packed'] as const
const TEXTS = ['', 'a', 'größe', '气温', 'x'.repeat(40), '😀!', ' spaced ']

/** Draws an array with the file that has to come of it. */
function drawVariable(random: Random, dims: readonly string[], shape: readonly number[], kind: number | undefined): Drawn {
  const type = random.of(TYPES)
  const size = shape.reduce((product, length) => product * length, 1)
  const many = <T>(one: () => T): T[] => Array.from({ length: size }, one)
  const chunks = shape.map((length) => random.between(1, Math.max(1, length)))
  const arrayOf = (dtype: DType, data: ArrayLike<unknown>, fillValue?: unknown): DiskArray =>
    new DiskArray(new CountingSource({ dtype, shape, data } as never, ChunkGrid.regular(shape, chunks), { dimensionNames: dims, ...(fillValue !== undefined && { fillValue: fillValue as never }) }) as never) // biome-ignore format: one line
  const note = random.of(['plain', 'größer', ''])
  const attrs = { note, part: Int16Array.of(1, -2), wide: BigInt64Array.of(5n) }
  const wide: Described = [kind === 5 ? 'int64' : 'int32', ['5']]
  const common: Record<string, Described> = { note, part: ['int16', ['1', '-2']], wide }
  if (type === 'string') {
    const texts = many(() => random.of(TEXTS))
    const width = Math.max(1, ...texts.map((text) => Buffer.byteLength(text)))
    const bytes = new Uint8Array(size * width)
    for (const [i, text] of texts.entries()) bytes.set(Buffer.from(text), i * width)
    const expected = {
      dims: [...dims, 'strlen'],
      raw: { type: 'char', bytes },
      decoded: { values: texts },
      attrs: { ...common, _Encoding: 'utf-8' },
    }
    return { array: arrayOf('string', texts), attrs, expected, needsWide: false }
  }
  if (type === 'bool') {
    const values = many(() => random.between(0, 1))
    const raw = { type: 'int8', bytes: listOf('int8', values) }
    const expected = {
      dims,
      raw,
      decoded: { type: 'bool', values: values.map((each) => String(each === 1)) },
      attrs: { ...common, dtype: 'bool' },
    }
    return { array: arrayOf('bool', Uint8Array.from(values)), attrs, expected, needsWide: false }
  }
  if (type === 'timestamp_ns') {
    const step = random.of([86_400_000_000_000n, 3_600_000_000_000n, 1_000_000_000n, 1_000_000n])
    const hasMissing = random.chance(0.3)
    const times = many(() => (hasMissing && random.chance(0.3) ? -(2n ** 63n) : BigInt(random.between(-9000, 9000)) * step))
    const values = times.map((each) => (each === -(2n ** 63n) ? 'NaT' : String(each)))
    const expected = { dims, decoded: { values }, attrs: common }
    return { array: arrayOf('timestamp_ns', BigInt64Array.from(times)), attrs, expected, needsWide: false }
  }
  if (type === 'packed') {
    const stored = many(() => random.between(-500, 500))
    const missing = stored.map(() => random.chance(0.2))
    const values = stored.map((each, i) => (missing[i] ? Number.NaN : each * 0.5 + 10))
    const bytes = listOf('int16', stored.map((each, i) => (missing[i] ? -999 : each))) // biome-ignore format: one line
    const packing: Record<string, Described> = { scale_factor: ['float32', ['0.5']], add_offset: ['float32', ['10']], _FillValue: ['int16', ['-999']] } // biome-ignore format: one line
    const expected = {
      dims,
      raw: { type: 'int16', bytes },
      decoded: { values: values.map(floatText) },
      attrs: { ...common, ...packing },
    }
    const encoding = { dtype: 'int16', scale_factor: 0.5, add_offset: 10, _FillValue: -999 }
    return { array: arrayOf('float32', Float32Array.from(values)), encoding, attrs, expected, needsWide: false }
  }
  if (type.startsWith('float')) {
    const hasFill = random.chance(0.5)
    const values = many(() =>
      random.chance(0.1) ? random.of([Number.NaN, Number.POSITIVE_INFINITY, -0]) : Math.fround(random.between(-1e6, 1e6) / 7),
    )
    const expected = {
      dims,
      raw: { type, bytes: listOf(type, values) },
      decoded: { type, values: values.map(floatText) },
      attrs: { ...common, ...(hasFill && { _FillValue: [type, ['nan']] as const }) },
    }
    const data = type === 'float32' ? Float32Array.from(values) : Float64Array.from(values)
    return { array: arrayOf(type as DType, data, hasFill ? Number.NaN : undefined), attrs, expected, needsWide: false }
  }
  return drawIntegers(random, type as NumericDType, { many, arrayOf, dims, attrs, common, kind })
}

interface DrawnParts {
  many<T>(one: () => T): T[]
  arrayOf(dtype: DType, data: ArrayLike<unknown>, fillValue?: unknown): DiskArray
  readonly dims: readonly string[]
  readonly attrs: Readonly<Record<string, unknown>>
  readonly common: Readonly<Record<string, Described>>
  readonly kind: number | undefined
}

function drawIntegers(random: Random, type: NumericDType, { many, arrayOf, dims, attrs, common, kind }: DrawnParts): Drawn {
  const is64 = type.endsWith('64')
  const isShort = is64 && random.chance(0.6)
  const [low, high] = INTEGERS[isShort ? 'int32' : type]!
  const least = isShort && type === 'uint64' ? 0n : low
  // The ends of a type are the default values of missing elements, or those of other types.
  const one = (): bigint =>
    random.chance(0.2) ? random.of([least + 2n, high - 2n]) : least + 2n + (random.long() % (high - least - 3n))
  const fill = random.chance(0.4) ? random.of([INTEGERS[type]![0], INTEGERS[type]![1], 1n]) : undefined
  const values = many(() => (fill !== undefined && random.chance(0.3) ? fill : one()))
  const fits = values.every((value) => value === fill || (value >= INTEGERS['int32']![0] && value <= INTEGERS['int32']![1]))
  const isUnsigned = type.startsWith('uint')
  const narrow = is64 ? (fits ? 'int32' : type) : isUnsigned ? type.slice(1) : type
  const stored = kind === 5 ? type : narrow
  const [storedLow, storedHigh] = INTEGERS[stored]!
  // A missing value that int32 does not hold is left out if no element is missing.
  const isLeftOut =
    is64 && stored === 'int32' && fill !== undefined && (fill < storedLow || fill > storedHigh) && !values.includes(fill)
  const told = isLeftOut ? undefined : fill
  const wrap = (value: bigint): bigint => {
    if (is64) return value >= storedLow && value <= storedHigh ? value : storedLow
    return value > storedHigh ? value - 2n ** BigInt(stored.replace(/\D/g, '')) : value
  }
  const raw = { type: stored, bytes: listOf(stored as NumericDType, values.map(wrap)) } // biome-ignore format: one line
  // xarray compares integers of 64 bits with the fill value as floats.
  const isMissing = (value: bigint): boolean =>
    value === fill || (fill !== undefined && stored.endsWith('64') && Number(value) === Number(fill))
  const decoded = values.map((value) =>
    isMissing(value) ? 'nan' : told !== undefined ? floatText(Number(value)) : String(value),
  )
  const more: Record<string, Described> = {
    ...(told !== undefined && { _FillValue: [stored, [String(wrap(told))]] }),
    ...(isUnsigned && !is64 && kind !== 5 && { _Unsigned: 'true' }),
  }
  const scalar = is64 ? fill : fill === undefined ? undefined : Number(fill)
  const data = fromBytes(type, listOf(type, values)) as ArrayLike<unknown>
  const expected = { dims, raw, decoded: { values: decoded }, attrs: { ...common, ...more } }
  return { array: arrayOf(type, data, scalar), attrs, expected, needsWide: stored.endsWith('64') }
}

/** Writes a random dataset, and compares what netCDF4 and xarray read with it. */
async function tryDataset(path: string, seed: number): Promise<string> {
  const random = createRandom(seed)
  const kind = random.of([undefined, undefined, undefined, 2, 5] as const)
  const lengths = { t: random.of([1, 2, 5, 9]), y: random.between(1, 4), x: random.between(1, 5), 'a b': 2 }
  const drawn = new Map<string, Drawn>()
  for (let number = 0, count = random.of([1, 2, 4, 6]); number < count; number++) {
    const dims = Object.keys(lengths).filter(() => random.chance(0.55))
    const shape = dims.map((name) => lengths[name as keyof typeof lengths])
    const name = random.of([`v${number}`, `größe ${number}`])
    let variable = drawVariable(random, dims, shape, kind)
    // Values of 64 bits are refused in a requested kind that has none.
    while (kind === 2 && variable.needsWide) variable = drawVariable(random, dims, shape, kind)
    drawn.set(name, variable)
  }
  const inputs = [...drawn].map(([name, { array, attrs, expected }]) => [name, { dims: expected.dims.filter((each) => each !== 'strlen'), data: array, attrs }]) // biome-ignore format: one line
  const encoding = Object.fromEntries([...drawn].flatMap(([name, { encoding }]) => (encoding === undefined ? [] : [[name, encoding]]))) // biome-ignore format: one line
  const ds = new Dataset(Object.fromEntries(inputs), { attrs: { title: 'größe', numbers: Float32Array.of(1.5, -2) } })
  const isUnlimited = random.chance(0.6) && [...drawn.values()].some(({ expected }) => expected.dims.includes('t'))
  const maxBytes = random.of([undefined, 64, 300, 5000])
  const result = await ds.write(path, {
    encoding,
    ...(kind !== undefined && { kind }),
    ...(isUnlimited && { unlimited: ['t'] }),
    ...(maxBytes !== undefined && { maxBytes }),
  })
  expect(result.arrays).toEqual([...drawn.keys()])
  const { raw, decoded } = await ask([path])
  expect([raw.attrs['title'], raw.attrs['numbers']]).toEqual(['größe', ['float32', ['1.5', '-2.0']]])
  if (isUnlimited) expect(raw.dimensions['t']).toEqual([lengths.t, true])
  const needsWide = [...drawn.values()].some((each) => each.needsWide)
  const least = needsWide ? 'NETCDF3_64BIT_DATA' : 'NETCDF3_CLASSIC'
  expect(raw.model).toBe(kind === 5 ? 'NETCDF3_64BIT_DATA' : kind === 2 ? 'NETCDF3_64BIT_OFFSET' : least)
  for (const [name, { expected }] of drawn) compareVariable(name, expected, raw.variables[name]!, decoded[name]!)
  return raw.model
}

function compareVariable(name: string, expected: Expected, raw: RawVariable, decoded: ReadBack['decoded'][string]): void {
  const dims = expected.dims.map((each) => (each === 'strlen' ? `${name}_strlen` : each))
  expect(raw.dims).toEqual(dims)
  if (expected.raw !== undefined) {
    expect([name, raw.type]).toEqual([name, expected.raw.type])
    expect([name, raw.data]).toEqual([name, Buffer.from(expected.raw.bytes).toString('base64')])
    const attrs = Object.entries(raw.attrs).map(([key, value]) => [key, typeof value === 'string' ? value : [value[0], value[0].startsWith('float') ? value[1].map(asJavaScript) : value[1]]]) // biome-ignore format: one line
    expect([name, Object.fromEntries(attrs)]).toEqual([name, expected.attrs])
  }
  const { type, values } = expected.decoded
  if (type !== undefined) expect([name, decoded.type]).toEqual([name, type])
  const isFloat = decoded.type.startsWith('float')
  expect([name, isFloat ? decoded.values.map(asJavaScript) : decoded.values]).toEqual([
    name,
    isFloat ? values.map(roundedAs(decoded.type)) : values,
  ])
}

/** Large integers with missing values are floats in xarray. */
const roundedAs =
  (type: string) =>
  (text: string): string =>
    type === 'float32' ? floatText(Math.fround(numberOf(text))) : floatText(numberOf(text))

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'hyperslab-written-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const named = (seed: number, work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: Error) => {
    error.message = `seed ${seed}: ${error.message}`
    throw error
  })

describe.skipIf(python === undefined)('NetCDF that is written', () => {
  test(
    'netCDF4 and xarray read random datasets with equal values, attributes, times and fills',
    { timeout: timeLimit(180_000) },
    () =>
      inFolder(async (folder) => {
        const models = new Set<unknown>()
        for (let number = 0; number < FILES; number++) {
          const seed = SEED * 1000 + number
          models.add(await named(seed, tryDataset(join(folder, `${number}.nc`), seed)))
        }
        expect([...models].sort()).toEqual(['NETCDF3_64BIT_DATA', 'NETCDF3_64BIT_OFFSET', 'NETCDF3_CLASSIC'])
      }),
  )

  test('files of netCDF4 stay what they are when they are read and written again', { timeout: timeLimit(180_000) }, () =>
    inFolder(async (folder) => {
      for (let number = 0; number < FILES; number++) {
        const seed = SEED * 1000 + number
        const [from, to] = [join(folder, `${number}.nc`), join(folder, `${number}-again.nc`)]
        const made = await ask([from, seed])
        await using ds = await openDataset(from)
        await ds.write(to)
        const again = await ask([to])
        await named(seed, (async () => compareFiles(made, again))())
      }
    }),
  )
})

function compareFiles(made: ReadBack, again: ReadBack): void {
  const { names, ...values } = made.raw.variables
  for (const [name, { attrs, ...raw }] of Object.entries(values)) {
    const { attrs: ownAttrs, ...own } = again.raw.variables[name]!
    expect([name, own]).toEqual([name, raw])
    expect([name, ownAttrs]).toEqual([name, attrs])
  }
  expect(again.raw.attrs).toEqual(made.raw.attrs)
  expect(again.decoded).toEqual(made.decoded)
  expect(Object.keys(again.raw.variables).sort()).toEqual(Object.keys(made.raw.variables).sort())
  if (names !== undefined) expect(again.raw.variables['names']!.attrs['_Encoding']).toBe('utf-8')
  expect(again.raw.dimensions['time']![1]).toBe(made.raw.dimensions['time']![1])
}
