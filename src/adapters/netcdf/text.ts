const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of `char` data: UTF-8 or, where it is not valid UTF-8, Latin-1 as older writers left it. Trailing
 * NULs are padding and dropped.
 */
export function decodeText(bytes: Uint8Array): string {
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  // A copy, because decoders refuse shared memory.
  const text = bytes.slice(0, end)
  try {
    return UTF8.decode(text)
  } catch {
    return latin1(text)
  }
}

/** By hand: what TextDecoder calls latin1 is windows-1252. */
function latin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

/**
 * The bytes behind a string of netcdfjs, which makes a character of each byte and sign-extends it: 0xe9
 * becomes U+FFE9. The array wraps.
 */
export function bytesOfParsed(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}

export const decodeParsed = (text: string): string => decodeText(bytesOfParsed(text))
