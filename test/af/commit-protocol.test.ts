import { describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { create, MemoryStore, open, slice } from '../../src/runtime/index.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { createWithBase } from '../support/containers.ts'

const path = 'a.af'

const valuesOf = async (store: MemoryStore): Promise<number[]> => {
  await using file = await open({ store, path })
  return file.arrays().includes('x') ? [...(await file.array('x', 'uint8', 1).get()).data] : []
}

/** A container of a base and two layers. */
async function written(): Promise<MemoryStore> {
  const store = new MemoryStore()
  await using file = await createWithBase({ store, path })
  const x = file.createArray('x', { dtype: 'uint8', shape: [3], chunks: [1] })
  await x.set(null, 1)
  await file.flush()
  await x.set([1], 2)
  await file.flush()
  return store
}

describe('creating', () => {
  test('over a container, whatever operation fails: the old one or the new one, and the next try gets through', async () => {
    let failures = 0
    for (let count = 0; ; count++) {
      const memory = await written()
      const store = new FaultStore(memory)
      store.faultAfter(count)
      const error = await ArrayFile.create(store, path, { overwrite: true }).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expect([[1, 2, 1], []]).toContainEqual(await valuesOf(memory))
      if (error === undefined) break
      failures++
      await using anew = await create({ store: memory, path }, { overwrite: true })
      expect([anew.arrays(), (await memory.list('')).sort()]).toEqual([[], [path]])
    }
    expect(failures).toBeGreaterThan(5)
  })

  test('by several at once: one gets it, the others are told that it exists', async () => {
    const store = new MemoryStore()
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => create({ store, path })))
    const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason.tag)
    expect(refused).toEqual(Array(4).fill('AlreadyExistsError'))
  })

  test('and flushing once makes one file, which keeps other handles from adding to what it replaced', async () => {
    const store = new MemoryStore()
    await using first = await create({ store, path })
    await using second = await open({ store, path })
    await first.createArray('x', { dtype: 'uint8', shape: [2] }).set(null, 1)
    await second.createArray('y', { dtype: 'uint8', shape: [1] }).set(null, 2)
    await first.flush()
    expect((await store.list('')).sort()).toEqual([path, 'a.stats'])
    await expect(second.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
    await second.refresh()
    await second.flush()
    await using reader = await open({ store, path })
    expect(reader.arrays()).toEqual(['x', 'y'])
    expect(reader.layers().map(({ number }) => number)).toEqual([0, 1])
  })
})

describe('a flush', () => {
  test('is acknowledged when only its statistics cannot be stored, and says so', async () => {
    const memory = await written()
    const store = new FaultStore(memory, {
      faults: ({ kind, key }) => (kind === 'put' && key === 'a.stats' ? 'error' : undefined),
    })
    await using file = await ArrayFile.open(store, path)
    await file.array('x').set([0], 9)
    await file.flush()
    expect(await valuesOf(memory)).toEqual([9, 2, 1])
    expect(file.warnings()).toEqual([expect.stringMatching(/^memory:a\.af: statistics could not be stored: /)])
    expect(await file.stats('x')).toMatchObject({ min: 1, max: 9 })
  })

  test('on a base that was compacted away is refused, keeps its changes, and leaves nothing behind', async () => {
    const store = await written()
    await using stale = await open({ store, path })
    await using other = await open({ store, path })
    await stale.array('x').set([0], 7)
    await other.compact()
    await expect(stale.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
    expect((await store.list('')).sort()).toEqual([path, 'a.stats'])
    await stale.refresh()
    await stale.flush()
    expect(await valuesOf(store)).toEqual([7, 2, 1])
  })

  test('whose answer is lost is known by the identity of its layer', async () => {
    for (const key of ['a.3.af', 'a.4.af']) {
      const memory = await written()
      const store = new FaultStore(memory, {
        faults: ({ kind, key: at }) => (kind === 'publish' && at === key ? 'lost' : undefined),
      })
      await using file = await ArrayFile.open(store, path)
      for (const value of [5, 6]) {
        await file.array('x').set([0], value)
        await file.flush()
      }
      expect(await valuesOf(memory)).toEqual([6, 2, 1])
      expect(file.layers().map(({ number }) => number)).toEqual([0, 1, 2, 3, 4])
    }
  })

  test('finishes the compaction of one that was killed', async () => {
    for (let count = 0; ; count += 2) {
      const memory = await written()
      const store = new FaultStore(memory)
      await using dying = await ArrayFile.open(store, path)
      store.faultAfter(count, 'crash')
      const error = await dying.compact().then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (error === undefined) break
      await using file = await open({ store: memory, path })
      await file.array('x').set([2], count)
      await file.flush()
      expect(await valuesOf(memory)).toEqual([1, 2, count])
    }
  })
})

test('a compaction that another has finished in its place takes nothing back', async () => {
  const memory = await written()
  let overtakes = 1
  const store = new FaultStore(memory, {
    faults: async ({ kind, key }) => {
      if (kind !== 'publish' || key !== path || overtakes-- !== 1) return undefined
      // The state is closed by now, and its successor staged: another writer publishes one, and goes on.
      await using other = await open({ store: memory, path })
      await other.compact()
      await other.array('x').set([2], 8)
      await other.flush()
      return undefined
    },
  })
  await using file = await ArrayFile.open(store, path)
  await file.compact()
  expect(overtakes).toBeLessThan(1)
  expect(await valuesOf(memory)).toEqual([1, 2, 8])
})

describe('a compaction by a handle that knows an old state', () => {
  /** Changes that another handle makes meanwhile. */
  const STEPS: Record<string, (file: ArrayFile) => Promise<void>> = {
    flushed: async (file) => {
      await file.array('x').set([0], 5)
      await file.flush()
    },
    compacted: (file) => file.compact(),
    'flushed and compacted': async (file) => {
      await file.array('x').set([0], 5)
      await file.compact()
    },
    'compacted and flushed': async (file) => {
      await file.compact()
      await file.array('x').set([0], 5)
      file.array('x').attrs.set('units', 'K')
      await file.flush()
    },
  }

  test.each(Object.keys(STEPS))('after others have %s takes in what they have done', async (what) => {
    const store = await written()
    await using stale = await open({ store, path })
    await using other = await open({ store, path })
    await STEPS[what]!(other)
    const expected = await valuesOf(store)
    await stale.compact()
    expect((await store.list('')).sort()).toEqual([path, 'a.stats'])
    expect(await valuesOf(store)).toEqual(expected)
    expect((await stale.array('x', 'uint8', 1).get()).data).toEqual(Uint8Array.from(expected))
    expect(stale.array('x').attrs.get('units')).toBe(what.endsWith('and flushed') ? 'K' : undefined)
    await stale.array('x').set([2], 9)
    await stale.flush()
    expect(await valuesOf(store)).toEqual(expected.with(2, 9))
  })

  /**
   * A store in front of a container with blocks that have to be read: `meanwhile` is called once, at the
   * first read of layer 2.
   */
  async function interrupted(meanwhile: (memory: MemoryStore) => Promise<void>): Promise<ArrayFile> {
    const memory = new MemoryStore()
    await using file = await createWithBase({ store: memory, path }, { codec: 'none' })
    const x = file.createArray('x', { dtype: 'uint8', shape: [300_000], chunks: [100_000] })
    await x.set(null, 1)
    await file.flush()
    await x.set([1], 2)
    await file.flush()
    let armed = false
    const store = new FaultStore(memory, {
      faults: async ({ kind, key }) => {
        if (!armed || !['get', 'ranges'].includes(kind) || key !== 'a.2.af') return undefined
        armed = false
        await meanwhile(memory)
        return undefined
      },
    })
    const opened = await ArrayFile.open(store, path)
    armed = true
    return opened
  }

  test('goes on when another one removes the layers that it reads', async () => {
    await using file = await interrupted(async (store) => {
      await using other = await open({ store, path })
      await other.array('x').set([2], 8)
      await other.compact()
    })
    await file.compact()
    expect((await file.array('x', 'uint8', 1).get([slice(0, 4)])).data).toEqual(Uint8Array.of(1, 2, 8, 1))
    expect(file.layers().map(({ number }) => number)).toEqual([0])
  })

  test('tells that a layer is gone when nobody has replaced the base', async () => {
    await using file = await interrupted((store) => store.delete('a.2.af'))
    await expect(file.compact()).rejects.toMatchObject({ tag: 'ConflictError', message: expect.stringContaining('a.2.af') })
  })
})

test('a change of a part of a chunk that was compacted away cannot be refreshed, is kept, and can be written anew', async () => {
  const store = new MemoryStore()
  await using other = await createWithBase({ store, path }, { codec: 'none' })
  await other.createArray('x', { dtype: 'uint8', shape: [300_000], chunks: [100_000] }).set(null, 1)
  await other.flush()
  // Without a cache nothing is left here of what the chunk was.
  await using stale = await open({ store, path }, { cacheBytes: 0 })
  await stale.array('x').set([100_001], 7)
  await other.array('x').set([100_002], 5)
  await other.compact()
  await expect(stale.flush()).rejects.toMatchObject({ tag: 'ConflictError' })
  for (let again = 0; again < 2; again++) {
    const error: unknown = await stale.refresh().catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      tag: 'ConflictError',
      message: expect.stringMatching(
        /^memory:a\.af: array 'x': a part of chunk \[1\] was changed here, .* compacted away .* are kept/,
      ),
      details: { file: 'memory:a.af', array: 'x', actual: '[1]', cause: { tag: 'ConflictError' } },
    })
    expect(stale.changed).toBe(true)
  }
  // The pending change has not reached the store, and the handle can still read it.
  const kept = await stale.array('x').get([100_001])
  await using anew = await open({ store, path })
  expect(await anew.array('x').get([100_001])).toBe(1)
  await anew.array('x').set([100_001], kept)
  await anew.flush()
  expect((await anew.array('x', 'uint8', 1).get([slice(100_000, 100_004)])).data).toEqual(Uint8Array.of(1, 7, 5, 1))
})

test('statistics of another state count for nothing', async () => {
  const store = await written()
  const old = (await store.getRange('a.stats', 0, (await store.stat('a.stats'))!.size))!
  {
    await using file = await open({ store, path })
    await file.array('x').set([0], 200)
    await file.flush()
  }
  await store.put('a.stats', old)
  await using reader = await open({ store, path })
  expect(await reader.stats('x')).toMatchObject({ min: 1, max: 200 })
  expect((await reader.verify()).findings).toMatchObject([
    { severity: 'warning', text: expect.stringContaining('earlier state') },
  ])
})

test('a reader sees no half of what is appended below a stray layer and compacted while it reads', async () => {
  const memory = await written()
  await using before = await open({ store: memory, path })
  await before.compact()
  // As one is left by a request that is carried out when its sender has given up: dead, with a gap below it.
  const other = await written()
  const { size } = (await other.stat('a.2.af'))!
  await memory.put('a.2.af', (await other.getRange('a.2.af', 0, size))!)
  await using writer = await open({ store: memory, path })
  const happening = {
    'a.2.af': async () => {
      for (const at of [1, 2]) {
        await writer.array('x').set([at], 5)
        await writer.flush()
      }
    },
    'a.1.af': () => writer.compact(),
  } as Record<string, (() => Promise<unknown>) | undefined>
  const interrupt = async (key: string): Promise<void> => {
    const work = happening[key]
    happening[key] = undefined
    await work?.()
  }
  const store = {
    describe: (key: string) => key,
    list: (prefix: string) => memory.list(prefix),
    stat: async (key: string) => {
      await interrupt(key)
      return memory.stat(key)
    },
    getRange: async (...all: Parameters<MemoryStore['getRange']>) => {
      await interrupt(all[0])
      return memory.getRange(...all)
    },
  }
  await using reader = await open({ store, path })
  expect(happening).toEqual({ 'a.1.af': undefined, 'a.2.af': undefined })
  expect([...(await reader.array('x', 'uint8', 1).get()).data]).toEqual([1, 5, 5])
  expect(reader.layers().map(({ number }) => number)).toEqual([0])
})

test('a store that replaces nothing on condition is written to, but not compacted', async () => {
  const memory = new MemoryStore()
  const plain = {
    describe: (key: string) => key,
    stat: (key: string) => memory.stat(key),
    getRange: (...all: Parameters<MemoryStore['getRange']>) => memory.getRange(...all),
    list: (prefix: string) => memory.list(prefix),
    put: (...all: Parameters<MemoryStore['put']>) => memory.put(...all),
    delete: (...all: Parameters<MemoryStore['delete']>) => memory.delete(...all),
    stage: () => memory.stage(),
  }
  await using file = await create({ store: plain, path })
  await file.createArray('x', { dtype: 'uint8', shape: [2] }).set(null, 3)
  await file.flush()
  expect(file.layers().map(({ number }) => number)).toEqual([0, 1])
  await expect(file.compact()).rejects.toMatchObject({
    tag: 'UnsupportedError',
    message: expect.stringContaining('no conditional writes'),
  })
  expect(await valuesOf(memory)).toEqual([3, 3])
})
