import type { Step } from '../../codec/chain.ts'
import { filterStep } from './filter-step.ts'

const VECTOR = Uint8Array.from({ length: 16 }, (_, i) => i)

/** Returns the source positions of 16 bytes for reversing the byte order of numbers. */
export const swappedPlaces = (wordBytes: number): Uint8Array =>
  // Within a number, the position of a byte and that of its source differ in all bits.
  VECTOR.map((i) => i ^ (wordBytes - 1))

/** Returns the step that reverses the byte order of numbers. */
export function swapStep(wordBytes: number): Step {
  const places = swappedPlaces(wordBytes)
  return filterStep({
    name: 'bytes',
    encodedBytes: (bytes) => bytes,
    decodeIn(kernels, arena, pointer, length) {
      if (length > 0) arena.scratch(() => kernels.swap(pointer, length, arena.put(places)))
      return { pointer, length }
    },
  })
}
