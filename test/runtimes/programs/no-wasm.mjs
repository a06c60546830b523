// Without WebAssembly, one clear error is thrown, and everything without kernels works.
import { DiskArray, isHyperslabError } from 'hyperslab'
import { describe } from '../check.mjs'

/** The only check there is to make: `{ name, error? }`. */
export async function refusesKernels() {
  const name = 'one error names the ways out'
  const zeros = new DiskArray({ dtype: 'int8', shape: [9], chunks: [3], readBlock: (_, out) => out.data.fill(0) })
  try {
    await zeros.sum()
    return { name, error: 'the kernels ran' }
  } catch (error) {
    const clear = isHyperslabError(error, 'UnsupportedError') && /initKernels.*kernels\.wasm/.test(error.message)
    return clear ? { name } : { name, error: describe(error) }
  }
}
