// A Worker that hands over what workerd has compiled, in global scope.
import { initKernels } from 'hyperslab'
import kernels from 'hyperslab/kernels.wasm'

initKernels(kernels)

export { default } from './edge.mjs'
