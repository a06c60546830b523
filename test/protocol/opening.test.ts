import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { openPlace } from '../../src/cli/commands/place.ts'
import { type ArrayFile, create, HttpStore, MemoryStore, open, verify, writeImmutable } from '../../src/runtime/index.ts'
import type { Store } from '../../src/runtime/store.ts'
import { readTail } from '../../src/store/store.ts'
import { readWhole } from '../../src/store/whole.ts'
import { createWithBase } from '../support/containers.ts'
import { type Manners, RudeServer, type Seen } from '../support/rude-server.ts'

/** Layers of the largest container. */
const MOST = 4

let rude: RudeServer
/** Containers by their number of layers; all elements are that number, as an attribute says. */
const layered: ReadonlyMap<string, Uint8Array>[] = []
/**
 * Files of footer version 6, whose elements are 66: with a small footer, and with one larger than what is
 * read at once.
 */
let sealed: { readonly small: Uint8Array; readonly large: Uint8Array }

beforeAll(async () => {
  rude = await RudeServer.start()
  const store = new MemoryStore()
  const file = await createWithBase({ store, path: 'x.af' })
  const x = file.createArray('x', { dtype: 'uint8', shape: [2] })
  const fill = async (value: number, history = ''): Promise<void> => {
    await x.fill(value)
    x.attrs.set('state', value)
    x.attrs.set('history', history)
    await file.flush()
  }
  await fill(0)
  await file.compact()
  for (let layers = 0; layers <= MOST; layers++) {
    if (layers > 0) await fill(layers)
    const names = (await store.list('')).filter((name) => name.endsWith('.af'))
    layered.push(new Map(await Promise.all(names.map(async (name) => [name, (await readWhole(store, name))!.bytes] as const))))
  }
  const seal = async (): Promise<Uint8Array> => {
    await writeImmutable(file, { store, path: 'y.af' }, { overwrite: true })
    return (await readWhole(store, 'y.af'))!.bytes
  }
  await fill(66)
  const small = await seal()
  await fill(66, 'x'.repeat(100_000))
  sealed = { small, large: await seal() }
})
afterAll(() => rude.stop())
beforeEach(() => rude.reset())

const serve = (files: ReadonlyMap<string, Uint8Array>): void => {
  for (const [name, bytes] of files) rude.put(name, bytes)
}
/** Opens what is served. The store is new each time, so nothing is known of the server. */
const opened = (): Promise<ArrayFile> => open({ store: new HttpStore({ retryDelay: 1 }), path: `${rude.origin}/x.af` })
const stateOf = (file: ArrayFile): unknown => file.array('x').attrs.get('state')
const valuesOf = async (file: ArrayFile): Promise<unknown> => [...(await file.array('x', 'uint8', 1).get()).data]

/**
 * A wave is over when no request has come for so many ms: a busy machine sends those of one round trip apart.
 */
const QUIET_MS = 250

/**
 * Answers requests in waves: those that come while none is answered wait for each other. Counts the waves.
 */
class Waves {
  count = 0
  #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  next(): Promise<void> {
    if (this.#waiting.length === 0) this.count++
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      for (const answer of this.#waiting.splice(0)) answer()
    }, QUIET_MS)
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}

/** Opens what is served. @returns the file, its requests, and the round trips that these take */
async function counted(manners: Manners = {}): Promise<{ file: ArrayFile; log: string[]; rounds: number }> {
  // Modules that are loaded meanwhile would part requests that belong together.
  await (await opened()).close()
  rude.seen.length = 0
  const waves = new Waves()
  rude.manners = () => ({ ...manners, hold: waves.next() })
  const file = await opened()
  const log = rude.seen.map(({ method, range, url }) => `${method} ${url.slice(1)}${range === undefined ? '' : ` ${range}`}`)
  rude.manners = {}
  return { file, log, rounds: waves.count }
}

const TAIL = 'bytes=-65536'
/** Asked for together with the base. */
const FIRST = `GET x.1.af ${TAIL}`

describe('opening a file of footer version 6 over HTTP', () => {
  test('takes one round trip, if the server answers with ends of files', async () => {
    rude.put('x.af', sealed.small)
    const { file, log, rounds } = await counted()
    expect([log.toSorted(), rounds]).toEqual([[FIRST, `GET x.af ${TAIL}`], 1])
    expect([stateOf(file), await valuesOf(file)]).toEqual([66, [66, 66]])
    expect(file.warnings()).toEqual([])
  })

  test('takes two requests of the base, if the server is known to refuse suffix ranges', async () => {
    rude.put('x.af', sealed.small)
    rude.manners = { suffix: 'refused' }
    const place = { store: new HttpStore({ retryDelay: 1 }), path: `${rude.origin}/x.af` }
    await (await open(place)).close()
    rude.seen.length = 0
    const file = await open(place)
    const base = rude.seen.filter(({ url }) => url === '/x.af').map(({ method, range }) => `${method} ${range ?? ''}`)
    expect(base).toEqual(['HEAD ', `GET bytes=0-${sealed.small.length - 1}`])
    expect([stateOf(file), await valuesOf(file)]).toEqual([66, [66, 66]])
  })

  test('takes one request of the base, if the server answers with all of a small file', async () => {
    rude.put('x.af', sealed.small)
    const { file, log } = await counted({ suffix: 'ignored' })
    expect(log.toSorted()).toEqual([FIRST, `GET x.af ${TAIL}`])
    expect([stateOf(file), await valuesOf(file)]).toEqual([66, [66, 66]])
  })

  test('takes two round trips, if its footer is large', async () => {
    rude.put('x.af', sealed.large)
    const { file, log, rounds } = await counted()
    expect([log.filter((each) => each !== FIRST).length, rounds]).toEqual([2, 2])
    expect([stateOf(file), await valuesOf(file)]).toEqual([66, [66, 66]])
  })

  test('looks for no more than the first layer, and leaves out all files that are named like layers', async () => {
    serve(layered[2]!)
    rude.put('x.af', sealed.small)
    const { file, log } = await counted()
    expect(log.toSorted()).toEqual([FIRST, `GET x.af ${TAIL}`])
    expect([stateOf(file), await valuesOf(file)]).toEqual([66, [66, 66]])
  })

  test('leaves files that are named like layers to the command info and to verify, which name them', async () => {
    serve(layered[1]!)
    const path = rude.put('x.af', sealed.small)
    const errors: string[] = []
    const spy = vi.spyOn(process.stderr, 'write').mockImplementation((text) => errors.push(String(text)) > 0)
    try {
      const place = await openPlace(path, {})
      expect(errors).toEqual([])
      const { warnings } = await place.describe({})
      errors.push(...warnings.map((each) => `warning: ${each}`))
    } finally {
      spy.mockRestore()
    }
    expect(errors.join('')).toMatch(/warning: .*x\.1\.af: has the name of a sidecar/)
    const { findings } = await verify(path)
    expect(findings.map(({ file }) => file)).toEqual([`${rude.origin}/x.1.af`])
  })

  test('takes one request of the base, when it is refreshed, and none of a sidecar', async () => {
    rude.put('x.af', sealed.small)
    const { file } = await counted()
    rude.seen.length = 0
    await file.refresh()
    expect(rude.seen.map(({ method, url, range }) => `${method} ${url} ${range}`)).toEqual([`GET /x.af ${TAIL}`])
    expect([stateOf(file), await valuesOf(file)]).toEqual([66, [66, 66]])
  })

  test('takes in a container with layers that took its place, when it is refreshed', async () => {
    rude.put('x.af', sealed.small)
    const { file } = await counted()
    serve(layered[2]!)
    await file.refresh()
    expect([stateOf(file), await valuesOf(file), file.layers().length]).toEqual([2, [2, 2], 3])
  })
})

describe('refreshing a file of footer version 6 in a folder', () => {
  test('reads no file that is named like a sidecar, however damaged it is', async () => {
    const store = new MemoryStore()
    await store.put('x.af', sealed.small)
    const file = await open({ store, path: 'x.af' })
    await store.put('x.1.af', new Uint8Array(100))
    await file.refresh()
    expect([stateOf(file), await valuesOf(file)]).toEqual([66, [66, 66]])
    expect(file.warnings()).toEqual([expect.stringContaining('x.1.af: has the name of a sidecar')])
  })
})

describe('opening a file of footer version 5 over HTTP', () => {
  /** Layers one after another until one is missing, then the base. */
  const before = (layers: number): number => layers + 2

  test.each(Array.from({ length: MOST }, (_, i) => i + 1))(
    'takes no more round trips than reading %i layers before the base',
    async (layers) => {
      serve(layered[layers]!)
      const { file, log, rounds } = await counted()
      expect(rounds).toBeLessThanOrEqual(before(layers))
      const sidecars = Array.from({ length: layers + 1 }, (_, i) => `GET x.${i + 1}.af ${TAIL}`)
      expect(log.slice(0, 2).toSorted()).toEqual([FIRST, `GET x.af ${TAIL}`])
      expect(log.slice(2)).toEqual([...sidecars.slice(1), 'HEAD x.af'])
      expect([stateOf(file), await valuesOf(file)]).toEqual([layers, [layers, layers]])
    },
  )

  test('takes two round trips without layers: the base is confirmed after the first one is missing', async () => {
    serve(layered[0]!)
    const { file, log, rounds } = await counted()
    expect(log.toSorted()).toEqual([FIRST, `GET x.af ${TAIL}`, 'HEAD x.af'])
    expect([log.at(-1), rounds]).toEqual(['HEAD x.af', 2])
    expect([stateOf(file), await valuesOf(file)]).toEqual([0, [0, 0]])
  })

  test('takes as many as before, when it is refreshed', async () => {
    serve(layered[1]!)
    const { file } = await counted()
    serve(layered[3]!)
    rude.seen.length = 0
    await file.refresh()
    expect(rude.seen.map(({ url }) => url)).toEqual(['/x.1.af', '/x.2.af', '/x.3.af', '/x.4.af', '/x.af'])
    expect(stateOf(file)).toBe(3)
  })

  test('reads the base again after its layers, if the server has no strong versions', async () => {
    serve(layered[1]!)
    const { file, log } = await counted({ weakEtag: true })
    expect(log.filter((request) => request.includes(' x.af'))).toEqual([`GET x.af ${TAIL}`, `GET x.af ${TAIL}`])
    expect(stateOf(file)).toBe(1)
  })
})

describe('opening a container that another program replaces meanwhile', () => {
  const replacements: [string, () => ReadonlyMap<string, Uint8Array>, () => ReadonlyMap<string, Uint8Array>, unknown[]][] = [
    ['a file of version 6 over one of version 5', () => layered[2]!, () => new Map([['x.af', sealed.small]]), [2, 66]],
    ['a file of version 5 over one of version 6', () => new Map([['x.af', sealed.small]]), () => layered[2]!, [66, 2]],
    ['a file of version 5 over one of version 5', () => layered[0]!, () => other, ['other', 0]],
  ]
  /** A container that has nothing to do with the others. */
  let other: ReadonlyMap<string, Uint8Array>
  beforeAll(async () => {
    const store = new MemoryStore()
    const file = await create({ store, path: 'x.af' })
    const x = file.createArray('x', { dtype: 'uint8', shape: [2] })
    x.attrs.set('state', 'other')
    await x.fill(77)
    await file.flush()
    other = new Map([['x.af', (await readWhole(store, 'x.af'))!.bytes]])
  })

  describe.each(replacements)('%s', (_, first, second, states) => {
    test.each(Array.from({ length: 7 }, (_, nth) => nth))(
      'before request %i, the reader gets the old container or the new one',
      async (nth) => {
        for (const weak of [false, true]) {
          rude.reset()
          serve(first())
          rude.manners = (_: Seen, at: number) => {
            if (at === nth) for (const [name, bytes] of second()) if (name === 'x.af') rude.put(name, bytes)
            return { weakEtag: weak }
          }
          await using file = await opened()
          // Layers name the base below them, so they do not count on the other one.
          expect([...states, 0]).toContain(stateOf(file))
          const values = await valuesOf(file).catch((error: unknown) => error)
          if (values instanceof Error) expect(values).toMatchObject({ tag: 'ConflictError' })
          else expect(values).toEqual(Array(2).fill(stateOf(file) === 'other' ? 77 : stateOf(file)))
        }
      },
    )
  })
})

describe('opening in a place that can be listed', () => {
  /** @returns the store as one whose operations are answered in waves, and its operations */
  function inWaves(inner: MemoryStore): { store: Store; waves: Waves; log: string[] } {
    const waves = new Waves()
    const log: string[] = []
    const step = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
      log.push(operation)
      await waves.next()
      return work()
    }
    const store: Store = {
      describe: String,
      stat: (key) => step(`stat ${key}`, () => inner.stat(key)),
      getRange: (key, ...rest) => step(`get ${key}`, () => inner.getRange(key, ...rest)),
      getTail: (key, length) => step(`tail ${key}`, () => readTail(inner, key, length)),
      list: (prefix) => step(`list ${prefix}`, () => inner.list(prefix)),
    }
    return { store, waves, log }
  }
  const stored = async (files: ReadonlyMap<string, Uint8Array>): Promise<MemoryStore> => {
    const store = new MemoryStore()
    for (const [name, bytes] of files) await store.put(name, bytes)
    await (await open({ store, path: 'x.af' })).close()
    return store
  }

  test.each([0, 1, 3])('takes a list, %i layers at once, and the base: as many round trips as before', async (layers) => {
    const { store, waves, log } = inWaves(await stored(layered[layers]!))
    const file = await open({ store, path: 'x.af' })
    expect(waves.count).toBe(layers === 0 ? 2 : 3)
    const sidecars = Array.from({ length: layers }, (_, i) => `tail x.${i + 1}.af`)
    expect(log.toSorted()).toEqual(['list x.', 'stat x.af', 'tail x.af', ...sidecars].toSorted())
    expect(stateOf(file)).toBe(layers)
  })

  test('takes one round trip for a file of version 6, and names the files beside it without reading them', async () => {
    const inner = await stored(new Map([...layered[2]!, ['x.af', sealed.small]]))
    const { store, waves, log } = inWaves(inner)
    const file = await open({ store, path: 'x.af' })
    expect([waves.count, log.toSorted()]).toEqual([1, ['list x.', 'tail x.af']])
    expect([stateOf(file), file.warnings().length]).toEqual([66, 2])
  })

  test('opens a file of version 6, if the place refuses to be listed', async () => {
    const inner = await stored(new Map([['x.af', sealed.small]]))
    const { store } = inWaves(inner)
    const refusing = { ...store, list: () => Promise.reject(new Error('refused')) }
    expect(stateOf(await open({ store: refusing, path: 'x.af' }))).toBe(66)
    await inner.put('x.af', layered[0]!.get('x.af')!)
    await expect(open({ store: refusing, path: 'x.af' })).rejects.toThrow('refused')
  })
})
