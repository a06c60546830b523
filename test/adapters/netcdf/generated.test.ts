import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { pythonEnvironment, startScript } from '../../../scripts/python.mjs'
import type { NetcdfAttributes } from '../../../src/adapters/netcdf/attributes.ts'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import type { DType } from '../../../src/core/dtype.ts'
import { slice } from '../../../src/runtime/index.ts'
import { type NetcdfFile, type NetcdfVariable, openNetcdf } from '../../../src/runtime/netcdf.ts'
import { byBudget, seedOf, timeLimit } from '../../support/budget.ts'
import { HDF5_PACKAGES } from '../../support/hdf5-filters.ts'
import type { Plain } from '../../support/oracle.ts'
import { expectSameReads } from '../../support/same-reads.ts'
import { CountingFile } from './support.ts'

const SEED = seedOf('generated classic files', 42)
const FILES = byBudget({ quick: 20, full: 300, soak: 5000 })
const SELECTIONS = byBudget({ quick: 2, full: 3, soak: 30 })

/** A text, or a type and the texts of numbers. */
type Described = string | readonly [type: string, numbers: readonly string[]]

/** A file as netCDF4 reads it. */
interface Made {
  readonly failure?: string
  readonly model: string
  readonly dimensions: readonly (readonly [name: string, length: number, isRecord: boolean])[]
  readonly attrs: Readonly<Record<string, Described>>
  readonly variables: readonly {
    readonly name: string
    readonly type: string
    readonly dims: readonly string[]
    readonly shape: readonly number[]
    /** Elements as little-endian bytes, in base64. */
    readonly data: string
    readonly attrs: Readonly<Record<string, Described>>
  }[]
}

const { env, failure } = pythonEnvironment(HDF5_PACKAGES)
if (failure !== undefined) console.warn(`SKIPPED: the generated classic files need netCDF4: ${failure}`)
const python = failure === undefined ? startScript(fileURLToPath(new URL('generated.py', import.meta.url)), env, []) : undefined
afterAll(() => python?.close())

const TYPES: Readonly<Record<string, (bytes: ArrayBuffer) => ArrayLike<number | bigint>>> = {
  int8: (bytes) => new Int8Array(bytes),
  uint8: (bytes) => new Uint8Array(bytes),
  int16: (bytes) => new Int16Array(bytes),
  uint16: (bytes) => new Uint16Array(bytes),
  int32: (bytes) => new Int32Array(bytes),
  uint32: (bytes) => new Uint32Array(bytes),
  int64: (bytes) => new BigInt64Array(bytes),
  uint64: (bytes) => new BigUint64Array(bytes),
  float32: (bytes) => new Float32Array(bytes),
  float64: (bytes) => new Float64Array(bytes),
}

/** Returns the elements that netCDF4 read. Characters become texts of the length that our array joins. */
function plainOf({ type, shape, data }: Made['variables'][number], array: NetcdfVariable): Plain {
  const bytes = Uint8Array.from(Buffer.from(data, 'base64'))
  if (type !== 'char') {
    expect(array.dtype).toBe(type)
    return { dtype: array.dtype, shape, data: TYPES[type]!(bytes.buffer) as Plain['data'] }
  }
  const joined = array.shape.length < shape.length ? shape.at(-1)! : 1
  const count = array.shape.reduce((product, length) => product * length, 1)
  const texts = Array.from({ length: count }, (_, i) =>
    Buffer.from(bytes.subarray(i * joined, (i + 1) * joined))
      .toString('latin1')
      .replace(/\0+$/, ''),
  )
  return { dtype: 'string' as DType, shape: array.shape, data: texts as Plain['data'] }
}

function describeAttributes(attrs: NetcdfAttributes): Record<string, Described> {
  const show = (each: number | bigint): string => (typeof each === 'bigint' ? String(each) : floatText(each))
  return Object.fromEntries(
    [...attrs.keys()].map((name) => {
      const { type, value } = attrs.typed(name)!
      if (typeof value === 'string') return [name, value]
      const list = typeof value === 'object' ? Array.from(value as ArrayLike<number>) : [value]
      return [name, [type.replace('[]', ''), list.map(show)]]
    }),
  )
}

const floatText = (value: number): string => (Object.is(value, -0) ? '-0' : String(value))

/** Texts of numbers in Python in the form of JavaScript. */
const asDescribed = (attrs: Readonly<Record<string, Described>>): Record<string, Described> =>
  Object.fromEntries(
    Object.entries(attrs).map(([name, value]) => {
      if (typeof value === 'string') return [name, value]
      const [type, numbers] = value
      const special: Readonly<Record<string, number>> = { nan: Number.NaN, inf: Number.POSITIVE_INFINITY, '-inf': Number.NEGATIVE_INFINITY } // biome-ignore format: one line
      return [name, [type, type.startsWith('float') ? numbers.map((each) => floatText(special[each] ?? Number(each))) : numbers]]
    }),
  )

async function compare(file: NetcdfFile, made: Made, seed: number): Promise<void> {
  expect(file.dimensions.map(({ name, length, isRecord }) => [name, length, isRecord])).toEqual(made.dimensions)
  expect(describeAttributes(file.attrs)).toEqual(asDescribed(made.attrs))
  expect(file.variables.map(({ name }) => name)).toEqual(made.variables.map(({ name }) => name))
  for (const expected of made.variables) {
    const array = file.variable(expected.name)
    const joined = expected.shape.length - array.shape.length
    expect(array.shape).toEqual(expected.shape.slice(0, expected.shape.length - joined))
    expect(array.dimensionNames).toEqual(expected.dims.slice(0, expected.dims.length - joined))
    expect(describeAttributes(array.attrs)).toEqual(asDescribed(expected.attrs))
    const plain = plainOf(expected, array)
    await expectSameReads(array as unknown as DiskArray, plain, { count: SELECTIONS, seed, name: expected.name })
  }
}

test.skipIf(python === undefined)(
  'files of all kinds, types, fills and names have the elements and attributes that netCDF4 reads',
  { timeout: timeLimit(180_000) },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hyperslab-classic-'))
    const models = new Set<string>()
    try {
      for (let number = 0; number < FILES; number++) {
        const path = join(folder, `${number}.nc`)
        const seed = SEED * 1000 + number
        const made = (await python!.ask([path, seed])) as Made
        expect(made.failure, `seed ${seed}`).toBeUndefined()
        models.add(made.model)
        const stored = new CountingFile(new Uint8Array(await readFile(path)))
        const file = await openNetcdf(stored, { name: `file of seed ${seed}` })
        // Headers below 64 KiB take one request.
        expect(stored.slices).toEqual([[0, Math.min(stored.byteLength, 65536)]])
        await compare(file, made, seed).catch((error: Error) => {
          error.message = `seed ${seed}: ${error.message}`
          throw error
        })
        await rm(path)
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
    expect([...models].sort()).toEqual(['NETCDF3_64BIT_DATA', 'NETCDF3_64BIT_OFFSET', 'NETCDF3_CLASSIC'])
  },
)

test.skipIf(python === undefined).each(['NETCDF3_64BIT_OFFSET', 'NETCDF3_64BIT_DATA'])(
  'a file of %s is read at its end, behind 5 GiB',
  async (kind) => {
    const folder = await mkdtemp(join(tmpdir(), 'hyperslab-classic-'))
    try {
      const path = join(folder, 'large.nc')
      expect(await python!.ask([path, kind])).toEqual({})
      await using file = await openNetcdf(path)
      expect(file.byteLength).toBeGreaterThan(5 * 2 ** 30)
      const large = file.variable('large')
      expect(await large.get([slice(-3, null)]).then(({ data }) => [...(data as Float32Array)])).toEqual([0, 1.5, -2.5])
      expect(await file.variable('before').values()).toEqual(Int16Array.of(1, -2, 3, -4))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
)
