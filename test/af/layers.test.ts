import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MemoryStore, open } from '../../src/runtime/index.ts'
import { createWithBase as create } from '../support/containers.ts'

const SHAPE = [6, 5]

type Step = { kind: 'set'; at: [number, number]; value: number } | { kind: 'delete' | 'define' | 'attribute' | 'compact' }

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('set' as const),
      at: fc.tuple(fc.nat(SHAPE[0]! - 1), fc.nat(SHAPE[1]! - 1)),
      value: fc.integer({ min: 1, max: 99 }),
    }),
    fc.record({ kind: fc.constantFrom('delete' as const, 'define' as const, 'attribute' as const) }),
  ),
  { minLength: 1, maxLength: 8 },
)

/** Returns the contents of a container as plain values. */
async function stateOf(file: Awaited<ReturnType<typeof open>>) {
  const state: Record<string, unknown> = {}
  for (const name of file.arrays()) {
    const array = file.array(name, 'int32')
    state[name] = [Array.from((await array.get()).data), Object.fromEntries(array.attrs), await file.stats(name)]
  }
  return state
}

describe('an older layer', () => {
  test('is the container as it was then, read-only, whatever came later', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 5 }), async (flushes) => {
        const store = new MemoryStore()
        await using writer = await create({ store, path: 'a.af' })
        const states = [await stateOf(writer)]
        for (const [n, changes] of flushes.entries()) {
          for (const step of changes) await apply(writer, step, n)
          await writer.flush()
          while (states.length <= writer.layers().at(-1)!.number) states.push(await stateOf(writer))
        }
        for (const [layer, state] of states.entries()) {
          // Deleting and defining anew takes two layers. Readers have never seen the first one alone.
          if (writer.layers().every(({ number }) => number !== layer)) continue
          await using past = await open({ store, path: 'a.af' }, { layer })
          expect(past.layers().at(-1)!.number).toBe(layer)
          if (past.arrays().length === Object.keys(state).length) expect(await stateOf(past)).toEqual(state)
          expect(() => past.createArray('new', { dtype: 'int8', shape: [] })).toThrow(/layer \d+ is a state of the past/)
        }
      }),
      { numRuns: 60 },
    )
  })

  async function apply(file: Awaited<ReturnType<typeof create>>, step: Step, n: number): Promise<void> {
    const has = file.arrays().includes('a')
    if (step.kind === 'define' || (step.kind === 'set' && !has)) {
      if (!has) file.createArray('a', { dtype: 'int32', shape: SHAPE, chunks: [4, 2], fillValue: -1 })
    }
    if (step.kind === 'set') await file.array('a').set(step.at, step.value)
    if (step.kind === 'delete' && has) file.delete('a')
    if (step.kind === 'attribute' && has) file.array('a').attrs.set('n', n)
  }

  test('that is not there, or no number', async () => {
    const store = new MemoryStore()
    await using file = await create({ store, path: 'a.af' })
    file.createArray('x', { dtype: 'int8', shape: [] })
    await file.flush()
    const at = (layer: number) => open({ store, path: 'a.af' }, { layer })
    await expect(at(2)).rejects.toMatchObject({
      tag: 'NotFoundError',
      message: expect.stringMatching(/no layer 2; there are 0, 1/),
    })
    await expect(at(-1)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await expect(at(0.5)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    await using base = await at(0)
    expect(base.arrays()).toEqual([])
    await base.refresh()
    expect(base.arrays()).toEqual([])
  })
})

test('the statistics of all arrays', async () => {
  const store = new MemoryStore()
  await using file = await create({ store, path: 'a.af' })
  await file.createArray('x', { dtype: 'int16', shape: [4], fillValue: 0 }).set([0], 7)
  await file.createArray('s', { dtype: 'string', shape: [2] }).set(null, ['b', 'a'])
  await file.flush()
  expect(await file.stats()).toEqual(
    new Map([
      ['x', { min: 7, max: 7, nullCount: 3, rowCount: 4 }],
      ['s', { min: 'a', max: 'b', nullCount: 0, rowCount: 2 }],
    ]),
  )
})
