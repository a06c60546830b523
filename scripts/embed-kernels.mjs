// Writes the compiled modules as text into the source tree, so that the package loads without fetching a
// second file.
import { readFileSync, writeFileSync } from 'node:fs'

// The 84 characters from ( to ~ that need no escape in a string, a template or a script element, in order of
// their frequency in code. Frequent bytes of a module get the frequent characters, because gzip has one
// frequency of a character for both.
// Small bytes, most of a module, are one character, others two. Base64 would be a third longer, and half as
// long again after gzip. Its characters straddle the bytes, so repetitions of the module are not repetitions
// of the text.
const FREQUENT = 'tensri,oa().=cuhl{}:fd;pygmbw0>[]?vk1x+-|ABM2ES4I*z6N8O3jLUC/RFTD_VqWGPZ5H7JKQX9Y^@~'
const prefixes = 3
const singles = FREQUENT.length - prefixes

/** Returns the text of a module: its digits, then its bytes in these digits. */
function textOf(wasm) {
  const count = new Array(256).fill(0)
  for (const byte of wasm) count[byte]++
  const rank = Array.from({ length: singles }, (_, byte) => byte).sort((a, b) => count[b] - count[a])
  const digits = new Array(FREQUENT.length)
  for (let prefix = 0; prefix < prefixes; prefix++) digits[prefix] = FREQUENT[prefixes + prefix]
  for (const [i, byte] of rank.entries()) digits[prefixes + byte] = FREQUENT[i < prefixes ? i : i + prefixes]
  const encode = (byte) =>
    byte < singles ? digits[prefixes + byte] : digits[Math.floor(byte / singles) - 1] + digits[prefixes + (byte % singles)]
  return digits.join('') + Array.from(wasm, encode).join('')
}

const bytesOf = (name) => readFileSync(`build/${name}.wasm`)
const run = (name, imports) => new WebAssembly.Instance(new WebAssembly.Module(bytesOf(name)), imports).exports

// The kernels are seven modules over one memory. The tables of each end before those of the next begin, and
// the last before the arena. Both modules of Zstandard rebuild their tables with each call, so these share
// one place.
const { wholeEnd } = run('kernels')
const reading = run('reading')
const over = { env: { memory: reading.memory } }
const { computeEnd } = run('compute', over)
const { filtersEnd } = run('filters', over)
const { rareFiltersEnd } = run('rare-filters', over)
const { tiffEnd } = run('tiff', over)
const { zstdDataEnd, zstdTables, zstdEnd } = run('zstd', over)
const encode = run('zstd-encode', over)
const { targets } = JSON.parse(readFileSync('asconfig.json', 'utf8'))
const { compute, filters, 'rare-filters': rareFilters, tiff, zstd, 'zstd-encode': zstdEncode } = targets
const places = [
  reading.readingEnd.value,
  compute.memoryBase,
  computeEnd.value,
  filters.memoryBase,
  filtersEnd.value,
  rareFilters.memoryBase,
  rareFiltersEnd.value,
  tiff.memoryBase,
  tiffEnd.value,
  zstd.memoryBase,
  zstdDataEnd.value,
  zstdTables.value,
  encode.zstdEncodeTables.value,
  encode.zstdEncodeEnd.value,
  zstdEnd.value,
  zstdEncode.memoryBase,
  encode.zstdEncodeDataEnd.value,
  reading.arenaMark(),
]
if (wholeEnd.value > zstdTables.value)
  throw new Error(`the tables of the whole module end at ${wholeEnd.value}, behind those of zstd`)
if (places.some((place, i) => place < places[i - 1])) throw new Error(`the tables of the kernels overlap: ${places.join(', ')}`)

for (const [name, target] of [
  ['reading', 'src/kernels/reading.generated.ts'],
  ['compute', 'src/kernels/compute.generated.ts'],
  ['filters', 'src/kernels/filters.generated.ts'],
  ['rare-filters', 'src/kernels/rare-filters.generated.ts'],
  ['tiff', 'src/kernels/tiff.generated.ts'],
  ['zstd', 'src/codec/zstd-wasm.generated.ts'],
  ['zstd-encode', 'src/codec/zstd-encode.generated.ts'],
]) {
  const wasm = bytesOf(name)
  const text = textOf(wasm)
  const prefix = name.toUpperCase().replace('-', '_')
  writeFileSync(
    target,
    `export const ${prefix}_BYTES: number = ${wasm.length}\nexport const ${prefix}_TEXT: string =\n  '${text}'\n`,
  )
}
