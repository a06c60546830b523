import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeFooterFile } from '../../src/af/format/encode.ts'
import { DEFAULT_LIMITS } from '../../src/af/format/limits.ts'
import { Paths } from '../../src/af/layers/paths.ts'
import { Stack } from '../../src/af/layers/stack.ts'
import { importContainer } from '../../src/copy/import-container.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { type ArrayFile, create, MemoryStore, open, slice, writeImmutable } from '../../src/runtime/index.ts'
import { byBudget } from '../support/budget.ts'
import { footerOf, metaOf } from '../support/containers.ts'

/** An array in plain JavaScript. */
interface Model {
  shape: number[]
  readonly chunkShape: readonly number[]
  readonly fill: number | undefined
  readonly attributes: Map<string, number>
  /** Elements by their coordinates, as far as they were written. */
  readonly elements: Map<string, number>
}

/** All coordinates of a shape, in C order. */
function coordinates(shape: readonly number[]): number[][] {
  let all: number[][] = [[]]
  for (const length of shape) all = all.flatMap((start) => Array.from({ length }, (_, k) => [...start, k]))
  return all
}

const elementsOf = ({ shape, elements, fill = 0 }: Model): number[] =>
  coordinates(shape).map((index) => elements.get(index.join()) ?? fill)

/** Sums along an axis, by loops. */
function sums(model: Model, axis: number): number[] {
  const rest = model.shape.filter((_, i) => i !== axis)
  return coordinates(rest).map((index) => {
    let sum = 0
    for (let k = 0; k < model.shape[axis]!; k++) sum += model.elements.get(index.toSpliced(axis, 0, k).join()) ?? model.fill ?? 0
    return sum
  })
}

type Step =
  | {
      readonly do: 'define'
      readonly shape: number[]
      readonly chunkShape: number[] | undefined
      readonly fill: number | undefined
    }
  | { readonly do: 'set'; readonly from: number[]; readonly lengths: number[]; readonly value: number }
  | { readonly do: 'append'; readonly axis: number; readonly length: number; readonly value: number }
  | { readonly do: 'resize'; readonly shape: number[] }
  | { readonly do: 'attribute'; readonly key: string; readonly value: number }
  | { readonly do: 'flush' | 'reopen' | 'compact' | 'through version 6' }

const length = fc.nat(3)
const three = fc.array(length, { minLength: 3, maxLength: 3 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('define' as const),
      shape: fc.array(fc.oneof(fc.constant(0), length), { minLength: 1, maxLength: 3 }),
      chunkShape: fc.option(three, { nil: undefined }),
      fill: fc.option(fc.integer({ min: -9, max: 9 }), { nil: undefined }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('set' as const),
      from: three,
      lengths: three,
      value: fc.integer({ min: 1, max: 99 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('append' as const), axis: fc.nat(2), length, value: fc.integer({ min: 1, max: 99 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resize' as const), shape: three }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('attribute' as const), key: fc.constantFrom('a', 'b'), value: fc.integer() }),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      { do: 'flush' as const },
      { do: 'reopen' as const },
      { do: 'compact' as const },
      { do: 'through version 6' as const },
    ),
  },
)

/** Each step with the array that it is for. */
const programs = fc.array(fc.tuple(step, fc.nat(2)), { minLength: 3, maxLength: 25 })

/** Chunks that the format stores: an axis of length 0 has chunks of length 1 unless they are longer. */
const stored = (shape: readonly number[], chunkShape: readonly number[] = shape): number[] =>
  chunkShape.map((chunk) => Math.max(1, chunk))

class Run {
  readonly models = new Map<string, Model>()
  readonly #store = new MemoryStore()
  #path = 'layered 0.af'
  #copies = 0
  #file!: ArrayFile

  async begin(): Promise<void> {
    this.#file = await create({ store: this.#store, path: this.#path })
  }

  /** Takes a step, as far as it makes sense for the array. */
  async take(step: Step, number: number): Promise<void> {
    const name = `x${number}`
    const model = this.models.get(name)
    const array = model && this.#file.array(name, 'int32')
    switch (step.do) {
      case 'define': {
        if (model !== undefined) return
        const { shape, fill } = step
        // On an axis with elements chunks have at least one.
        const chunkShape = step.chunkShape
          ?.slice(0, shape.length)
          .map((chunk, i) => (shape[i] === 0 ? chunk : Math.max(1, chunk)))
        const options = {
          dtype: 'int32',
          shape,
          ...(chunkShape && { chunks: chunkShape }),
          ...(fill !== undefined && { fillValue: fill }),
        }
        this.#file.createArray(name, options as { dtype: 'int32'; shape: number[] })
        this.models.set(name, { shape, chunkShape: stored(shape, chunkShape), fill, attributes: new Map(), elements: new Map() })
        return
      }
      case 'set': {
        if (model === undefined) return
        const box = model.shape.map((axis, i) => {
          const from = Math.min(step.from[i]!, axis)
          return [from, Math.min(axis, from + step.lengths[i]!)] as const
        })
        await array!.set(
          box.map(([from, to]) => slice(from, to)),
          step.value,
        )
        for (const index of coordinates(box.map(([from, to]) => to - from)))
          model.elements.set(index.map((k, i) => k + box[i]![0]).join(), step.value)
        return
      }
      case 'append': {
        if (model === undefined) return
        const axis = step.axis % model.shape.length
        const added = model.shape.with(axis, step.length)
        await array!.append(axis, { shape: added, data: new Int32Array(sizeOf(added)).fill(step.value) })
        for (const index of coordinates(added))
          model.elements.set(index.with(axis, index[axis]! + model.shape[axis]!).join(), step.value)
        model.shape = model.shape.with(axis, model.shape[axis]! + step.length)
        return
      }
      case 'resize': {
        if (model === undefined) return
        const shape = step.shape.slice(0, model.shape.length)
        await array!.resize(shape)
        model.shape = shape
        for (const key of model.elements.keys())
          if (key.split(',').some((k, i) => Number(k) >= shape[i]!)) model.elements.delete(key)
        return
      }
      case 'attribute':
        model?.attributes.set(step.key, step.value)
        array?.attrs.set(step.key, step.value)
        return
      case 'flush':
        return this.#file.flush()
      case 'compact':
        return this.#file.compact()
      case 'reopen':
        await this.#file.flush()
        this.#file = await open({ store: this.#store, path: this.#path })
        return
      case 'through version 6': {
        await this.#file.flush()
        const [sealed, next] = ['6.af', `layered ${++this.#copies}.af`]
        await writeImmutable(this.#file, { store: this.#store, path: sealed }, { overwrite: true })
        await this.check(await open({ store: this.#store, path: sealed }))
        await importContainer({ store: this.#store, path: sealed }, { store: this.#store, path: next })
        this.#path = next
        this.#file = await open({ store: this.#store, path: next })
        return
      }
    }
  }

  async check(file = this.#file): Promise<void> {
    expect(file.arrays().toSorted()).toEqual([...this.models.keys()].toSorted())
    for (const [name, model] of this.models) {
      const array = file.array(name, 'int32')
      const all = elementsOf(model)
      expect([name, array.shape, array.chunks.chunkShape]).toEqual([name, model.shape, model.chunkShape])
      const read = (await array.get()) as { data: Int32Array; shape: number[] }
      expect([name, [...read.data], [...read.shape]]).toEqual([name, all, model.shape])
      expect(new Map([...array.attrs.keys()].map((key) => [key, array.attrs.get(key)]))).toEqual(model.attributes)
      // Elements that equal the fill value are missing in reductions.
      if (model.fill !== undefined) continue
      expect(await array.sum()).toBe(all.reduce((a, b) => a + b, 0))
      for (const axis of model.shape.keys()) {
        const along = (await array.sum({ axis })) as unknown
        expect(typeof along === 'number' ? [along] : [...(along as { data: Float64Array }).data]).toEqual(sums(model, axis))
      }
      // Elements of chunks that were never written are missing in others.
      if (model.elements.size < all.length) continue
      expect(await array.count()).toBe(all.length)
      if (all.length > 0) expect(await array.min()).toBe(Math.min(...all))
      else await expect(array.min()).rejects.toThrow('there is no element')
    }
  }

  async end(): Promise<void> {
    await this.#file.flush()
    await this.check()
    this.#file = await open({ store: this.#store, path: this.#path })
    await this.check()
    for (const [name, { shape }] of this.models) {
      const { min, max, rowCount, nullCount } = await this.#file.stats(name)
      expect(Number(rowCount)).toBe(sizeOf(shape))
      if (sizeOf(shape) === 0) expect([min, max, Number(nullCount)]).toEqual([undefined, undefined, 0])
    }
    expect((await this.#file.verify({ deep: true })).findings).toEqual([])
  }
}

describe('arrays with axes of length 0', () => {
  test('axes of length 0 are kept by definitions, elements, growth, layers, compactions, and copies through version 6', async () => {
    let empty = 0
    let grown = 0
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const run = new Run()
        await run.begin()
        for (const [step, number] of program) {
          const before = [...run.models.values()].map(({ shape }) => sizeOf(shape))
          await run.take(step, number)
          await run.check()
          if (before.some((size, i) => size === 0 && sizeOf([...run.models.values()][i]!.shape) > 0)) grown++
        }
        if ([...run.models.values()].some(({ shape }) => shape.includes(0))) empty++
        await run.end()
      }),
      { numRuns: byBudget({ quick: 60, full: 300, soak: 3000 }) },
    )
    expect(empty).toBeGreaterThan(3)
    expect(grown).toBeGreaterThan(3)
  })

  test('have chunks of length 1 along these axes, also where an older program has stored 0', async () => {
    const store = new MemoryStore()
    const old = metaOf('x', { kind: 'int32' }, [0, 2], { chunkShape: [0, 2] })
    await store.put('x.af', encodeFooterFile(footerOf([old])))
    const file = await open({ store, path: 'x.af' })
    expect(file.array('x').chunks.chunkShape).toEqual([1, 2])
    file.array('x').attrs.set('units', 'K')
    await file.flush()
    const extents = async (): Promise<unknown> => {
      const { layers } = await Stack.open(store, new Paths('x.af'), DEFAULT_LIMITS)
      return layers.map((layer) => layer.arrays.get('x')!.chunkShape)
    }
    expect(await extents()).toEqual([
      [0, 2],
      [1, 2],
    ])
    await file.array('x', 'int32').append(0, { shape: [3, 2], data: Int32Array.of(1, 2, 3, 4, 5, 6) })
    await file.flush()
    expect(await (await open({ store, path: 'x.af' })).array('x').sum()).toBe(21)
    await file.compact()
    expect(await extents()).toEqual([[1, 2]])
    expect(await (await open({ store, path: 'x.af' })).array('x').sum()).toBe(21)
  })

  test('refuse chunks of length 0 along an axis that has elements', async () => {
    const file = await create({ store: new MemoryStore(), path: 'x.af' })
    expect(() => file.createArray('x', { dtype: 'int32', shape: [0, 2], chunks: [0, 0] })).toThrow(/chunk/)
  })
})
