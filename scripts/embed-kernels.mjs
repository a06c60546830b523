// Writes the compiled modules as text into the source tree, so that the package loads without fetching a second file.
import { readFileSync, writeFileSync } from 'node:fs'

// The 84 characters from ( to ~ that need no escape in a string, a template or a script element. Small bytes, most of a module, are one
// character, others two. Base64 would be a third longer, and half as long again after gzip: its characters straddle the bytes, so that what
// repeats in the module does not repeat in the text.
const digits = Array.from({ length: 87 }, (_, i) => String.fromCharCode(40 + i)).filter((digit) => !'<\\`'.includes(digit))
const prefixes = 3
const singles = digits.length - prefixes
const encode = (byte) =>
  byte < singles ? digits[prefixes + byte] : digits[Math.floor(byte / singles) - 1] + digits[prefixes + (byte % singles)]

const bytesOf = (name) => readFileSync(`build/${name}.wasm`)
const run = (name, imports) => new WebAssembly.Instance(new WebAssembly.Module(bytesOf(name)), imports).exports

// The kernels are two modules over one memory: the tables of one end before those of the other begin, and these before the arena.
run('kernels')
const reading = run('reading')
const { computeEnd } = run('compute', { env: { memory: reading.memory } })
const { memoryBase } = JSON.parse(readFileSync('asconfig.json', 'utf8')).targets.compute
const places = [reading.readingEnd.value, memoryBase, computeEnd.value, reading.arenaMark()]
if (places.some((place, i) => place < places[i - 1])) throw new Error(`the tables of the kernels overlap: ${places.join(', ')}`)
run('zstd')

for (const [name, target] of [
  ['reading', 'src/kernels/reading.generated.ts'],
  ['compute', 'src/kernels/compute.generated.ts'],
  ['zstd', 'src/codec/zstd-wasm.generated.ts'],
]) {
  const wasm = bytesOf(name)
  const text = Array.from(wasm, encode).join('')
  const prefix = name.toUpperCase()
  writeFileSync(
    target,
    `export const ${prefix}_BYTES: number = ${wasm.length}\nexport const ${prefix}_TEXT: string =\n  '${text}'\n`,
  )
}
