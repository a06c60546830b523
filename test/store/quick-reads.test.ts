import * as fs from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FileStore } from '../../src/store/fs/file.ts'
import { QuickReads } from '../../src/store/fs/quick-reads.ts'

const EXT4 = 0xef53
/** NFS, SMB, SMB2, CIFS, FUSE, 9p, Ceph, AFS, Lustre, and numbers that no file system has. */
const OTHERS = [0x6969, 0x517b, 0xfe534d42, 0xff534d42, 0x65735546, 0x01021997, 0xc36400, 0x5346414f, 0x0bd00bd0, 0, 1, 26]
const LENGTH = 100_000
const bytes = Uint8Array.from({ length: LENGTH }, (_, i) => i * 7)

let folder: string
let key: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hyperslab-quick-'))
  key = join(folder, 'x')
  await writeFile(key, bytes)
})
afterAll(() => rm(folder, { recursive: true }))

/**
 * Simulates a file system of a type, whose reads take some ms of a clock, which advances only by them.
 * @param usage returns what the system has counted after a number of reads
 */
function simulated(
  type: number | undefined,
  ms: (read: number) => number,
  options = {},
  usage: (reads: number) => readonly [involuntary: number, disk: number] | undefined = () => undefined,
) {
  const seen = { sync: 0, async: 0, most: 0, inTurn: 0, turns: 0 }
  let now = 0
  const turns: (() => void)[] = []
  const turn = (): Promise<void> => new Promise((resolve) => turns.push(resolve))
  const quick = new QuickReads(
    () => now,
    turn,
    () => {
      const counted = usage(seen.sync)
      return counted && { involuntaryContextSwitches: counted[0], fsRead: counted[1] }
    },
  )
  const nextTurn = async (): Promise<void> => {
    seen.turns++
    seen.inTurn = 0
    for (const resolve of turns.splice(0)) resolve()
    await Promise.resolve()
  }
  const readSync = (...args: Parameters<typeof fs.readSync>): number => {
    const took = ms(seen.sync++)
    now += took
    seen.inTurn += took
    seen.most = Math.max(seen.most, seen.inTurn)
    return fs.readSync(...args)
  }
  const read = (...args: Parameters<typeof fs.read>): void => {
    seen.async++
    void nextTurn().then(() => fs.read(...args))
  }
  const statfs = (_: string, done: (error: unknown, stats?: object) => void): void =>
    type === undefined ? done(new Error('no answer')) : done(null, { type })
  const advance = (ms: number): void => {
    now += ms
  }
  return { store: new FileStore(options, { ...fs, readSync, read, statfs }, quick), seen, advance, quick, nextTurn }
}

async function readAll({ store }: { store: FileStore }, count: number, length = 100, signal?: AbortSignal): Promise<void> {
  const { etag } = (await store.stat(key))!
  for (let i = 0; i < count; i++) {
    const at = (i * 997) % (LENGTH - length)
    const options = signal === undefined ? { ifMatch: etag } : { ifMatch: etag, signal }
    const found = await store.getRange(key, at, length, options)
    if (Buffer.compare(found!, bytes.subarray(at, at + length)) !== 0) throw new Error(`bytes at ${at}`)
  }
  await store.close()
}

describe('synchronous reads', () => {
  test.each([0.001, 0.01, 0.3, 0.9])(
    'synchronous reads take at most 2 ms between two turns of the event loop, and the one in progress',
    async (ms) => {
      const run = simulated(EXT4, () => ms)
      await readAll(run, 2000)
      expect(run.seen.sync + run.seen.async).toBe(2000)
      expect(run.seen.sync).toBeGreaterThan(1000)
      expect(run.seen.most).toBeLessThan(2.000001 + ms)
      // The first read finds out where the file lies. A spent budget causes each other turn.
      const perTurn = Math.ceil(2 / ms)
      expect(run.seen.async).toBeGreaterThanOrEqual(Math.floor(1999 / (perTurn + 1)))
      expect(run.seen.async).toBeLessThanOrEqual(Math.ceil(1999 / perTurn) + 1)
    },
  )

  test('end with the first read of 5 ms, for this file and half a second', async () => {
    const run = simulated(EXT4, (read) => (read === 10 ? 5 : 0.001))
    await readAll(run, 500)
    expect(run.seen).toMatchObject({ sync: 11, async: 489 })
    const busy = simulated(EXT4, (read) => (read === 10 ? 5 : 0.001))
    const version = (await busy.store.stat(key))!
    for (let i = 0; i < 100; i++) {
      if (i === 30) busy.advance(499)
      if (i === 50) busy.advance(2)
      await busy.store.getRange(key, 0, 100, { ifMatch: version.etag })
    }
    expect(busy.seen).toMatchObject({ sync: 61, async: 39 })
    await busy.store.close()
  })

  test('continue after a slow read only if the process lost the processor, and no disk was read for 100 ms', async () => {
    type Counted = readonly [involuntary: number, disk: number]
    const count = async (usage: (reads: number) => Counted, quietMs: number) => {
      const run = simulated(EXT4, (read) => (read === 10 ? 5 : 0.001), {}, usage)
      const { etag } = (await run.store.stat(key))!
      for (let i = 0; i < 50; i++) {
        if (i === 5) run.advance(quietMs)
        await run.store.getRange(key, 0, 100, { ifMatch: etag })
      }
      await run.store.close()
      return run.seen
    }
    // The first read finds out where the file lies; the slow one has used the time of its turn.
    expect(await count((reads) => [reads, 7], 100)).toMatchObject({ sync: 48, async: 2 })
    const slow = { sync: 11, async: 39 }
    expect(await count((reads) => [reads, 7], 99)).toMatchObject(slow)
    expect(await count((reads) => [reads, reads], 100)).toMatchObject(slow)
    expect(await count(() => [7, 7], 100)).toMatchObject(slow)
    expect(await count((reads) => [0, reads], 100)).toMatchObject(slow)
  })

  test.each(OTHERS)('are not made on a file system of number %d', async (type) => {
    const run = simulated(type, () => 0.001)
    await readAll(run, 50)
    expect(run.seen).toMatchObject({ sync: 0, async: 50 })
  })

  test('are not made where the file system is unknown, forbidden, suspended, or above 64 KiB', async () => {
    const unknown = simulated(undefined, () => 0.001)
    await readAll(unknown, 50)
    expect(unknown.seen).toMatchObject({ sync: 0, async: 50 })
    const forbidden = simulated(EXT4, () => 0.001, { syncReads: false })
    await readAll(forbidden, 50)
    expect(forbidden.seen).toMatchObject({ sync: 0, async: 50 })
    const long = simulated(EXT4, () => 0.001)
    await readAll(long, 50, 65_537)
    expect(long.seen).toMatchObject({ sync: 0, async: 50 })
    const suspended = simulated(EXT4, () => 0.001)
    const [first, second] = [suspended.quick.suspend(), suspended.quick.suspend()]
    await readAll(suspended, 50)
    first[Symbol.dispose]()
    await readAll(suspended, 50)
    expect(suspended.seen).toMatchObject({ sync: 0, async: 100 })
    second[Symbol.dispose]()
    await readAll(suspended, 50, 65_536)
    expect(suspended.seen).toMatchObject({ sync: 49, async: 101 })
  })

  test('heed the signal between reads', async () => {
    const ended = new AbortController()
    const run = simulated(EXT4, (read) => {
      if (read === 20) ended.abort(new Error('enough'))
      return 0.001
    })
    await expect(readAll(run, 500, 100, ended.signal)).rejects.toThrow('enough')
    expect(run.seen.sync).toBe(21)
  })

  test('report what `readSync` throws, and the end of the file', async () => {
    const run = simulated(EXT4, (read) => {
      if (read === 3) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      return 0
    })
    await expect(readAll(run, 10)).rejects.toMatchObject({ tag: 'StoreError', message: expect.stringContaining('EIO') })
    await expect(run.store.getRange(key, LENGTH - 1, 2)).rejects.toMatchObject({ tag: 'FormatError' })
    await run.store.close()
  })

  test('fill memory in groups, which wait for a turn with a millisecond left', async () => {
    const run = simulated(EXT4, () => 0.3)
    const { etag } = (await run.store.stat(key))!
    expect(run.store.files.quickReads!(key, etag)).toBeUndefined()
    await run.store.getRange(key, 0, 1, { ifMatch: etag })
    expect(run.store.files.quickReads!(key, `${etag}0`)).toBeUndefined()
    let groups = 0
    let turns = 0
    for (let i = 0; i < 200; i++) {
      const quick = run.store.files.quickReads!(key, etag)!
      const turn = quick.ready()
      if (turn !== undefined) {
        turns++
        await run.nextTurn()
        await turn
      }
      const into = new Uint8Array(70_000)
      expect(quick.read(into, 20_000 + i)).toBe(true)
      expect(Buffer.compare(into, bytes.subarray(20_000 + i, 90_000 + i))).toBe(0)
      expect(quick.isUnchanged()).toBe(true)
      groups++
    }
    // Two short reads a group, so two groups a turn.
    expect(run.seen).toMatchObject({ sync: 400, async: 1 })
    expect(run.seen.most).toBeLessThan(2.000001)
    expect([groups, turns]).toEqual([200, 99])
    await run.store.close()
  })

  test('are refused to a group where a read is slow, or the file is closed, changed or shorter', async () => {
    const run = simulated(EXT4, (read) => (read === 3 ? 5 : 0.001))
    const own = join(folder, 'own')
    await writeFile(own, bytes)
    const { etag } = (await run.store.stat(own))!
    await run.store.getRange(own, 0, 1, { ifMatch: etag })
    const quick = run.store.files.quickReads!(own, etag)!
    const into = new Uint8Array(100)
    // The end of the file takes two calls.
    expect(quick.read(into, LENGTH - 99)).toBe(false)
    expect(quick.read(into, 0)).toBe(true)
    expect(quick.read(into, 0)).toBe(true)
    expect(quick.read(into, 0)).toBe(false)
    expect(run.store.files.quickReads!(own, etag)).toBeUndefined()
    run.advance(501)
    await run.nextTurn()
    expect(run.store.files.quickReads!(own, etag)).toBeDefined()
    expect([quick.read(into, 0), quick.isUnchanged()]).toEqual([true, true])
    fs.utimesSync(own, 1, 1)
    expect([quick.read(into, 0), quick.isUnchanged()]).toEqual([true, false])
    await run.store.close()
    expect([quick.read(into, 0), quick.isUnchanged()]).toEqual([false, false])
  })
})
