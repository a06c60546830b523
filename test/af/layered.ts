import fc from 'fast-check'
import { allocate, isBigInt, isFloat, NUMERIC_DTYPES, type NumericDType } from '../../src/core/dtype.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import type { Selector } from '../../src/grid/selection.ts'
import { type ArrayFile, create, type FileArray, MemoryStore, open } from '../../src/runtime/index.ts'
import { elements, selections } from '../support/arbitraries.ts'
import { type Plain, pick, plainSet } from '../support/oracle.ts'

export type Element = number | bigint
export type Type = NumericDType | 'bool'

/**
 * Elements of which some are NaN, infinite, zeros of both signs or equal to each other, as the type has them.
 */
export function values(dtype: Type): fc.Arbitrary<Element> {
  const [few, common] = isFloat(dtype)
    ? [
        [Number.NaN, Infinity, -Infinity, 0, -0, Math.fround(1e20)],
        [1.5, -2.25, 0, -0],
      ]
    : isBigInt(dtype)
      ? [
          [0n, 2n ** 63n - 1n],
          [0n, 1n, 7n],
        ]
      : [
          [0, 1],
          [0, 1],
        ]
  // Finite elements whose sum is not are read rather than taken from statistics: that has a test of its own.
  const any = dtype === 'float64' ? fc.double({ min: -1e300, max: 1e300 }) : (elements(dtype) as fc.Arbitrary<Element>)
  return fc.oneof(fc.constantFrom<Element>(...common), fc.constantFrom<Element>(...few), any)
}

/** An array that was written in several layers, with and without statistics of its chunks. */
export const layered = fc.constantFrom<Type>(...NUMERIC_DTYPES, 'bool').chain((dtype) =>
  fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 3 }).chain((shape) =>
    fc.record({
      dtype: fc.constant(dtype),
      shape: fc.constant(shape),
      chunkShape: fc.tuple(...shape.map((length) => fc.integer({ min: 1, max: length + 1 }))),
      fill: fc.option(values(dtype)),
      writes: fc.array(
        fc.record({
          selection: selections(shape),
          elements: fc.array(values(dtype), { minLength: sizeOf(shape), maxLength: sizeOf(shape) }),
          extensionBlocks: fc.boolean(),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      /** The last write is not flushed. */
      pending: fc.boolean(),
      compact: fc.boolean(),
      /** With 1 every chunk is packed at once, a block each. */
      blockBytes: fc.constantFrom(1, 1000),
    }),
  ),
)

type Layered = typeof layered extends fc.Arbitrary<infer T> ? T : never

export interface Written {
  readonly file: ArrayFile
  readonly array: FileArray
  readonly plain: Plain
  readonly grid: ChunkGrid
  /** Numbers of the unwritten chunks, and of those whose newest version has no statistics. */
  readonly missing: ReadonlySet<number>
  readonly unknown: ReadonlySet<number>
}

export async function write(layered: Layered): Promise<Written> {
  const { dtype, shape, chunkShape, fill, writes, pending, compact, blockBytes } = layered
  const where = { store: new MemoryStore(), path: 'a.af' }
  const grid = ChunkGrid.regular(shape, chunkShape)
  const zero = isBigInt(dtype) ? 0n : 0
  const plain = { dtype, shape, data: allocate(dtype, sizeOf(shape)).fill((fill ?? zero) as never) } as Plain
  const missing = new Set(Array.from({ length: grid.count }, (_, number) => number))
  const unknown = new Set<number>()
  let file = await create(where)
  const fillValue = (dtype === 'bool' ? fill === 1 : fill) as never
  file.createArray('x', { dtype, shape, chunks: chunkShape, ...(fill !== null && { fillValue }) })
  await file.flush()
  for (const [i, { selection, elements, extensionBlocks }] of writes.entries()) {
    await file.close()
    file = await open(where, { extensionBlocks, blockBytes, cacheBytes: 0 })
    const part = allocate(dtype, pick(shape, selection).flat.length)
    for (let at = 0; at < part.length; at++) part[at] = elements[at] as never
    await file.array('x').set(selection, part)
    plainSet(plain, selection, part)
    const stays = pending && i === writes.length - 1
    for (const number of touched(grid, selection)) {
      missing.delete(number)
      if (extensionBlocks || stays) unknown.delete(number)
      else unknown.add(number)
    }
    if (!stays) await file.flush()
  }
  if (!pending) {
    await file.close()
    file = await open(where, { blockBytes, cacheBytes: 0 })
    if (compact) {
      await file.compact()
      unknown.clear()
      await file.close()
      file = await open(where, { cacheBytes: 0 })
    }
  }
  return { file, array: file.array('x'), plain, grid, missing, unknown }
}

function touched(grid: ChunkGrid, selection: readonly Selector[]): number[] {
  const numbers = pick(grid.shape, selection).flat.map((position) => {
    let rest = position
    const index = [...grid.shape]
    for (let axis = index.length - 1; axis >= 0; axis--) {
      index[axis] = grid.axes[axis]!.find(rest % grid.shape[axis]!)
      rest = Math.floor(rest / grid.shape[axis]!)
    }
    return grid.chunkIndex(index)
  })
  return [...new Set(numbers)]
}

export const same = (a: Element, b: Element): boolean => a === b || (Number.isNaN(a) && Number.isNaN(b))
