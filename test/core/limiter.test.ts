import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Limiter } from '../../src/core/limiter.ts'
import { runs } from '../support/budget.ts'

const ENOUGH = new Error('enough')
const settle = () => new Promise((resolve) => setImmediate(resolve))

interface Job {
  readonly bytes: number
  /** Aborted while it waits, after so many ends of others. */
  readonly abortAfter: number | undefined
  readonly fails: boolean
}

const someJob: fc.Arbitrary<Job> = fc.record({
  bytes: fc.nat(12),
  abortAfter: fc.option(fc.nat(10), { nil: undefined, freq: 3 }),
  fails: fc.boolean(),
})

test('never above its limits, in the order of asking, whoever fails or gives up', async () => {
  const maxBytes = 10
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.array(someJob, { maxLength: 20 }), async (maxCount, jobs) => {
      const limiter = new Limiter(maxCount, maxBytes)
      const running = new Map<number, () => void>()
      const started: number[] = []
      const aborted = new Set<number>()
      const controllers = jobs.map(() => new AbortController())
      const outcomes = jobs.map(({ bytes, fails }, i) =>
        limiter
          .run(
            bytes,
            async () => {
              started.push(i)
              await new Promise<void>((resolve) => running.set(i, resolve))
              running.delete(i)
              if (fails) throw new Error(`job ${i}`)
              return i
            },
            controllers[i]!.signal,
          )
          .catch((error: Error) => error.message),
      )
      for (let ends = 0; ; ends++) {
        jobs.forEach(({ abortAfter }, i) => {
          if (abortAfter !== ends || started.includes(i)) return
          aborted.add(i)
          controllers[i]!.abort(ENOUGH)
        })
        await settle()
        const held = [...running.keys()].reduce((sum, i) => sum + jobs[i]!.bytes, 0)
        expect(running.size).toBeLessThanOrEqual(maxCount)
        expect(held <= maxBytes || running.size === 1).toBe(true)
        // No job waits that could run: the next in line must not fit.
        const next = jobs.findIndex((_, i) => !started.includes(i) && !aborted.has(i))
        if (next >= 0) expect(running.size === maxCount || (running.size > 0 && held + jobs[next]!.bytes > maxBytes)).toBe(true)
        const [first] = running.values()
        if (first === undefined) break
        first()
      }
      expect(started).toEqual(jobs.map((_, i) => i).filter((i) => !aborted.has(i)))
      const expected = jobs.map(({ fails }, i) => (aborted.has(i) ? 'enough' : fails ? `job ${i}` : i))
      expect(await Promise.all(outcomes)).toEqual(expected)
    }),
    { numRuns: runs(200) },
  )
})

test('a piece of work that tells what it holds makes room for others, or takes it; the number may change meanwhile', async () => {
  const limiter = new Limiter(10, 10)
  const running = new Map<string, { hold: (bytes: number) => void; end: () => void }>()
  const start = (name: string, bytes: number) =>
    void limiter.run(bytes, (hold) =>
      new Promise<void>((end) => void running.set(name, { hold, end })).finally(() => running.delete(name)),
    )
  const names = async () => {
    await settle()
    return [...running.keys()].join('')
  }
  start('a', 4)
  start('b', 4)
  start('c', 4)
  expect(await names()).toBe('ab')
  running.get('a')!.hold(2)
  expect(await names()).toBe('abc')
  running.get('a')!.hold(9)
  running.get('b')!.end()
  start('d', 1)
  expect([await names(), limiter.count]).toEqual(['ac', 2])
  limiter.maxCount = 2
  running.get('a')!.hold(0)
  expect(await names()).toBe('ac')
  limiter.maxCount = 3
  expect([await names(), limiter.count]).toEqual(['acd', 3])
  for (const name of ['a', 'c', 'd']) running.get(name)!.end()
  start('e', 10)
  expect(await names()).toBe('e')
  running.get('e')!.end()
})

test('who gives up before asking is not let in; an abort during the work is the work’s own business', async () => {
  const limiter = new Limiter(1, 10)
  let ran = false
  const work = async () => {
    ran = true
  }
  await expect(limiter.run(1, work, AbortSignal.abort(ENOUGH))).rejects.toBe(ENOUGH)
  expect(ran).toBe(false)
  const controller = new AbortController()
  const result = limiter.run(
    1,
    async () => {
      controller.abort(ENOUGH)
      return 'done'
    },
    controller.signal,
  )
  expect(await result).toBe('done')
})

test('a place is given back by work that throws at once', async () => {
  const limiter = new Limiter(1, 10)
  const work = (): Promise<never> => {
    throw ENOUGH
  }
  await expect(limiter.run(1, work)).rejects.toBe(ENOUGH)
  expect(await limiter.run(1, async () => 'next')).toBe('next')
})
