// Writes the compiled kernels as base64 into the source tree, so that the package loads without fetching a second file.
import { readFileSync, writeFileSync } from 'node:fs'

const wasm = readFileSync('build/kernels.wasm')
const imports = WebAssembly.Module.imports(new WebAssembly.Module(wasm))
if (imports.length > 0) throw new Error(`the kernels must import nothing, but import ${JSON.stringify(imports)}`)
writeFileSync('src/kernels/wasm.generated.ts', `export const KERNELS_BASE64 =\n  '${wasm.toString('base64')}'\n`)
