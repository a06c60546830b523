/** Number of bytes converted at once, because a call has a limited number of arguments. */
const STEP = 8192

export function encodeBase64(bytes: Uint8Array): string {
  let text = ''
  for (let from = 0; from < bytes.length; from += STEP) text += String.fromCharCode(...bytes.subarray(from, from + STEP))
  return btoa(text)
}

/** Returns the bytes of a text in base64; undefined if the text is not base64. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const clean = text.replace(/[\n\r]/g, '')
  if (clean.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(clean)) return undefined
  return Uint8Array.from(atob(clean), (character) => character.charCodeAt(0))
}
