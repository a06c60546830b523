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

for (const [name, target] of [
  ['kernels', 'src/kernels/wasm.generated.ts'],
  ['zstd', 'src/codec/zstd-wasm.generated.ts'],
]) {
  const wasm = readFileSync(`build/${name}.wasm`)
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(wasm))
  if (imports.length > 0) throw new Error(`${name}.wasm must import nothing, but imports ${JSON.stringify(imports)}`)
  const text = Array.from(wasm, encode).join('')
  const prefix = name.toUpperCase()
  writeFileSync(
    target,
    `export const ${prefix}_BYTES: number = ${wasm.length}\nexport const ${prefix}_TEXT: string =\n  '${text}'\n`,
  )
}
