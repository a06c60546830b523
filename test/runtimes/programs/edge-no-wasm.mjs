import { refusesKernels } from './no-wasm.mjs'

export default { fetch: async () => Response.json([await refusesKernels()]) }
