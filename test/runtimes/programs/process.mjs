// Node, Deno and Bun: the suite in memory and in the folder given as argument. Prints the results as one line
// of JSON.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { initKernels } from 'hyperslab'
import { describe, equal } from '../check.mjs'
import { runEverywhere } from './places.mjs'

const require = createRequire(import.meta.url)
const results = await runEverywhere({ folder: process.argv[2] })

function check(name, run) {
  try {
    run()
    results.push({ name })
  } catch (error) {
    results.push({ name, error: describe(error) })
  }
}

// Fails where a module awaits at its top level.
check('require gives the same names', () => equal(typeof require('hyperslab').open, 'function'))
check('hyperslab/kernels.wasm is what initKernels takes, as bytes and as a module', () => {
  const bytes = readFileSync(require.resolve('hyperslab/kernels.wasm'))
  initKernels(bytes)
  initKernels(new WebAssembly.Module(bytes))
})
const after = await runEverywhere({ folder: `${process.argv[2]}/again` })
results.push(...after.map(({ name, error }) => ({ name: `with kernels.wasm: ${name}`, error })))
console.log(JSON.stringify(results))
