import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Axis } from '../../apps/viewer/src/axes.ts'
import { extentOf, percentilesOf, symmetric, ticksBetween } from '../../apps/viewer/src/limits.ts'
import { csvOf } from '../../apps/viewer/src/profile.ts'
import { queryOf, START, stateOf, type ViewState } from '../../apps/viewer/src/state.ts'

const states: fc.Arbitrary<ViewState> = fc.record({
  url: fc.oneof(fc.constant(''), fc.webUrl()),
  names: fc.string(),
  level: fc.option(fc.nat(99), { nil: undefined }),
  group: fc.string(),
  variable: fc.string(),
  at: fc.dictionary(
    fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
    fc.integer({ min: 1, max: 1e6 }),
    { noNullPrototype: true },
  ),
  by: fc.constantFrom('', 'month', 'season', 'hour'),
  mean: fc.string(),
  minus: fc.option(fc.nat(1e6), { nil: undefined }),
  less: fc.string(),
  colours: fc.constantFrom('auto', 'viridis', 'cividis', 'diverging', 'cyclic'),
  limits: fc.constantFrom('all', 'shown', 'percentiles', 'own'),
  low: fc.option(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    { nil: undefined },
  ),
  high: fc.option(fc.integer(), { nil: undefined }),
  keep: fc.boolean(),
  symmetric: fc.boolean(),
  log: fc.boolean(),
  projection: fc.constantFrom('plate-carree', 'equal-earth'),
  x: fc.option(fc.integer(), { nil: undefined }),
  y: fc.option(fc.integer(), { nil: undefined }),
  zoom: fc.integer({ min: 1, max: 64 }),
  cell: fc.option(fc.tuple(fc.nat(1e6), fc.nat(1e6)), { nil: undefined }),
})

test('what an address says comes back from it', () => {
  fc.assert(
    fc.property(states, (state) => {
      expect(stateOf(queryOf(state))).toEqual(state)
    }),
  )
  expect(queryOf(START)).toBe('')
})

test('what a link says wrongly is as at the start', () => {
  const wrong =
    '?colours=jet&limits=&low=x&high=Infinity&zoom=1e9&cell=1&minus=-1&projection=mercator&at.time=-2&at.lev=1.5&keep=maybe&by=week'
  expect(stateOf(wrong)).toEqual({ ...START, zoom: 64 })
})

test('limits are those of the values that are there', () => {
  const values = fc.array(fc.oneof(fc.float(), fc.constant(Number.NaN)), { maxLength: 200 })
  fc.assert(
    fc.property(values, (list) => {
      const finite = list.filter(Number.isFinite).sort((a, b) => a - b)
      const expected = finite.length === 0 ? undefined : { low: finite[0]! + 0, high: finite.at(-1)! + 0 }
      const found = extentOf(list)
      expect(found && { low: found.low + 0, high: found.high + 0 }).toEqual(expected)
      const inner = percentilesOf(list)
      expect(inner === undefined).toBe(expected === undefined)
      if (expected === undefined) return
      expect(inner!.low).toBeGreaterThanOrEqual(expected.low)
      expect(inner!.high).toBeLessThanOrEqual(expected.high)
      expect(finite.filter((value) => value < inner!.low).length).toBeLessThanOrEqual(0.03 * finite.length)
    }),
  )
  expect(symmetric({ low: -2, high: 5 })).toEqual({ low: -5, high: 5 })
})

test('ticks are round, rise, and lie between the limits', () => {
  expect(ticksBetween({ low: 203.97, high: 317.2 }, 6)).toEqual([220, 240, 260, 280, 300])
  expect(ticksBetween({ low: 0.001, high: 100 }, 6, true)).toEqual([0.001, 0.01, 0.1, 1, 10, 100])
  fc.assert(
    fc.property(
      fc.integer({ min: -1e6, max: 1e6 }),
      fc.integer({ min: 1, max: 1e6 }),
      fc.integer({ min: 2, max: 12 }),
      (low, size, about) => {
        const ticks = ticksBetween({ low, high: low + size }, about)
        expect(ticks.length).toBeLessThanOrEqual(about + 1)
        for (const [i, tick] of ticks.entries()) {
          expect(tick >= low - 1e-6 * size && tick <= low + size * (1 + 1e-6)).toBe(true)
          if (i > 0) expect(tick).toBeGreaterThan(ticks[i - 1]!)
        }
      },
    ),
  )
})

test('a profile as CSV leaves gaps empty, quotes names, and starts no formulas', () => {
  const axis = { dim: 'time, "local"', label: (i: number) => ['=1+1', '2001-01-01', 'c'][i]! } as Axis
  expect(csvOf({ axis, values: [1.5, Number.NaN, -3], name: 'T', units: 'K' })).toBe(
    '"time, ""local""",T (K)\n\'=1+1,1.5\n2001-01-01,\nc,-3\n',
  )
})
