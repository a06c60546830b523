import { expect, test, vi } from 'vitest'
import { jointly, onAbort, raceAbort } from '../../src/core/signal.ts'

const ENOUGH = new Error('enough')

test('every listener is called once, but none that was forgotten', () => {
  const controller = new AbortController()
  const listeners = [vi.fn(), vi.fn(), vi.fn()]
  const forget = listeners.map((listener) => onAbort(controller.signal, listener))
  // The same one twice counts twice.
  onAbort(controller.signal, listeners[0]!)
  forget[1]!()
  controller.abort()
  expect(listeners.map((listener) => listener.mock.calls.length)).toEqual([2, 0, 1])
})

test('a listener that has another one forgotten during the abort', () => {
  const controller = new AbortController()
  const second = vi.fn()
  onAbort(controller.signal, () => forget())
  const forget = onAbort(controller.signal, second)
  controller.abort()
  expect(second).not.toHaveBeenCalled()
})

test('many listeners are one to the signal', () => {
  const controller = new AbortController()
  const add = vi.spyOn(controller.signal, 'addEventListener')
  const all = Array.from({ length: 50 }, () => vi.fn())
  for (const listener of all) onAbort(controller.signal, listener)()
  for (const listener of all) onAbort(controller.signal, listener)
  expect(add).toHaveBeenCalledTimes(1)
  controller.abort()
  for (const listener of all) expect(listener).toHaveBeenCalledTimes(1)
})

test('shared work is given up when all have left, with the reason of the last', () => {
  const [first, second, late] = [new AbortController(), new AbortController(), new AbortController()]
  const { signal, join } = jointly()
  join(first.signal)
  join(second.signal)
  first.abort(new Error('first'))
  expect(signal.aborted).toBe(false)
  join(late.signal)
  second.abort(new Error('second'))
  expect(signal.aborted).toBe(false)
  late.abort(ENOUGH)
  expect(signal.reason).toBe(ENOUGH)
})

test('waiting ends with the work or the abort, whichever is first', async () => {
  const controller = new AbortController()
  expect(await raceAbort(Promise.resolve(1), undefined)).toBe(1)
  expect(await raceAbort(Promise.resolve(1), controller.signal)).toBe(1)
  await expect(raceAbort(Promise.reject(new Error('broken')), controller.signal)).rejects.toThrow('broken')
  const endless = raceAbort(new Promise(() => {}), controller.signal)
  controller.abort(ENOUGH)
  await expect(endless).rejects.toBe(ENOUGH)
  await expect(raceAbort(new Promise(() => {}), controller.signal)).rejects.toBe(ENOUGH)
  // A late result of the work is ignored, and so is a late error.
  let fail: (error: Error) => void = () => {}
  const late = raceAbort(
    new Promise((_, reject) => {
      fail = reject
    }),
    controller.signal,
  )
  await expect(late).rejects.toBe(ENOUGH)
  fail(new Error('late'))
})
