import type { Step } from '../../codec/chain.ts'
import { HyperslabError } from '../../core/errors.ts'
import { sizeOf, stridesOf } from '../../core/shape.ts'
import { copyStrided, type ElementBytes } from '../../kernels/copy.ts'
import { showJson } from './document.ts'

/**
 * Parses the order of axes of a codec `transpose`: stored axis `i` is axis `order[i]`.
 * @throws CodecError if it is not an order of `rank` axes
 */
export function parseOrder(order: unknown, rank: number): number[] {
  const axes = Array.from({ length: rank }, (_, axis) => axis)
  // Drafts of the specification had these names.
  if (order === 'C') return axes
  if (order === 'F') return axes.reverse()
  const isOrder = Array.isArray(order) && order.length === rank && axes.every((axis) => order.includes(axis))
  if (isOrder) return order as number[]
  throw new HyperslabError('CodecError', `transpose: ${showJson(order)} is not an order of ${rank} axes`, { actual: order })
}

/**
 * Returns the step that restores elements of `bytes` bytes from the order `order` of axes. `shape` is the
 * restored shape.
 */
export function transposeStep(order: readonly number[], shape: readonly number[], bytes: number): Step {
  const unit = ([8, 4, 2] as ElementBytes[]).find((size) => bytes % size === 0) ?? 1
  const units = bytes / unit
  const stored = stridesOf(order.map((axis) => shape[axis]!))
  const from = shape.map((_, axis) => stored[order.indexOf(axis)]! * units)
  const to = stridesOf(shape).map((stride) => stride * units)
  const size = sizeOf(shape) * bytes
  return {
    name: 'transpose',
    encodedBytes: (decoded) => decoded,
    decodeIn(arena, pointer) {
      const target = arena.alloc(size)
      if (units === 1) copyStrided(arena, unit, shape, pointer, from, target, to)
      else copyStrided(arena, unit, [...shape, units], pointer, [...from, 1], target, [...to, 1])
      return { pointer: target, length: size }
    },
  }
}

/** Whether the order leaves the axes as they are. */
export const isNatural = (order: readonly number[]): boolean => order.every((axis, i) => axis === i)

/** Returns the stored position of each element in C order, if axes are stored in the order `order`. */
export function transposedOffsets(order: readonly number[], shape: readonly number[]): Float64Array {
  const stored = stridesOf(order.map((axis) => shape[axis]!))
  const places = new Float64Array(sizeOf(shape))
  let count = 1
  for (const [axis, length] of shape.entries()) {
    if (length === 1) continue
    const stride = stored[order.indexOf(axis)]!
    // Runs from the end, so that each position is read before other values overwrite it.
    for (let at = count - 1; at >= 0; at--)
      for (let i = length - 1; i >= 0; i--) places[at * length + i] = places[at]! + i * stride
    count *= length
  }
  return places
}
