import { noise, randoms } from './support.ts'

const text = (bytes: number): Uint8Array => {
  const words =
    'the air temperature over land and sea of a model year by month is given in kelvin with a fill value where there is no data'.split(
      ' ',
    )
  const next = randoms(bytes)
  let line = ''
  while (line.length < bytes) line += `${words[next() % words.length]} `
  return new TextEncoder().encode(line.slice(0, bytes))
}

const field = (bytes: number): Uint8Array => {
  const floats = Float32Array.from(
    { length: Math.ceil(bytes / 4) },
    (_, i) => Math.round(27000 + 1500 * Math.sin(i / 40) + 300 * Math.cos(i / 7)) / 100,
  )
  return new Uint8Array(floats.buffer, 0, bytes)
}

const structured = (bytes: number): Uint8Array => {
  const next = randoms(bytes)
  const out = new Uint8Array(bytes)
  for (let at = 0; at < bytes; ) {
    const length = 1 + (next() % (next() % 4 === 0 ? 700 : 20))
    const back = 1 + (next() % Math.min(at + 1, next() % 2 === 0 ? 20 : 70_000))
    for (let i = 0; i < length && at < bytes; i++, at++) out[at] = at >= back && length % 3 ? out[at - back]! : next() & 255
  }
  return out
}

/** Contents of blocks, by name: functions from a size to bytes. */
export const KINDS: Record<string, (bytes: number) => Uint8Array> = {
  random: (bytes) => noise(bytes, bytes),
  zero: (bytes) => new Uint8Array(bytes),
  constant: (bytes) => new Uint8Array(bytes).fill(7),
  'short period': (bytes) => Uint8Array.from({ length: bytes }, (_, i) => i % (1 + (bytes % 19))),
  text,
  field,
  structured,
}
