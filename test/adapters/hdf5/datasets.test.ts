import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { openDataset } from '../../../src/runtime/dataset.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { openTree } from '../../../src/runtime/index.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { FORMATS, readOracle, startPython } from './support.ts'

type Value = number | string | null

/** A dataset as xarray opens it. */
interface XarrayDataset {
  readonly error?: string
  readonly dims: Readonly<Record<string, number>>
  readonly coords: readonly string[]
  readonly variables: Readonly<
    Record<
      string,
      {
        readonly dims: readonly string[]
        readonly kind: string
        readonly attributes: readonly string[]
        /** Optional: large variables omit them. */
        readonly values: readonly Value[] | null
      }
    >
  >
}

/** Groups of a file that are datasets, too. */
const GROUPS: readonly (readonly [string, string])[] = [
  ['hdf5/made_groups_types.nc', 'swath'],
  ['hdf5/made_groups_types.nc', 'swath/deep'],
]

/** Variables that are not compared, with the reasons. */
const DROPPED: Readonly<Record<string, readonly string[]>> = {
  // Memory that was never allocated, of which netCDF shows what happens to be there.
  'hdf5/f03tst_open_mem.nc': ['var2'],
  // A list of variable length for each element.
  'hdf5/made_groups_types.nc': ['ragged'],
  // Times since 'Jan 1, 2000', which is no date of CF.
  'hdf5/jan.nc4': ['time'],
}

/**
 * Coordinates that xarray takes for data variables: bounds, and none the other way round (docs/xarray.md).
 */
const MORE_COORDS: Readonly<Record<string, readonly string[]>> = {
  'hdf5/made_groups_types.nc': ['y_bnds'],
  'hdf5/issue23_A.nc': ['lat_bnds', 'lon_bnds'],
  'hdf5/lfric_ngvat_3D_1t_full_level_face_grid_main_area_fraction_unit1.nc': ['time_instant_bounds'],
}
/** A variable of two dimensions that is named like one of them is a coordinate in xarray. */
const FEWER_COORDS: Readonly<Record<string, readonly string[]>> = {
  'hdf5/ref_hdf5_compat2.nc': ['y'],
  'hdf5/made_groups_types.nc': ['name', 'x'],
}

/** Variables with unwritten elements, which are missing here: the default of int32 (docs/xarray.md). */
const UNWRITTEN: Readonly<Record<string, string>> = {
  'hdf5/f03tst_open_mem.nc': 'var1',
  'hdf5/made_groups_types.nc': 'crs',
}

/** Enumerations have their names as attributes. Variables with these stay integers, also missing ones. */
const ENUMS: Readonly<Record<string, readonly [name: string, missing: string]>> = {
  'hdf5/made_groups_types.nc': ['cloud', '255'],
  'hdf5/enum_variable.nc': ['enum_var', '255'],
}

const started = startPython('xarray_datasets.py')
const python = 'python' in started ? started.python : undefined
if ('failure' in started) console.warn(`SKIPPED: datasets of HDF5 files need xarray: ${started.failure}`)

/** Elements as the script has them: null for NaN and missing ones, integers and nanoseconds as text. */
function listed(values: ArrayLike<unknown>, kind: string): Value[] {
  return Array.from(values, (value) => {
    if (typeof value === 'bigint') return value === -(2n ** 63n) ? null : String(value)
    if (typeof value === 'boolean') return String(Number(value))
    if (typeof value === 'string') return value
    if (Number.isNaN(value)) return null
    return kind === 'f' ? Number(value) : String(value)
  })
}

/** Datasets here apply the valid range of a variable, and leave its attributes out (docs/xarray.md). */
const withoutValid = (variables: XarrayDataset['variables']): unknown =>
  Object.fromEntries(
    Object.entries(variables).map(([name, { attributes, ...rest }]) => [
      name,
      { ...rest, attributes: attributes.filter((each) => !/^valid_(min|max|range)$/.test(each)) },
    ]),
  )

/** A dataset as `openDataset` opens it, in the form of `XarrayDataset`. */
interface OwnDataset {
  readonly dims: Readonly<Record<string, number>>
  readonly coords: readonly string[]
  readonly variables: Record<string, unknown>
}

async function ours(file: string, group: string | undefined, expected: XarrayDataset): Promise<OwnDataset> {
  await using ds = await openDataset(file, group === undefined ? {} : { group })
  const variables: Record<string, unknown> = {}
  for (const [name, array] of Object.entries({ ...ds.variables, ...ds.coords })) {
    const known = expected.variables[name]
    const kind = known?.kind ?? 'f'
    const values = known?.values == null ? null : listed(await array.values(), kind)
    variables[name] = { dims: [...array.dims], kind, attributes: Object.keys(array.attrs).sort(), values }
  }
  return { dims: ds.dims, coords: Object.keys(ds.coords).sort(), variables }
}

describe.skipIf(python === undefined)('datasets of NetCDF-4 files', () => {
  afterAll(() => python?.close())

  const files = [...readOracle().keys()].filter((name) => /\.nc4?$/.test(name)).map((name) => [name, undefined] as const)
  test.each([...files, ...GROUPS])('%s %s is what xarray opens', async (name, group) => {
    const file = join(FORMATS, name)
    const dropped = DROPPED[name] ?? []
    const expected = (await python!.ask({ file, group, dropped })) as XarrayDataset
    expect(expected.error).toBeUndefined()
    const { coords, dims } = expected
    const variables = { ...expected.variables }
    const fewer = FEWER_COORDS[name] ?? []
    const more = group === undefined ? (MORE_COORDS[name] ?? []) : []
    const own = [...coords.filter((each) => group !== undefined || !fewer.includes(each)), ...more].sort()
    const actual = await ours(file, group, expected)
    for (const each of dropped) delete actual.variables[each]
    const unwritten = variables[UNWRITTEN[name] ?? '']?.values as Value[] | undefined
    if (unwritten !== undefined) {
      expect(unwritten).toContain('-2147483647')
      unwritten.splice(0, unwritten.length, ...unwritten.map((each) => (each === '-2147483647' ? null : each)))
    }
    const [enumeration = '', missing] = group === undefined ? (ENUMS[name] ?? []) : []
    if (enumeration !== '') {
      const found = variables[enumeration]!
      const values = found.values!.map((each) => each ?? Number(missing))
      variables[enumeration] = { ...found, attributes: [...found.attributes, 'flag_meanings', 'flag_values'].sort(), values }
    }
    expect(actual).toEqual({ dims, coords: own, variables: withoutValid(variables) })
  })
})

describe('files with a block of the user', () => {
  const arraysIn = async (place: Parameters<typeof openTree>[0]): Promise<string[]> => {
    await using tree = await openTree(place)
    expect(tree.format).toBe('hdf5')
    return tree.root.kind === 'group' ? await tree.root.arrays() : []
  }

  test.each(['test_ref_array1.mat', 'partial.mat', 'test_userblock_latest.hdf5'])('%s is recognised', async (name) => {
    const path = join(FORMATS, 'hdf5', name)
    const names = await arraysIn(path)
    await using root = await openHdf5(path)
    expect(names).toEqual(await root.arrays())
    const store = new MemoryStore()
    await store.put(name, new Uint8Array(readFileSync(path)))
    if (name.endsWith('.mat')) expect(await arraysIn({ store, path: name })).toEqual(names)
  })
})
