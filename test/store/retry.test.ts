import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { HyperslabError } from '../../src/core/errors.ts'
import { backOff, MAX_WAIT_MS, retryAfterMs, retrying, Transient } from '../../src/store/retry.ts'

const trouble = new HyperslabError('StoreError', 'out of order')
const POLICY = { retries: 3, retryDelay: 0 }

test('repeats what may succeed, and only that', async () => {
  const work = vi.fn(async () => {
    if (work.mock.calls.length < 3) throw new Transient(trouble)
    return 'done'
  })
  expect(await retrying(POLICY, work)).toBe('done')
  expect(work).toHaveBeenCalledTimes(3)
  const hopeless = vi.fn(() => Promise.reject(new Transient(trouble)))
  await expect(retrying(POLICY, hopeless)).rejects.toBe(trouble)
  expect(hopeless).toHaveBeenCalledTimes(4)
  const broken = vi.fn(() => Promise.reject(new Error('bug')))
  await expect(retrying(POLICY, broken)).rejects.toThrow('bug')
  expect(broken).toHaveBeenCalledTimes(1)
})

test('an abort is what is thrown, whatever the work says', async () => {
  const controller = new AbortController()
  const work = vi.fn(async () => {
    controller.abort(new Error('enough'))
    throw new Transient(trouble)
  })
  await expect(retrying({ ...POLICY, retries: 0 }, work, controller.signal)).rejects.toThrow('enough')
  expect(work).toHaveBeenCalledTimes(1)
})

test('waits double, differ, and have an end', () => {
  fc.assert(
    fc.property(
      fc.nat(100),
      fc.integer({ min: 1, max: 1000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (done, first, random) => {
        const full = Math.min(first * 2 ** done, MAX_WAIT_MS)
        expect(backOff(done, first, random)).toBeGreaterThanOrEqual(full / 2)
        expect(backOff(done, first, random)).toBeLessThanOrEqual(full)
      },
    ),
  )
})

test('Retry-After in seconds and as a date', () => {
  const now = Date.UTC(2024, 0, 1)
  expect(retryAfterMs('120', now)).toBe(120_000)
  expect(retryAfterMs(new Date(now + 5000).toUTCString(), now)).toBe(5000)
  expect(retryAfterMs(new Date(now - 5000).toUTCString(), now)).toBe(0)
  expect(retryAfterMs('soon', now)).toBeUndefined()
  expect(retryAfterMs(null, now)).toBeUndefined()
})
