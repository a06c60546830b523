import fc from 'fast-check'
import { expect } from 'vitest'
import type { DiskArray } from '../../src/array/disk-array.ts'
import { type DType, isBigInt, isNumeric } from '../../src/core/dtype.ts'
import { anySelections } from './arbitraries.ts'
import { type Plain, plainGet } from './oracle.ts'

/** Number and seed of the selections that {@link expectSameReads} draws, and the array's name in messages. */
interface Draw {
  readonly count: number
  readonly seed: number
  readonly name: string
}

const textOf = (selection: unknown): string =>
  JSON.stringify(selection, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))

interface Listed {
  readonly shape: readonly number[]
  readonly data: readonly unknown[]
}

/** Returns elements as a list. A scalar has no axes, and one of a bool is a boolean. */
function listed(result: unknown): Listed {
  if (typeof result === 'object' && result !== null && 'shape' in result) {
    const { shape, data } = result as Plain
    return { shape: [...shape], data: Array.from(data as ArrayLike<unknown>) }
  }
  return { shape: [], data: [typeof result === 'boolean' ? Number(result) : result] }
}

/** Fails unless the minimum, maximum and sum of an array are those of its elements, one by one. */
async function expectSameReductions(array: DiskArray, elements: readonly unknown[], message: string): Promise<void> {
  if (elements.length === 0 || !isNumeric(array.dtype)) return
  const numbers = elements as readonly number[]
  const hasNaN = numbers.some((each) => Number.isNaN(each))
  // Elements may be bigints.
  const bound = (isNearer: (a: number, b: number) => boolean): number =>
    hasNaN ? Number.NaN : numbers.reduce((best, each) => (isNearer(each, best) ? each : best))
  const [least, most] = [bound((a, b) => a < b), bound((a, b) => a > b)]
  const all = { skipMissing: false }
  // -0 and 0 are equal.
  const found = [await array.min(all), await array.max(all)].map(String)
  expect(found, `minimum and maximum of ${message}`).toEqual([String(least), String(most)])
  if (isBigInt(array.dtype)) return
  const sum = numbers.reduce((a, b) => a + b, 0)
  const magnitude = numbers.reduce((a, b) => a + Math.abs(b), 0)
  const got = Number(await array.sum(all))
  if (Number.isFinite(magnitude)) expect(Math.abs(got - sum), `sum of ${message}`).toBeLessThanOrEqual(1e-6 * magnitude)
}

/**
 * Fails unless an array reads as `plain` says: whole, and by random selections of every index form. Each
 * selection is read by `get`, as a view and as a view of the view. The views are reduced.
 * @returns the number of selections
 */
export async function expectSameReads(array: DiskArray, plain: Plain, { count, seed, name }: Draw): Promise<number> {
  expect(listed(await array.toTensor()), name).toEqual(listed(plain))
  if (array.chunks.count === 0) return 0
  const pairs = anySelections(array.chunks).chain((first) =>
    anySelections(array.view(first).chunks).map((second) => [first, second] as const),
  )
  const drawn = fc.sample(pairs, { numRuns: count, seed })
  for (const [first, second] of drawn) {
    const message = `${textOf(first)} of ${name}`
    const part: Plain<DType> = plainGet(plain, first, array.chunks)
    const wanted = listed(part)
    const view = array.view(first)
    expect(listed(await array.get(first)), message).toEqual(wanted)
    expect(listed(await view.toTensor()), `view ${message}`).toEqual(wanted)
    await expectSameReductions(view, wanted.data, `view ${message}`)
    const inner = listed(plainGet(part, second, view.chunks))
    const nested = view.view(second)
    expect(listed(await view.get(second)), `${textOf(second)} of view ${message}`).toEqual(inner)
    await expectSameReductions(nested, inner.data, `${textOf(second)} of view ${message}`)
  }
  return drawn.length
}
