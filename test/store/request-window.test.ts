import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Limiter } from '../../src/core/limiter.ts'
import { RequestWindow } from '../../src/store/request-window.ts'
import type { Manners, RudeServer } from '../support/rude-server.ts'
import { serve, slow } from '../support/served.ts'

describe('by the answers', () => {
  /** A window over requests without bytes, and what the last of `count` equal answers leaves of it. */
  const windowOf = (most: number) => {
    const limiter = new Limiter(most, Infinity)
    const window = new RequestWindow(limiter)
    const answers = (count: number, ms: number, isBusy = false): number => {
      for (let i = 0; i < count; i++) window.answered(isBusy, ms)
      return limiter.maxCount
    }
    return { limiter, answers }
  }

  test('a busy server halves the number, once for all that was under way', async () => {
    const { limiter, answers } = windowOf(64)
    let end!: () => void
    const open = new Promise<void>((resolve) => {
      end = resolve
    })
    for (let i = 0; i < 64; i++) void limiter.run(0, () => open)
    await pause(0)
    expect(answers(64, 10, true)).toBe(32)
    expect(answers(1, 10, true)).toBe(16)
    end()
  })

  test('down to one request, and up again by a sixteenth a round, no higher than before', () => {
    const { answers } = windowOf(64)
    expect([32, 16, 8, 4, 2, 1, 1].map(() => answers(1, 10, true))).toEqual([32, 16, 8, 4, 2, 1, 1])
    expect(answers(1, 10)).toBe(2)
    expect(answers(1, 10)).toBe(2)
    expect(answers(1, 10)).toBe(3)
    answers(3 + 4 + 5 + 6 + 7 + 8, 10)
    expect(answers(0, 0)).toBe(9)
    expect(answers(10_000, 10)).toBe(64)
  })

  test('a round three times as slow as the fastest, and 100 ms slower, takes a quarter off, down to eight', () => {
    const { answers } = windowOf(64)
    answers(64, 50)
    expect(answers(64, 245)).toBe(64)
    expect(answers(64, 300)).toBe(48)
    expect(answers(47, 5000)).toBe(48)
    expect([1, 36, 27, 20, 15, 11, 8].map((count) => answers(count, 5000))).toEqual([36, 27, 20, 15, 11, 8, 8])
  })

  test('what is slow by a few answers is not slow, and a server that is slow for good is none', () => {
    const { answers } = windowOf(64)
    answers(64, 50)
    answers(4, 3000)
    expect(answers(60, 50)).toBe(64)
    for (let round = 0; round < 200; round++) answers(answers(0, 0), 1000)
    expect(answers(0, 0)).toBe(64)
  })

  test('where fewer than eight are allowed slowness changes nothing', () => {
    const { answers } = windowOf(4)
    answers(4, 1)
    expect(answers(4, 5000)).toBe(4)
  })
})

describe('in front of a server', () => {
  let rude: RudeServer
  let url: string
  serve(2000, (server, address) => {
    rude = server
    url = address
  })
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.useRealTimers()
  })

  const gate = () => {
    let open!: () => void
    const hold = new Promise<void>((resolve) => {
      open = resolve
    })
    return { hold, open }
  }
  /** Waits until so many requests were made, and some time more in which there could be further ones. */
  const seen = async (count: number): Promise<void> => {
    while (rude.seen.length < count) await pause(1)
    await pause(20)
    expect(rude.seen.length).toBe(count)
  }
  /** Reads of one byte each. */
  const reads = (store: ReturnType<typeof slow>, from: number, to: number): Promise<unknown>[] =>
    Array.from({ length: to - from }, (_, i) => store.getRange(url, from + i, 1, { ifMatch: '"v1"' }))

  test.each([
    ['a server', undefined, 128],
    ['a page', 'Mozilla/5.0 (X11; Linux x86_64)', 32],
    ['a Worker', 'Cloudflare-Workers', 6],
  ])('in %s (%s) %i requests are made at a time', async (_, userAgent, count) => {
    if (userAgent !== undefined) vi.stubGlobal('navigator', { userAgent })
    if (count === 32) vi.stubGlobal('document', {})
    const { hold, open } = gate()
    rude.manners = { hold }
    const all = reads(slow(), 0, 150)
    await seen(count)
    open()
    await Promise.all(all)
  })

  test.each([503, 429])('an answer %i halves them, also for what is asked later', async (status) => {
    const [first, second] = [gate(), gate()]
    rude.manners = (_: unknown, nth: number): Manners => {
      if (nth === 0) return { status, retryAfter: '0' }
      return { hold: nth <= 128 ? first.hold : second.hold }
    }
    const all = reads(slow(), 0, 400)
    // The one that is made again keeps its place.
    await seen(129)
    first.open()
    await seen(129 + 64)
    second.open()
    await Promise.all(all)
    expect(rude.seen.length).toBe(401)
  })

  test('first bytes that come late take a quarter off', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 0 })
    const store = slow()
    const gates = [gate(), gate(), gate(), gate()]
    const ends = [128, 256, 383]
    rude.manners = (_: unknown, nth: number): Manners => ({ hold: gates[ends.filter((end) => nth >= end).length]!.hold })
    const all = reads(store, 0, 600)
    await seen(128)
    gates[0]!.open()
    await seen(256)
    vi.setSystemTime(101)
    gates[1]!.open()
    // The last answer of the round tells; for each of the others another request was made.
    await seen(383)
    gates[2]!.open()
    // A round is complete after 96 of the 127 answers, which adds 6 requests.
    await seen(383 + 102)
    gates[3]!.open()
    await Promise.all(all)
  })

  test('a number that was asked for stays, whatever the server answers', async () => {
    const { hold, open } = gate()
    rude.manners = (_: unknown, nth: number): Manners => (nth < 20 ? { status: 503, retryAfter: '0' } : { hold })
    const all = reads(slow({ maxRequests: 20 }), 0, 100)
    await seen(40)
    open()
    await Promise.all(all)
  })

  test('objects whose size is not known count for as many bytes as the last one had', async () => {
    const store = slow({ maxBytesInFlight: 5000 })
    await store.get(url)
    const { hold, open } = gate()
    rude.manners = { hold }
    const all = Array.from({ length: 10 }, () => store.get(url))
    await seen(1 + 2)
    open()
    await Promise.all(all)
  })
})
