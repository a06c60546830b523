import { expect, test, vi } from 'vitest'
import type { Signal } from '../../src/core/signal.ts'
import { SingleFlight } from '../../src/core/single-flight.ts'

const ENOUGH = new Error('enough')
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Work that ends when it is told to, or aborted. */
function makeWork() {
  const calls: { resolve: (value: string) => void; reject: (error: unknown) => void; signal: Signal }[] = []
  const start = (signal: Signal) =>
    new Promise<string>((resolve, reject) => {
      calls.push({ resolve, reject, signal })
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  return { calls, start }
}

test('all who ask at the same time share one piece of work, late joiners too', async () => {
  const flights = new SingleFlight<string, string>()
  const { calls, start } = makeWork()
  const early = [flights.share('a', start), flights.share('a', start)]
  await settle()
  const late = flights.share('a', start)
  const other = flights.share('b', start)
  expect(calls.length).toBe(2)
  calls[0]!.resolve('one')
  calls[1]!.resolve('two')
  expect(await Promise.all([...early, late, other])).toEqual(['one', 'one', 'one', 'two'])
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, false])
})

test('who comes after the end starts anew, after a failure as well', async () => {
  const flights = new SingleFlight<string, string>()
  const { calls, start } = makeWork()
  const failing = [flights.share('a', start), flights.share('a', start)]
  calls[0]!.reject(new Error('broken'))
  for (const each of failing) await expect(each).rejects.toThrow('broken')
  const again = flights.share('a', start)
  calls[1]!.resolve('done')
  expect(await again).toBe('done')
  expect(calls[1]!.signal.aborted).toBe(false)
})

test('who aborts leaves at once; the work ends with the last of them', async () => {
  const flights = new SingleFlight<string, string>()
  const { calls, start } = makeWork()
  const [a, b] = [new AbortController(), new AbortController()]
  const first = flights.share('k', start, a.signal)
  const second = flights.share('k', start, b.signal)
  a.abort(ENOUGH)
  await expect(first).rejects.toBe(ENOUGH)
  expect(calls[0]!.signal.aborted).toBe(false)
  const third = flights.share('k', start)
  b.abort(ENOUGH)
  await expect(second).rejects.toBe(ENOUGH)
  expect(calls[0]!.signal.aborted).toBe(false)
  calls[0]!.resolve('done')
  expect(await third).toBe('done')
  expect(calls.length).toBe(1)
})

test('nobody joins what was given up', async () => {
  const flights = new SingleFlight<string, string>()
  const { calls, start } = makeWork()
  const controller = new AbortController()
  const first = flights.share('k', start, controller.signal)
  controller.abort(ENOUGH)
  await expect(first).rejects.toBe(ENOUGH)
  expect(calls[0]!.signal.aborted).toBe(true)
  expect(calls[0]!.signal.reason).toBe(ENOUGH)
  const second = flights.share('k', start)
  expect(calls.length).toBe(2)
  calls[1]!.resolve('done')
  expect(await second).toBe('done')
})

test('not even when the work takes no notice of being given up', async () => {
  const flights = new SingleFlight<string, string>()
  const controller = new AbortController()
  const first = flights.share('k', () => new Promise<string>(() => {}), controller.signal)
  controller.abort(ENOUGH)
  await expect(first).rejects.toBe(ENOUGH)
  expect(await flights.share('k', async () => 'anew')).toBe('anew')
})

test('what was given up and ends later does not end the sharing of what has begun since', async () => {
  const flights = new SingleFlight<string, string>()
  const controller = new AbortController()
  let endOld: (value: string) => void
  const old = new Promise<string>((resolve) => {
    endOld = resolve
  })
  const first = flights.share('k', () => old, controller.signal)
  controller.abort(ENOUGH)
  await expect(first).rejects.toBe(ENOUGH)
  const { calls, start } = makeWork()
  const second = flights.share('k', start)
  endOld!('too late')
  await settle()
  const third = flights.share('k', start)
  expect(calls.length).toBe(1)
  calls[0]!.resolve('done')
  expect(await Promise.all([second, third])).toEqual(['done', 'done'])
})

test('who has aborted before asking starts nothing', async () => {
  const flights = new SingleFlight<string, string>()
  const start = vi.fn(async () => 'done')
  await expect(flights.share('k', start, AbortSignal.abort(ENOUGH))).rejects.toBe(ENOUGH)
  expect(start).not.toHaveBeenCalled()
})

test('a waiter that leaves at the same moment as another comes', async () => {
  const flights = new SingleFlight<string, string>()
  const { calls, start } = makeWork()
  const controller = new AbortController()
  const first = flights.share('k', start, controller.signal)
  controller.abort(ENOUGH)
  // The first has not noticed yet; the work must live on for the second.
  const second = flights.share('k', start)
  await expect(first).rejects.toBe(ENOUGH)
  calls.at(-1)!.resolve('done')
  expect(await second).toBe('done')
})

test('who began is told of each who joins, and of no one who comes later', async () => {
  const flights = new SingleFlight<string, string>()
  const { calls, start } = makeWork()
  const onJoin = vi.fn()
  const own = flights.share('k', start, undefined, onJoin)
  expect(onJoin).not.toHaveBeenCalled()
  const others = [flights.share('k', start), flights.share('k', start, undefined, () => expect.fail('began nothing'))]
  expect(onJoin).toHaveBeenCalledTimes(2)
  calls[0]!.resolve('done')
  await Promise.all([own, ...others])
  const later = flights.share('k', start)
  calls[1]!.resolve('again')
  expect(await later).toBe('again')
  expect(onJoin).toHaveBeenCalledTimes(2)
})
