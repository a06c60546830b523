import { sizeOf } from '../../core/shape.ts'
import { type AxisChunks, RegularChunks } from '../../grid/chunks.ts'
import { chunksOf, lengthsOf } from '../../grid/irregular-chunks.ts'

/**
 * Neighbouring axes below that become neighbouring axes of the result: as many elements, in the same order.
 */
export interface AxisGroup {
  readonly below: readonly number[]
  readonly own: readonly number[]
}

/**
 * The smallest groups that two shapes of one size are made of. An axis of length 1 that comes or goes is a
 * group alone.
 */
export function groupAxes(from: readonly number[], to: readonly number[]): AxisGroup[] {
  const groups: AxisGroup[] = []
  let [i, j] = [0, 0]
  while (i < from.length || j < to.length) {
    if (from[i] === 1 && to[j] !== 1) groups.push({ below: [i++], own: [] })
    else if (to[j] === 1 && from[i] !== 1) groups.push({ below: [], own: [j++] })
    else {
      const [below, own] = [[i], [j]]
      let [a, b] = [from[i++]!, to[j++]!]
      while (a !== b) {
        if (a < b) {
          a *= from[i]!
          below.push(i++)
        } else {
          b *= to[j]!
          own.push(j++)
        }
      }
      groups.push({ below, own })
    }
  }
  return groups
}

/**
 * The chunks of some axes as runs of elements in C order; undefined where the elements of a chunk are not
 * neighbours.
 */
export function mergeChunks(axes: readonly AxisChunks[]): AxisChunks | undefined {
  const lengths = axes.map(({ length }) => length)
  let cut = axes.length - 1
  while (cut > 0 && axes[cut]!.count <= 1) cut--
  const inner = sizeOf(lengths.slice(cut + 1))
  if (axes.slice(0, cut).some(({ count, length }) => count !== length)) return undefined
  const row = lengthsOf(axes[cut]!).map((length) => length * inner)
  const rows = sizeOf(lengths.slice(0, cut))
  return chunksOf(Array.from({ length: rows }, () => row).flat())
}

/**
 * Chunks for several axes whose elements in C order are cut like those of one; undefined where some chunk
 * would not be a box.
 */
export function splitChunks(chunks: AxisChunks, shape: readonly number[]): AxisChunks[] | undefined {
  const [length, ...rest] = shape
  if (rest.length === 0) return [chunks]
  const inner = sizeOf(rest)
  const lengths = lengthsOf(chunks)
  const whole = (each: number): AxisChunks => new RegularChunks(each, each)
  if (lengths.every((each) => each % inner === 0)) return [chunksOf(lengths.map((each) => each / inner)), ...rest.map(whole)]
  const count = chunks.find(inner - 1) + 1
  const row = lengths.slice(0, count)
  const even =
    chunks.stop(count - 1) === inner && lengths.length === count * length! && lengths.every((each, k) => each === row[k % count])
  const others = even ? splitChunks(chunksOf(row), rest) : undefined
  return others && [new RegularChunks(1, length!), ...others]
}
