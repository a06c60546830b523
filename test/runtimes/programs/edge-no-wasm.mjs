import { checkWithoutKernels } from './no-wasm.mjs'

export default { fetch: async () => Response.json(await checkWithoutKernels()) }
