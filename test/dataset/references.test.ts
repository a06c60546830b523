import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { startScript } from '../../scripts/python.mjs'
import type { DiskArray } from '../../src/array/disk-array.ts'
import { type TypedArray, toBytes } from '../../src/core/dtype.ts'
import { slice } from '../../src/runtime/index.ts'
import { findTree, LabelledTree, listReferences } from '../../src/runtime/tree.ts'
import { openZarr } from '../../src/runtime/zarr.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'
import { folderInMemory } from '../support/folder.ts'
import { zarrPython } from '../support/python.ts'

const env = zarrPython()
const python = env && startScript(fileURLToPath(new URL('references.py', import.meta.url)), env)
afterAll(() => python?.close())

const REFERENCED = `no references are written: `
const FILTER = 'numcodecs does not decode the filter'

/** Files with arrays of which references are written, with their number and reasons for others. */
const FILES: Readonly<Record<string, readonly [arrays: number, ...reasons: RegExp[]]>> = {
  'hdf5/air.nc': [4],
  'hdf5/be_data.h5': [8, /the filter 'scaleoffset' as HDF5 stores it/],
  'hdf5/blosc_bigendian.h5': [4],
  'hdf5/chunked_shufzip_twoD.h5': [1],
  'hdf5/compound-dtype-complex.h5': [6],
  'hdf5/dataset_2d.nc': [3],
  'hdf5/fletcher32.hdf5': [2],
  'hdf5/hdf5_compression_zstd.h5': [1],
  'hdf5/issue23_A.nc': [6],
  'hdf5/jan.nc4': [5],
  'hdf5/made_filters.h5': [
    10,
    new RegExp(`'lzf': ${REFERENCED}${FILTER} 'lzf' as HDF5 stores it`),
    new RegExp(`'i_lz4': ${REFERENCED}${FILTER} 'lz4'`),
    new RegExp(`'i_bitshuffle': ${REFERENCED}${FILTER} 'bitshuffle'`),
    new RegExp(`'scaleoffset_int': ${REFERENCED}${FILTER} 'scaleoffset'`),
    new RegExp(`'szip_nn': ${REFERENCED}${FILTER} 'szip'`),
  ],
  'hdf5/made_groups_types.nc': [11, /'wind\/speed': .*its elements are fields of compounds/, /'ragged': .*class 'vlen'/],
  'hdf5/made_index_v110.h5': [13, /'holes': .*its unwritten chunks contain -9.5, and readers of Zarr would take it for missing/],
  'hdf5/made_types.h5': [20, /'external_raw': .*in other files|external raw data/],
  'hdf5/sine_chunked.mat': [1],
  'hdf5/struct.mat': [6],
  'hdf5/tmmx_20190121.nc': [5],
  'hdf5/two-subs.h5': [4],
  'netcdf3/made_cdf5.nc': [22],
  'netcdf3/made_classic.nc': [12],
  'netcdf3/ref_test_360_day_1900.nc': [1],
  'tiff/cog_ovr.tif': [20],
  'tiff/int16_zstd.tif': [1],
  'tiff/made_complex64.tif': [4],
  'tiff/made_deflate_pred2_i32.tif': [3, /'image': .*numcodecs does not know the predictor 2 of TIFF/],
  'tiff/made_lzw_pred2_be.tif': [3, /'image': .*compression 'lzw'/],
  'tiff/made_packbits.tif': [3, /'image': .*compression 'packbits'/],
  'tiff/made_i8.tif': [4],
  'tiff/made_sparse.tif': [4],
  'tiff/made_strip_bands.tif': [4, /'image': .*its chunks of 6 do not divide axis 1 of \d+, and Zarr has the last one whole/],
  'tiff/made_zstd_planar.tif': [4],
  'tiff/planar-rgb-u8.tif': [1],
}

const openLabelled = async (path: string): Promise<LabelledTree> => new LabelledTree(await (await findTree(path)).open({}))

/** Returns the digest of the elements, little-endian, in the order of some dimensions. */
async function digestOf(array: DiskArray, dims: readonly string[]): Promise<string> {
  const order = dims.map((dim) => array.dimensionNames!.indexOf(dim))
  const { data } = await array.transpose(order).toTensor()
  return createHash('sha256')
    .update(toBytes(data as TypedArray))
    .digest('hex')
}

interface Answer {
  readonly error?: string
  readonly found: Readonly<Record<string, string | readonly string[]>>
}

/** Asks Python for the elements of the arrays behind references. */
async function pythonReads(path: string, arrays: Readonly<Record<string, readonly string[]>>): Promise<Answer['found']> {
  const { error, found } = (await python!.ask({ path, arrays })) as Answer
  expect(error).toBeUndefined()
  return found
}

describe.skipIf(env === undefined)('references of all formats', () => {
  test.for(Object.entries(FILES))(
    'to %s give Python and this package equal values, and name the other arrays',
    { timeout: 60_000 },
    async ([name, [count, ...reasons]]) => {
      const warnings: string[] = []
      await using tree = await openLabelled(join(FORMATS, name))
      const listed = await listReferences([tree], { onWarning: (text) => warnings.push(text) })
      const path = join(await folderInMemory('references'), 'refs.json')
      await writeFile(path, listed.text)
      const { arrays } = await tree.contents()
      const originals = new Map(arrays.map((each) => [each.name, each.array]))
      await using group = await openZarr(path, { kind: 'group' })
      const names = Object.keys(JSON.parse(listed.text).refs)
        .filter((key) => key.endsWith('/.zarray'))
        .map((key) => key.slice(0, -'/.zarray'.length))
      expect(names).toHaveLength(count)
      for (const reason of reasons) expect(warnings.join('\n')).toMatch(reason)
      const dims = Object.fromEntries(names.map((each) => [each, originals.get(each)!.dimensionNames!]))
      const found = await pythonReads(path, dims)
      for (const each of names) {
        const original = originals.get(each)!
        const own = await group.array(each)
        if (original.dtype === 'string') {
          const texts = [...((await original.toTensor()).data as Iterable<string>)]
          const read = (found[each] as readonly string[]).map((hex) => Buffer.from(hex, 'hex'))
          expect(
            read.map((bytes, i) => [bytes.toString('latin1'), bytes.toString()].includes(texts[i]!)),
            each,
          ).toEqual(texts.map(() => true))
          continue
        }
        const digest = await digestOf(original, dims[each]!)
        expect([found[each], await digestOf(own, dims[each]!)], each).toEqual([digest, digest])
      }
    },
  )

  test('join arrays of HDF5 and TIFF along a dimension', { timeout: 60_000 }, async () => {
    for (const [name, array, dim] of [
      ['hdf5/chunked_shufzip_twoD.h5', 'd_4_shufzip_chunks', 'phony_dim_0'],
      ['tiff/int16_zstd.tif', 'image', 'x'],
    ] as const) {
      await using tree = await openLabelled(join(FORMATS, name))
      const { arrays } = await tree.contents()
      const original = arrays.find((each) => each.name === array)!
      const listed = await listReferences([tree, tree], { dim })
      const path = join(await folderInMemory('references'), 'refs.json')
      await writeFile(path, listed.text)
      await using group = await openZarr(path, { kind: 'group' })
      const own = await group.array(original.name)
      const axis = original.array.dimensionNames!.indexOf(dim)
      const length = original.array.shape[axis]!
      const half = own.view(own.shape.map((_, at) => (at === axis ? slice(length, 2 * length) : null)))
      expect(own.shape[axis]).toBe(2 * length)
      expect((await half.toTensor()).data).toEqual((await original.array.toTensor()).data)
      const found = await pythonReads(path, { [original.name]: original.array.dimensionNames! })
      expect(found[original.name]).toBe(await digestOf(own, original.array.dimensionNames!))
    }
  })

  test('contain chunks of fewer bytes than the limit themselves', async () => {
    await using tree = await openLabelled(join(FORMATS, 'hdf5/made_groups_types.nc'))
    const inlined = async (inlineBytes?: number): Promise<[number, number]> => {
      const { text } = await listReferences([tree], inlineBytes === undefined ? {} : { inlineBytes })
      const refs = Object.values(JSON.parse(text).refs as Record<string, unknown>)
      const located = refs.filter((each) => Array.isArray(each))
      const lengths = located.map((each) => (each as [string, number, number])[2])
      return [refs.filter((each) => String(each).startsWith('base64:')).length, Math.min(...lengths, Infinity)]
    }
    const [some, least] = await inlined()
    expect([some > 0, least >= 512]).toEqual([true, true])
    expect((await inlined(0))[0]).toBe(0)
  })

  test('name the files they were listed from', async () => {
    const file = join(FORMATS, 'hdf5/air.nc')
    await using tree = await openLabelled(file)
    const { refs } = JSON.parse((await listReferences([tree])).text) as { refs: Record<string, unknown> }
    const bytes = await readFile(file)
    for (const each of Object.values(refs).filter(Array.isArray)) {
      expect(each[0]).toBe(file)
      expect(each[1] + each[2]).toBeLessThanOrEqual(bytes.length)
    }
  })
})
