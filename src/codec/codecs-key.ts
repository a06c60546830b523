import type { Codec } from './codec.ts'

const numbers = new WeakMap<Codec, number>()
let last = 0

/** Returns a text for keys of decoded blocks: the same for the same codecs of users, '' for none. */
export function keyOfCodecs(codecs: readonly Codec[]): string {
  return codecs
    .map((codec) => {
      const number = numbers.get(codec) ?? ++last
      numbers.set(codec, number)
      return ` by ${number}`
    })
    .join('')
}
