// Seeded data of kinds that are typically compressed and reduced, as bytes.
import { climate, random } from './measure.mjs'

/**
 * Returns data like heights in metres: two-dimensional, smooth over long distances, rough over short ones.
 */
function terrain(length, seed) {
  const next = random(seed)
  const [a, b, c] = [next() * 6, next() * 6, next() * 6]
  const width = 1024
  let rough = 0
  return Int16Array.from({ length }, (_, i) => {
    const [x, y] = [i % width, Math.floor(i / width)]
    rough = 0.9 * rough + (next() - 0.5) * 12
    return Math.round(600 + 400 * Math.sin(x / 190 + a) * Math.cos(y / 130 + b) + 60 * Math.sin((x + y) / 17 + c) + rough)
  })
}

const WORDS =
  'temperature station of and the in mean daily observed at with a to pressure wind from over during was measured per cent'.split(
    ' ',
  )

/** Returns words, with frequencies as uneven as in prose, and numbers. */
function text(length, seed) {
  const next = random(seed)
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; ) {
    const word = next() < 0.15 ? String(Math.floor(next() * 10_000)) : WORDS[Math.floor(WORDS.length * next() ** 2)]
    for (let i = 0; i <= word.length && at < length; i++) bytes[at++] = i < word.length ? word.charCodeAt(i) : 32
  }
  return bytes
}

/** Returns the bytes of all elements plane by plane, as a shuffle filter does. */
function shuffled(values) {
  const width = values.BYTES_PER_ELEMENT
  const bytes = bytesOf(values)
  const out = new Uint8Array(bytes.length)
  for (let i = 0; i < values.length; i++) for (let k = 0; k < width; k++) out[k * values.length + i] = bytes[i * width + k]
  return out
}

const bytesOf = (values) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

function noise(bytes, seed) {
  const next = random(seed)
  return bytesOf(Uint32Array.from({ length: bytes / 4 }, () => next() * 2 ** 32))
}

/** Functions of length in bytes (a multiple of 4) and seed, by name. */
export const KINDS = {
  climate: (bytes, seed) => bytesOf(climate(bytes / 4, seed)),
  'climate, shuffled': (bytes, seed) => shuffled(climate(bytes / 4, seed)),
  terrain: (bytes, seed) => bytesOf(terrain(bytes / 2, seed)),
  text,
  zeros: (bytes) => new Uint8Array(bytes),
  constants: (bytes, seed) => bytesOf(new Float32Array(bytes / 4).fill(seed + 0.1)),
  random: noise,
}
