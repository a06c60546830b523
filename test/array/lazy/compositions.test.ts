import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DiskArray } from '../../../src/array/disk-array.ts'
import { sizeOf } from '../../../src/core/shape.ts'
import type { ChunkGrid } from '../../../src/grid/chunks.ts'
import { type Box, rangeLength } from '../../../src/grid/range.ts'
import { mixedGrids, selections } from '../../support/arbitraries.ts'
import { byBudget } from '../../support/budget.ts'
import { CountingSource } from '../../support/counting-source.ts'
import { pick } from '../../support/oracle.ts'
import { type Model, type Step, same, steps } from './model.ts'

/** Few unless asked for. */
const RUNS = byBudget({ quick: 200, full: 500, soak: 10_000 })

const shapes = fc.array(
  fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 7 }) }, { weight: 1, arbitrary: fc.constant(0) }),
  {
    maxLength: 3,
  },
)
/** Beyond this a case says no more and takes long. */
const MAX_SIZE = 3000

/** All elements that sources have, each with its value. */
class Pool {
  readonly values: number[] = []
  readonly sources: { source: CountingSource<'float64'>; data: Float64Array; first: number }[] = []

  add(shape: readonly number[], grid: ChunkGrid, takesSteps: boolean): { array: DiskArray<'float64'>; model: Model } {
    const first = this.values.length
    const data = Float64Array.from({ length: sizeOf(shape) }, (_, i) => first + i + 0.25)
    this.values.push(...data)
    const source = new CountingSource({ dtype: 'float64', shape, data }, grid, { steps: takesSteps })
    this.sources.push({ source, data, first })
    const cells = Array.from(data, (_, i) => ({ place: first + i, none: Number.NaN, forth: same, back: same }))
    return { array: new DiskArray(source), model: { shape, cells, writable: true, repeats: false, oneToOne: true } }
  }

  clear(): void {
    for (const { source } of this.sources) source.reads.length = source.writes.length = 0
  }

  stored(): number[] {
    return this.sources.flatMap(({ data }) => [...data])
  }
}

class Case {
  constructor(
    readonly pool: Pool,
    readonly array: DiskArray<'float64'>,
    readonly model: Model,
    readonly names: string[],
  ) {}

  /** Text that a failing property prints. */
  toString(): string {
    return this.names.join(' > ')
  }
}

/** A random source with up to four operations on it, chosen as the shapes they lead to allow. */
const cases: fc.Arbitrary<Case> = shapes
  .chain((shape) => fc.tuple(fc.constant(shape), mixedGrids(shape), fc.boolean(), fc.nat(4), fc.infiniteStream(fc.nat())))
  .map(([shape, grid, takesSteps, count, seeds]) => {
    const pool = new Pool()
    const seed = seeds[Symbol.iterator]()
    const draw = <T>(arbitrary: fc.Arbitrary<T>): T => fc.sample(arbitrary, { numRuns: 1, seed: seed.next().value! })[0]!
    let { array, model } = pool.add(shape, grid, takesSteps)
    const names = [`${takesSteps ? 'stepping ' : ''}${grid}`]
    for (let i = 0; i < count; i++) {
      const step: Step = draw(steps(model.shape, (other) => pool.add(other, draw(mixedGrids(other)), draw(fc.boolean()))))
      const next = step.model(model)
      if (sizeOf(next.shape) > MAX_SIZE) break
      names.push(step.name)
      array = step.apply(array)
      model = next
    }
    return new Case(pool, array, model, names)
  })

const withSelection = cases.chain((made) =>
  fc.tuple(
    fc.constant(made),
    selections(made.model.shape).map((list) => list.slice(0, made.model.shape.length)),
  ),
)

const elementsOf = (result: unknown): number[] =>
  typeof result === 'object' && result !== null ? [...(result as { data: Float64Array }).data] : [result as number]

/** Elements that were read, and how many of them more than once. */
function readTwice(reads: readonly Box[], shape: readonly number[]): number {
  const seen = new Set<number>()
  let twice = 0
  for (const box of reads) {
    let flat = [0]
    box.forEach((range, axis) => {
      const positions = Array.from({ length: rangeLength(range) }, (_, i) => range.start + i * range.step)
      flat = flat.flatMap((base) => positions.map((position) => base * shape[axis]! + position))
    })
    for (const element of flat) {
      if (seen.has(element)) twice++
      seen.add(element)
    }
  }
  return twice
}

describe('compositions of lazy arrays', () => {
  test('read as the oracle, no more blocks than chunks and none twice', async () => {
    await fc.assert(
      fc.asyncProperty(withSelection, async ([{ pool, array, model }, selection]) => {
        expect(array.shape).toEqual(model.shape)
        expect(array.chunks.shape).toEqual(model.shape)
        const { flat, shape } = pick(model.shape, selection)
        const expected = flat.map((i) => {
          const { place, none, forth } = model.cells[i]!
          return forth(place < 0 ? none : pool.values[place]!)
        })
        pool.clear()
        const result = await array.get(selection)
        expect(elementsOf(result)).toEqual(expected)
        if (typeof result === 'object') expect(result.shape).toEqual(shape)
        for (const { source } of pool.sources) {
          if (!model.repeats) expect(readTwice(source.reads, source.shape)).toBe(0)
          if (model.oneToOne) expect(source.reads.length).toBeLessThanOrEqual((await array.plan(selection)).chunks)
          if (expected.length === 0) expect(source.reads).toEqual([])
        }
      }),
      { numRuns: 3 * RUNS },
    )
  })

  test('write as the oracle, or refuse', async () => {
    await fc.assert(
      fc.asyncProperty(withSelection, async ([{ pool, array, model }, selection]) => {
        const { flat } = pick(model.shape, selection)
        const values = flat.map((i, k) => model.cells[i]!.forth(1000 + k))
        if (model.writable === 'in part') return
        if (!model.writable) {
          await expect(array.set(selection, values)).rejects.toMatchObject({ tag: 'ReadOnlyError' })
          expect(pool.stored()).toEqual(pool.values)
          return
        }
        const expected = [...pool.values]
        flat.forEach((i, k) => {
          const { place, back } = model.cells[i]!
          expected[place] = back(values[k]!)
        })
        await array.get()
        await array.set(selection, values)
        expect(pool.stored()).toEqual(expected)
        const after = elementsOf(await array.get())
        expect(after).toEqual(model.cells.map(({ place, forth }) => forth(expected[place]!)))
      }),
      { numRuns: 2 * RUNS },
    )
  })
})
