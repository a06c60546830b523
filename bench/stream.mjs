import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'

/** Creates loops over the memory of the kernels that do nothing else; see stream.ts. */
export async function streams(memory) {
  const source = fileURLToPath(new URL('./stream.ts', import.meta.url))
  const out = fileURLToPath(new URL('../build/bench-stream.wasm', import.meta.url))
  const flags = ['--optimizeLevel', '3', '--runtime', 'stub', '--enable', 'simd', '--use', 'abort=', '--importMemory']
  const { error, stderr } = await asc.main([source, '--outFile', out, ...flags])
  if (error) throw new Error(stderr.toString())
  const { instance } = await WebAssembly.instantiate(readFileSync(out), { env: { memory } })
  return instance.exports
}
