/** Bytes that are made letters of at once: arguments of a call are few thousand at most. */
const STEP = 8192

export function encodeBase64(bytes: Uint8Array): string {
  let text = ''
  for (let from = 0; from < bytes.length; from += STEP) text += String.fromCharCode(...bytes.subarray(from, from + STEP))
  return btoa(text)
}

/** The bytes that a text in base64 stands for; undefined for another text. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const clean = text.replace(/[\n\r]/g, '')
  if (clean.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(clean)) return undefined
  return Uint8Array.from(atob(clean), (character) => character.charCodeAt(0))
}
