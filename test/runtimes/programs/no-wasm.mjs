// Without WebAssembly, one clear error is thrown, and everything without kernels works.
import { DiskArray, isHyperslabError } from 'hyperslab'
import { openHdf5 } from 'hyperslab/hdf5'
import { checker, equal } from '../check.mjs'
import { FILE } from '../hdf5-file.mjs'

/** Checks reads that need no kernels, and the error of others: a list of `{ name, error? }`. */
export async function checkWithoutKernels() {
  const { check, results } = checker(isHyperslabError)
  const refuses = async (work) => {
    const error = await work().catch((error) => error)
    const isClear = isHyperslabError(error, 'UnsupportedError') && /initKernels.*kernels\.wasm/.test(error.message)
    if (!isClear) throw error instanceof Error ? error : new Error('the kernels ran')
  }
  await check('one error names the ways out', () => {
    const zeros = new DiskArray({ dtype: 'int8', shape: [9], chunks: [3], readBlock: (_, out) => out.data.fill(0) })
    return refuses(() => zeros.sum())
  })
  await check('a NetCDF-4 file is opened and listed, and reads of its chunks throw that error', async () => {
    const file = await openHdf5(Uint8Array.from(atob(FILE), (letter) => letter.charCodeAt(0)))
    equal(await file.arrays(), ['z', 'y', 'x', 'deflate', 'big', 'name', 'lzf'])
    const deflate = await file.array('deflate')
    equal([deflate.shape, deflate.dimensionNames, deflate.attrs.get('units')], [[5, 7, 6], ['z', 'y', 'x'], 'K'])
    for (const name of ['deflate', 'big', 'lzf']) await refuses(async () => (await file.array(name)).get())
  })
  return results
}
