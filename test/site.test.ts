import fc from 'fast-check'
import { expect, test } from 'vitest'
import { slice } from '../src/runtime/index.ts'
import * as plans from '../src/runtime/plan.ts'

const library = { ...plans, slice }

// Plain JavaScript, which pages load as it is.
const { answerTo, costOf } = (await import(new URL('../site/scripts/calculator.js', import.meta.url).href)) as {
  costOf(fields: object, from: object): { requests: number; read: number; wanted: number }
  answerTo(fields: object, from: object): string
}

const axis = fc.record({
  length: fc.integer({ min: 1, max: 12 }),
  chunk: fc.integer({ min: 1, max: 5 }),
  start: fc.nat(11),
  step: fc.integer({ min: 1, max: 4 }),
  isOne: fc.boolean(),
})

test('the chunking calculator counts the chunks that elements are in', () => {
  fc.assert(
    fc.property(fc.array(axis, { minLength: 1, maxLength: 3 }), (axes) => {
      const parts = axes.map(({ length, chunk, start, step, isOne }) => {
        const first = start % length
        const positions = isOne ? [first] : Array.from({ length: Math.ceil((length - first) / step) }, (_, i) => first + i * step)
        const text = isOne ? `${first}` : `${first}::${step}`
        return {
          text,
          wanted: positions.length,
          touched: new Set(positions.map((position) => Math.floor(position / chunk))).size,
        }
      })
      const fields = {
        shape: axes.map(({ length }) => length).join(', '),
        chunks: axes.map(({ chunk }) => chunk).join(', '),
        bytes: '4',
        selection: parts.map(({ text }) => text).join(', '),
      }
      const requests = parts.reduce((product, { touched }) => product * touched, 1)
      expect(costOf(fields, library)).toEqual({
        requests,
        read: requests * axes.reduce((product, { chunk }) => product * chunk, 4),
        wanted: parts.reduce((product, { wanted }) => product * wanted, 4),
      })
    }),
  )
})

test('it answers in words, and says what is wrong', () => {
  const fields = { shape: '14610, 721, 1440', chunks: '24, 181, 360', bytes: '4', selection: ':, 300, 700' }
  expect(answerTo(fields, library)).toBe('609 requests, 3.55 GiB, of which 0.0015 % are wanted')
  expect(answerTo({ ...fields, selection: '0, 800, 0' }, library)).toBe('index 800 is out of bounds for axis 1 of length 721')
  expect(answerTo({ ...fields, chunks: '24, 181' }, library)).toMatch(/chunk/)
})
