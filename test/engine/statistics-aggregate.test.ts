import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { define } from '../../src/af/format/definition.ts'
import { STATS_CODEC } from '../../src/af/format/extension-blocks.ts'
import { decodeFooter } from '../../src/af/format/footer.ts'
import { FOOTER_MAGIC } from '../../src/af/format/footer-trailer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { nullsAreFill } from '../../src/af/layers/null-value.ts'
import { PartMerger } from '../../src/aggregate/merge.ts'
import { type Reduction, splitReduction } from '../../src/aggregate/reduction.ts'
import { isBigInt, isFloat } from '../../src/core/dtype.ts'
import { projectBox } from '../../src/grid/projection.ts'
import { boxShape, wholeBox } from '../../src/grid/range.ts'
import type { ReduceOp, SkipRule } from '../../src/kernels/reduce.ts'
import { type ArrayOptions, type FileArray, MemoryStore, open, slice } from '../../src/runtime/index.ts'
import { type Element, layered, same, type Type, write } from '../af/layered.ts'
import { runs } from '../support/budget.ts'
import { createWithBase as create } from '../support/containers.ts'
import { cells, plainGet } from '../support/oracle.ts'

type Kind = 'sum' | 'min' | 'max' | 'mean'
const KINDS: readonly Kind[] = ['sum', 'min', 'max', 'mean']

/** With plain arithmetic; `'none'` where there is nothing to take, `'too large'` for sums that do not fit. */
function plainly(kind: Kind, dtype: Type, taken: readonly Element[]): Element | 'none' | 'too large' {
  if (kind === 'min' || kind === 'max') {
    if (taken.length === 0) return 'none'
    if (taken.some((value) => Number.isNaN(value))) return Number.NaN
    return taken.reduce((a, b) => ((kind === 'min' ? b < a : b > a) ? b : a))
  }
  const sum = isFloat(dtype)
    ? taken.reduce<number>((a, b) => a + Number(b), 0)
    : taken.reduce<bigint>((a, b) => a + BigInt(b), 0n)
  if (kind === 'mean') return Number(sum) / taken.length
  if (!isBigInt(dtype)) return Number(sum)
  return (dtype === 'uint64' ? BigInt.asUintN : BigInt.asIntN)(64, sum as bigint) === sum ? sum : 'too large'
}

/** Equal (-0 is 0), sums and means of floats up to a rounding for each element of the sum of magnitudes. */
function expectAnswer(kind: Kind, dtype: Type, actual: unknown, expected: unknown, taken: readonly Element[]): void {
  const equal = Object.is(actual, expected) || actual === expected
  if (!isFloat(dtype) || kind === 'min' || kind === 'max' || equal) {
    expect(equal, `${kind} is ${actual}, not ${expected}`).toBe(true)
    return
  }
  const magnitude = taken.reduce<number>((sum, value) => sum + Math.abs(Number(value)), 0)
  // Infinite elements, or sums beyond the range, which another order may not meet.
  if (!Number.isFinite(magnitude)) {
    if (taken.some((value) => !Number.isFinite(value))) expect(Number.isFinite(actual as number)).toBe(false)
    return
  }
  const bound = (magnitude / (kind === 'mean' ? taken.length : 1)) * (taken.length + 2) * 2 ** -52
  expect(Math.abs((actual as number) - (expected as number)), `${actual} for ${expected}`).toBeLessThanOrEqual(bound)
}

async function outcome(array: FileArray, kind: Kind, options: object): Promise<Element[] | 'none' | 'too large'> {
  try {
    const result: unknown = await array[kind](options)
    if (typeof result === 'object') return [...(result as { data: Iterable<Element> }).data]
    return [typeof result === 'boolean' ? Number(result) : (result as Element)]
  } catch (error) {
    const { tag } = error as { tag?: string }
    if (tag === 'EmptyReductionError') return 'none'
    if (tag === 'OverflowError') return 'too large'
    throw error
  }
}

async function extremaOutcome(array: FileArray, options: object): Promise<{ min: Element; max: Element } | 'none'> {
  try {
    const { min, max } = (await array.extrema(options)) as { min: Element | boolean; max: Element | boolean }
    return typeof min === 'boolean' ? { min: Number(min), max: Number(max) } : { min, max: max as Element }
  } catch (error) {
    if ((error as { tag?: string }).tag === 'EmptyReductionError') return 'none'
    throw error
  }
}

describe('reductions of layers with and without statistics of chunks', () => {
  test('give what reading gives, and read the chunks that have none', async () => {
    let answered = 0
    await fc.assert(
      fc.asyncProperty(layered, fc.boolean(), async (history, skipMissing) => {
        const { dtype, fill, blockBytes } = history
        const { file, array, plain, unknown } = await write(history)
        await using _ = file
        const taken = [...(plain.data as Iterable<Element>)].filter(
          (value) => !(skipMissing && fill !== null && same(value, fill)),
        )
        const reads = async (work: () => Promise<unknown>): Promise<number> => {
          const before = file.readCost.blocks
          await work()
          return file.readCost.blocks - before
        }
        expect(await reads(() => extremaOutcome(array, { skipMissing }))).toBe(
          await reads(() => outcome(array, 'min', { skipMissing })),
        )
        for (const options of [{ skipMissing }, { skipMissing, ignoreStats: true }]) {
          const both = await extremaOutcome(array, options)
          for (const kind of ['min', 'max'] as const)
            expectAnswer(kind, dtype, both === 'none' ? both : both[kind], plainly(kind, dtype, taken), taken)
        }
        for (const kind of KINDS) {
          const expected = plainly(kind, dtype, taken)
          const before = file.readCost.blocks
          const actual = await outcome(array, kind, { skipMissing })
          const blocks = file.readCost.blocks - before
          if (blockBytes === 1) expect(blocks).toBe(unknown.size)
          else expect(Math.sign(blocks)).toBe(Math.sign(unknown.size))
          if (unknown.size === 0) answered++
          for (const each of [actual, await outcome(array, kind, { skipMissing, ignoreStats: true })]) {
            if (typeof each === 'string') expect(each).toBe(expected)
            else expectAnswer(kind, dtype, each[0], expected, taken)
          }
        }
      }),
      { numRuns: runs(400) },
    )
    expect(answered).toBeGreaterThan(runs(100))
  })

  test('answer of a box the chunks that lie in it and go to one cell', async () => {
    const axis = fc.record({
      ends: fc.option(fc.tuple(fc.nat(5), fc.nat(5))),
      step: fc.integer({ min: 1, max: 4 }).map((step) => (step === 2 ? 2 : 1)),
      reduced: fc.boolean(),
    })
    const request = fc.record({
      axes: fc.array(axis, { minLength: 3, maxLength: 3 }),
      op: fc.constantFrom<ReduceOp | 'extrema' | 'summary'>('sum', 'sum', 'min', 'max', 'extrema', 'summary'),
      skips: fc.constantFrom('none', 'fill', 'nan', 'both'),
      /** Chunks reach over one position of the axes that are kept. */
      thin: fc.boolean(),
    })
    let answered = 0
    await fc.assert(
      fc.asyncProperty(layered, request, async (history, { axes, op, skips, thin }) => {
        const { dtype, shape, fill } = history
        const chunkShape = history.chunkShape.map((length, axis) => (thin && !axes[axis]!.reduced ? 1 : length))
        const { file, array, plain, grid, missing, unknown } = await write({ ...history, chunkShape, blockBytes: 1 })
        await using _ = file
        const ranges = shape.map((length, axis) => {
          const { ends, step } = axes[axis]!
          const [start, stop] = (ends ?? [0, length - 1]).map((end) => end % length).sort((a, b) => a - b)
          return { start: start!, stop: stop! + 1, step }
        })
        const kept = boxShape(ranges)
        const reduced = shape.map((_, axis) => axes[axis]!.reduced)
        // Rounded to the type, it is the fill value.
        const near = dtype === 'float32' ? (fill as number) * (1 + 2 ** -40) : fill
        const skip: SkipRule =
          skips === 'nan' ? 'nan' : skips === 'none' || fill === null ? 'none' : { fill: near!, nan: skips === 'both' }
        const isSkipped = (value: Element): boolean =>
          (skip !== 'none' && skip !== 'nan' && same(value, fill!)) ||
          (skip !== 'none' && skips !== 'fill' && Number.isNaN(value))
        const reduction: Reduction = { op, dtype, skip, reduced }
        const kernels = splitReduction(reduction)
        const cellShape = kept.map((length, axis) => (reduced[axis] ? 1 : length))
        const merger = new PartMerger(reduction, wholeBox(cellShape))
        const before = file.readCost.blocks
        await array.source.bulk!.reduce!(ranges, reduction, (part) => merger.take(part))
        let reads = 0
        projectBox(ranges, grid, (number, projections) => {
          if (missing.has(number)) return
          const whole = projections.every(({ length, from }, axis) => length === from.length && (reduced[axis] || length === 1))
          if (!whole || unknown.has(number)) reads++
          else answered++
        })
        expect(file.readCost.blocks - before).toBe(reads)
        const part = plainGet(
          plain,
          ranges.map(({ start, stop, step }) => slice(start, stop, step)),
        )
        const all = new Set(reduced.flatMap((each, axis) => (each ? [axis] : [])))
        for (const [i, { values, counts }] of merger.cells().entries()) {
          const kind = kernels[i]!.op as 'sum' | 'min' | 'max'
          for (const [cell, flat] of cells(kept, all).members.entries()) {
            const taken = flat.map((i) => part.data[i] as Element).filter((value) => !isSkipped(value))
            expect(counts[cell]).toBe(taken.length)
            if (taken.length === 0) continue
            const exact = kind === 'sum' && isBigInt(dtype) ? taken.reduce((a, b) => BigInt(a) + BigInt(b), 0n) : undefined
            expectAnswer(kind, dtype, values[cell], exact ?? plainly(kind, dtype, taken), taken)
          }
        }
      }),
      { numRuns: runs(600) },
    )
    expect(answered).toBeGreaterThan(runs(40))
  })
})

const path = 'a.af'

/** A file with one array, in blocks of a chunk. */
async function stored(options: ArrayOptions, values: ArrayLike<unknown>): Promise<{ store: MemoryStore; path: string }> {
  const where = { store: new MemoryStore(), path }
  await using writer = await create(where, { blockBytes: 1 })
  await writer.createArray('x', options).set(null, values)
  await writer.flush()
  return where
}

describe('statistics that do not do', () => {
  test('sums of integers beyond 2^53, which they have rounded, are taken from the elements', async () => {
    const shape = [2 ** 22 + 3]
    const values = new Int32Array(shape[0]!).fill(2 ** 31 - 1)
    await using file = await open(await stored({ dtype: 'int32', shape }, values))
    expect(await file.array('x').sum()).toBe(Number(BigInt(shape[0]!) * (2n ** 31n - 1n)))
    expect(file.readCost.blocks).toBe(1)
    expect(await file.array('x').max()).toBe(2 ** 31 - 1)
    expect(file.readCost.blocks).toBe(1)
  })

  test('sums of floats that overflowed are taken from the elements', async () => {
    await using file = await open(await stored({ dtype: 'float64', shape: [3] }, [1.5e308, 1.5e308, 1.5e308]))
    expect(await file.array('x').sum()).toBe(Number.POSITIVE_INFINITY)
    expect(file.readCost.blocks).toBe(1)
  })

  test('sums of 64-bit integers are exact beyond their range', async () => {
    const top = 2n ** 63n - 1n
    await using file = await open(
      await stored({ dtype: 'int64', shape: [4], chunks: [2], fillValue: -5n }, [top, top, -5n, -top]),
    )
    expect(await file.array('x').mean({ skipMissing: true })).toBe(Number(top) / 3)
    await expect(file.array('x').sum({ skipMissing: true })).resolves.toBe(top)
    expect(file.readCost.blocks).toBe(0)
  })

  test('a fill value that they do not count as null', () => {
    const definition = define('x', { dtype: 'uint8', shape: [1], fillValue: 1 })
    expect(nullsAreFill(definition)).toBe(true)
    expect(nullsAreFill({ ...definition, fillValue: null })).toBe(true)
    // As other writers may have it: readers take it for 1.
    expect(nullsAreFill({ ...definition, fillValue: { kind: 'bool', value: true } })).toBe(false)
    expect(nullsAreFill(define('x', { dtype: 'float32', shape: [1], fillValue: Number.NaN }))).toBe(true)
  })

  test('damaged ones are an error; the data still is there', async () => {
    const where = await stored({ dtype: 'int8', shape: [2] }, [1, 2])
    const key = 'a.1.af'
    const bytes = (await where.store.getRange(key, 0, (await where.store.stat(key))!.size))!
    const { blocks } = decodeFooter(splitFile(bytes, FOOTER_MAGIC).payload)
    bytes[blocks.find(({ codec }) => codec === STATS_CODEC)!.fileOffset]! ^= 1
    await where.store.put(key, bytes)
    await using file = await open(where)
    await expect(file.array('x').sum()).rejects.toMatchObject({ tag: 'IntegrityError', details: { array: 'x' } })
    expect(await file.array('x').sum({ ignoreStats: true })).toBe(3)
  })
})

test('what nobody wrote takes no time', async () => {
  const where = { store: new MemoryStore(), path }
  await using writer = await create(where)
  // 9e10 elements
  const array = writer.createArray('x', { dtype: 'int32', shape: [3e6, 3e4], chunks: [3e4, 3e4], fillValue: 7 })
  const all = { skipMissing: false }
  expect([await array.sum(all), await array.mean(all), await array.min(all)]).toEqual([63e10, 7, 7])
  expect([await array.sum(), await array.mean()]).toEqual([0, Number.NaN])
  expect([await array.variance(all), await array.std()]).toEqual([0, Number.NaN])
  await expect(array.max()).rejects.toMatchObject({ tag: 'EmptyReductionError' })
})
