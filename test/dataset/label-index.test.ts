import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isHyperslabError } from '../../src/core/errors.ts'
import { LabelIndex, type LabelKind, type SelectMethod } from '../../src/dataset/label-index.ts'
import type { Label } from '../../src/dataset/label-values.ts'
import { NAT } from '../../src/dataset/time/instant.ts'

const FLOATS: LabelKind = { dtype: 'float64' }
const CIRCLE: LabelKind = { dtype: 'float64', period: 360 }
const TIMES: LabelKind = { dtype: 'float64', calendar: 'standard', uncertainty: 2n }

const next = (value: number, roundings: number): number => value + roundings * Math.abs(value) * 2 ** -52
const float = fc.oneof(
  fc.integer({ min: -4, max: 4 }),
  fc
    .record({ value: fc.integer({ min: -3, max: 3 }), by: fc.integer({ min: -2, max: 2 }) })
    .map(({ value, by }) => next(value, by)),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0.5, -0.5),
)
const longitude = fc.constantFrom(-180, -90, -180 + 2 ** -45, 0, 90, 180, 180 - 2 ** -45, 270, 350, Number.NaN)
const time = fc.oneof(fc.bigInt({ min: -9n, max: 9n }), fc.constant(NAT))
const text = fc.constantFrom('a', 'b', 'B', '', 'aa', 'é', 'z')
const isMissing = (label: Label): boolean => label === NAT || Number.isNaN(label)

/** The distance between two labels: 0 if they are equal up to rounding. */
const apart = (a: Label, b: Label): number => (a === b ? 0 : Math.abs(Number(a) - Number(b)))

const isSame = (own: Label, label: Label): boolean => {
  if (own === label) return true
  if (typeof own === 'string' || isMissing(own)) return false
  if (typeof own === 'bigint') return apart(own, label) <= 2
  return Number.isFinite(own) && Math.abs(own - Number(label)) <= Math.max(Math.abs(own), 2 ** -120) * 2 ** -52
}

/** Finds labels by looking at all of them; undefined for a label that is refused. */
function naive(
  labels: readonly Label[],
  { period }: LabelKind,
  label: Label,
  method: SelectMethod | undefined,
): number | undefined {
  let wanted = label
  const present = labels.filter((own) => !isMissing(own))
  if (period !== undefined && present.length > 0) {
    const [low, high] = [Math.min(...(present as number[])), Math.max(...(present as number[]))]
    if (!isSame(low, label) && !isSame(high, label) && ((label as number) < low || (label as number) > high))
      wanted = (label as number) - period * Math.round(((label as number) - (low + high) / 2) / period)
  }
  const all = (of: Label): number[] => labels.flatMap((own, at) => (isSame(own, of) ? [at] : []))
  if (method === undefined) return all(wanted).length === 1 ? all(wanted)[0] : undefined
  let best: number | undefined
  for (const [at, own] of labels.entries())
    if (!isMissing(own) && (best === undefined || apart(own, wanted) < apart(labels[best]!, wanted))) best = at
  return best !== undefined && all(labels[best]!).length === 1 ? best : undefined
}

function found(index: LabelIndex, label: Label, method: SelectMethod | undefined): number | undefined {
  try {
    return index.find(label, method, undefined)
  } catch (error) {
    if (isHyperslabError(error, 'InvalidSelectionError')) return undefined
    throw error
  }
}

describe('labels in no order', () => {
  test.each([
    ['numbers', FLOATS, float],
    ['longitudes', CIRCLE, longitude],
    ['times', TIMES, time],
    ['texts', { dtype: 'string' } as LabelKind, text],
  ] as const)('of %s are found as a scan finds them, however many are searched', (_, kind, label) => {
    const some = fc.array(label as fc.Arbitrary<Label>, { minLength: 1, maxLength: 12 })
    const wanted = fc.array(
      (label as fc.Arbitrary<Label>).filter((one) => !isMissing(one)),
      { minLength: 30, maxLength: 30 },
    )
    const methods = kind.dtype === 'string' ? [undefined] : [undefined, 'nearest' as const]
    fc.assert(
      fc.property(some, wanted, fc.constantFrom(...methods), (labels, searched, method) => {
        const index = new LabelIndex('x', labels, kind)
        // All finite labels are equally far from an infinite one.
        fc.pre(index.direction === 0 && (method === undefined || searched.every((one) => one !== Infinity && one !== -Infinity)))
        expect(searched.map((one) => found(index, one, method))).toEqual(searched.map((one) => naive(labels, kind, one, method)))
      }),
      { numRuns: 500 },
    )
  })

  test('name all positions of a repeated label after many searches', () => {
    const index = new LabelIndex('x', ['b', 'a', 'c', 'b', 'b'], { dtype: 'string' })
    for (let i = 0; i < 40; i++) expect(index.find('a', undefined, undefined)).toBe(1)
    expect(() => index.find('b', undefined, undefined)).toThrow(/occurs 3 times, at positions 0, 3, 4:/)
  })
})

test('an infinite label is equal to itself alone', () => {
  const index = new LabelIndex('x', [Number.POSITIVE_INFINITY, 1, 2], FLOATS)
  expect(index.find(Number.POSITIVE_INFINITY, undefined, undefined)).toBe(0)
  expect(() => index.find(5, undefined, undefined)).toThrow(/no label along x is 5/)
  const ascending = new LabelIndex('x', [1, 2], FLOATS)
  expect(() => ascending.range(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)).toThrow(/no label along x/)
})
