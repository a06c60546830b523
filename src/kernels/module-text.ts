/**
 * The bytes of a module, from the text that `scripts/embed-kernels.mjs` made of them. It runs once, before
 * the engine has compiled it: what it does for a byte are a few steps without a call.
 */
export function bytesOfText(text: string, length: number): Uint8Array {
  const codes = new TextEncoder().encode(text)
  const digits = new Uint8Array(128)
  // The characters < \ ` are none.
  for (let code = 40, digit = 0; code < 128; code++) if (code !== 60 && code !== 92 && code !== 96) digits[code] = digit++
  const bytes = new Uint8Array(length)
  for (let i = 0, at = 0; i < length; i++) {
    const first = digits[codes[at++]!]!
    bytes[i] = first < 3 ? 81 * (first + 1) + digits[codes[at++]!]! - 3 : first - 3
  }
  return bytes
}
