import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findTree, LabelledTree, listReferences } from '../../src/runtime/tree.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'

const filter = (name: string): string => `numcodecs does not decode the filter '${name}' as HDF5 stores it`
const tiles = (name: string): string => `numcodecs does not decode tiles of the compression '${name}'`
const MASKED = 'some of its chunks are stored without some of the filters'

/** Arrays that readers of Zarr would not decode: reason of the refusal, file, and name. */
const REFUSED: readonly (readonly [what: string, file: string, array: string, reason: string])[] = [
  ['LZW of TIFF', 'tiff/issue_69_lzw.tiff', 'image', tiles('lzw')],
  ['PackBits', 'tiff/made_packbits.tif', 'image', tiles('packbits')],
  ['predictor 2', 'tiff/made_deflate_pred2_i32.tif', 'image', 'numcodecs does not know the predictor 2 of TIFF'],
  ['predictor 3', 'tiff/made_deflate_pred3.tif', 'image', 'numcodecs does not know the predictor 3 of TIFF'],
  ['a short last strip', 'tiff/quad-lzw-compat.tiff', 'image', 'its chunks of 5 do not divide axis 1 of 384'],
  ['packed samples', 'tiff/made_bits12.tif', 'image', 'numpy has no samples of 12 bits as TIFF stores them'],
  ['JPEG', 'tiff/made_jpeg_ycbcr.tif', 'image', 'tiles of jpeg are decoded only in browsers'],
  ['JPEG in tiles', 'tiff/tiled-jpeg-ycbcr.tif', 'image', 'tiles of jpeg are decoded only in browsers'],
  ['WebP', 'tiff/made_webp_lossless.tif', 'image', 'tiles of webp are decoded only in browsers'],
  ['LERC', 'tiff/made_lerc.tif', 'image', 'the compression lerc is not read'],
  ['n-bit of HDF5', 'hdf5/h5repack_nbit.h5', 'dset_nbit', "of the class 'integer', are stored in another form"],
  ['n-bit floats', 'hdf5/be_data.h5', 'Nbit_float_data_be', "of the class 'float', are stored in another form"],
  ['scale-offset', 'hdf5/h5repack_soffset.h5', 'dset_scaleoffset', filter('scaleoffset')],
  ['szip', 'hdf5/test_szip.h5', 'dset_szip', filter('szip')],
  ['LZ4 of HDF5', 'hdf5/hdf5_compression_lz4.h5', 'data', filter('lz4')],
  ['bitshuffle', 'hdf5/made_filters.h5', 'i_bitshuffle', filter('bitshuffle')],
  ['bitshuffle with LZ4', 'hdf5/made_filters.h5', 'i_bitshuffle_lz4', filter('bitshuffle')],
  ['LZF', 'hdf5/lzf.h5', 'lzf', filter('lzf')],
  ['filter masks', 'hdf5/made_filter_mask.h5', 'x', MASKED],
  ['unfiltered edge chunks', 'hdf5/h5fc_edge_v3.h5', 'DSET_EDGE', MASKED],
  ['virtual arrays', 'hdf5/vds/1_vds.h5', 'vds_dset', 'its elements are in other arrays (virtual)'],
  ['external raw data', 'hdf5/made_types.h5', 'external_raw', 'its elements are in other files (external raw data)'],
  ['compounds', 'hdf5/made_groups_types.nc', 'wind/speed', 'its elements are fields of compounds'],
  ['lists', 'hdf5/made_groups_types.nc', 'ragged', "of the class 'vlen', are stored in another form"],
]

test.for(REFUSED)('references to %s are refused by name: %s', async ([, file, array, reason]) => {
  const warnings: string[] = []
  const path = join(FORMATS, file)
  await using tree = new LabelledTree(await (await findTree(path)).open({ ...(file.startsWith('hdf5') && { external: true }) }))
  const listed = listReferences([tree], { onWarning: (text) => warnings.push(text) })
  const text = await listed.then(
    (references) => references.text,
    (error) => expect(error).toMatchObject({ tag: 'UnsupportedError' }),
  )
  expect(String(text)).not.toContain(`"${array}/.zarray"`)
  expect(warnings.filter((each) => each.includes(array) && each.includes(reason))).not.toEqual([])
})
