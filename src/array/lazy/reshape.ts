import type { DType } from '../../core/dtype.ts'
import { HyperslabError } from '../../core/errors.ts'
import { checkValue } from '../../core/options.ts'
import { checkShape, showShape, sizeOf } from '../../core/shape.ts'
import { type AxisChunks, ChunkGrid, RegularChunks } from '../../grid/chunks.ts'
import { axisChunks, listLengths } from '../../grid/irregular-chunks.ts'
import type { BlockSource } from '../source.ts'
import { viewAxes } from './axes-view.ts'
import { deriveSource } from './derive.ts'
import type { AxisGroup } from './reshaped.ts'

/**
 * Returns the elements in C order under another shape, as long as whole chunks stay whole. It adds and drops
 * axes of length 1, merges axes whose chunks are contiguous runs, and splits axes at chunk boundaries.
 * @param to the new shape; one length may be -1, which stands for the remaining elements
 * @throws InvalidArgumentError if sizes differ; UnsupportedError if chunks would be split
 */
export function reshape<D extends DType>(source: BlockSource<D>, to: readonly number[]): BlockSource<D> {
  const shape = completed(source, to)
  const size = sizeOf(shape)
  const groups = size === 0 ? [] : groupAxes(source.shape, shape)
  const simple = groups.every(({ below, own }) => below.length <= 1 && own.length <= 1)
  if (size > 0 && simple) {
    const axes = groups.flatMap(({ below, own }) => (own.length === 0 ? [] : [below[0] ?? '']))
    return viewAxes(source, { order: axes })
  }
  const chunks = new ChunkGrid(
    size === 0
      ? shape.map((length) => new RegularChunks(Math.max(1, length), length))
      : groups.flatMap(({ below, own }) => {
          const lengths = own.map((axis) => shape[axis]!)
          if (below.length === 0) return lengths.map(() => new RegularChunks(1, 1))
          if (own.length === 0) return []
          const merged = mergeChunks(below.map((axis) => source.chunks.axes[axis]!))
          return (merged && splitChunks(merged, lengths)) ?? torn(source, shape)
        }),
  )
  const body = () => import('./reshaped.ts')
  return deriveSource(source, {
    chunks,
    dimensionNames: reshapedNames(source, groups, shape.length),
    readBlock: async (box, out, options) => (await body()).readReshaped(source, chunks, groups, box, out, options),
    write: async (...asked) => (await body()).writeReshaped(source, chunks, groups, ...asked),
  })
}

function reshapedNames({ dimensionNames }: BlockSource, groups: readonly AxisGroup[], rank: number): string[] | undefined {
  if (dimensionNames === undefined) return undefined
  const names = new Array<string>(rank).fill('')
  for (const { below, own } of groups) if (below.length === 1 && own.length === 1) names[own[0]!] = dimensionNames[below[0]!]!
  return names
}

function completed({ shape }: BlockSource, to: readonly number[]): number[] {
  checkValue('reshape', 'shape', to, 'list of numbers')
  const known = to.reduce((size, length) => (length === -1 ? size : size * length), 1)
  const size = sizeOf(shape)
  const full = to.map((length) => (length === -1 && known > 0 ? size / known : length))
  if (to.filter((length) => length === -1).length <= 1 && full.every((n) => Number.isSafeInteger(n) && n >= 0)) {
    checkShape(full, 'shape')
    if (sizeOf(full) === size) return full
  }
  throw new HyperslabError(
    'InvalidArgumentError',
    `an array ${showShape(shape)} of ${size} elements cannot become ${showShape(to)}`,
    {
      actual: to,
      expected: size,
    },
  )
}

function torn({ shape, chunks }: BlockSource, to: readonly number[]): never {
  throw new HyperslabError(
    'UnsupportedError',
    `reshaping ${showShape(shape)} to ${showShape(to)} would tear its chunks of ${showShape(chunks.chunkShape)} apart: rechunk it first`,
    { actual: to, expected: chunks.chunkShape },
  )
}

/**
 * Divides two shapes of one size into the smallest groups of equal size. An axis of length 1 that is added or
 * dropped is a group of its own.
 */
function groupAxes(from: readonly number[], to: readonly number[]): AxisGroup[] {
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
 * Returns the chunks of some axes as runs of elements in C order; undefined if the elements of a chunk are
 * not contiguous.
 */
function mergeChunks(axes: readonly AxisChunks[]): AxisChunks | undefined {
  const lengths = axes.map(({ length }) => length)
  let cut = axes.length - 1
  while (cut > 0 && axes[cut]!.count <= 1) cut--
  const inner = sizeOf(lengths.slice(cut + 1))
  if (axes.slice(0, cut).some(({ count, length }) => count !== length)) return undefined
  const row = listLengths(axes[cut]!).map((length) => length * inner)
  const rows = sizeOf(lengths.slice(0, cut))
  return axisChunks(Array.from({ length: rows }, () => row).flat())
}

/**
 * Divides the chunks of one axis among several axes of the same elements in C order; undefined if a chunk
 * would not be a box.
 */
function splitChunks(chunks: AxisChunks, shape: readonly number[]): AxisChunks[] | undefined {
  const [length, ...rest] = shape
  if (rest.length === 0) return [chunks]
  const inner = sizeOf(rest)
  const lengths = listLengths(chunks)
  const whole = (each: number): AxisChunks => new RegularChunks(each, each)
  if (lengths.every((each) => each % inner === 0)) return [axisChunks(lengths.map((each) => each / inner)), ...rest.map(whole)]
  const count = chunks.find(inner - 1) + 1
  const row = lengths.slice(0, count)
  const even =
    chunks.stop(count - 1) === inner && lengths.length === count * length! && lengths.every((each, k) => each === row[k % count])
  const others = even ? splitChunks(axisChunks(row), rest) : undefined
  return others && [new RegularChunks(1, length!), ...others]
}
