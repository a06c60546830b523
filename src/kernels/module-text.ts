/** The bytes of a module, from the text that `scripts/embed-kernels.mjs` made of them. */
export function bytesOfText(text: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  const digit = (): number => {
    const code = text.charCodeAt(at++)
    // The characters < \ ` are none.
    return code - 40 - Number(code > 60) - Number(code > 92) - Number(code > 96)
  }
  for (let i = 0; i < bytes.length; i++) {
    const first = digit()
    bytes[i] = first < 3 ? 81 * (first + 1) + digit() - 3 : first - 3
  }
  return bytes
}
