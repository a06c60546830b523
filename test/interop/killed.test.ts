import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ArrayFile } from '../../src/af/file.ts'
import { FileStore } from '../../src/store/fs/file.ts'
import type { Stage } from '../../src/store/store.ts'
import { FaultStore } from '../../src/testing/index.ts'
import { isSoak } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'
import { havePeer, Peer } from './peer.ts'
import { toHex } from './wire.ts'

const FILE = 't.af'
/** Every operation with HYPERSLAB_INTEROP_KILLS=all; else every fifth, and others in each case. */
const STRIDE = isSoak ? 1 : 5

/** Two chunks of three elements, in which all write. */
type Values = readonly number[]

/** Histories of the container before a process of this package is killed. */
const HISTORIES: Record<string, (shared: Container) => Promise<void>> = {
  'ours, new': async (shared) => shared.create(),
  'ours, of two layers': async (shared) => {
    await shared.create()
    await shared.write(1, 11)
    await shared.write(4, 14)
  },
  'ours, with a layer of the crate': async (shared) => {
    await shared.create()
    await shared.write(1, 11)
    await shared.writeInCrate(4, 24)
    await shared.writeInCrate(1, 21)
  },
  "the crate's, with a layer of ours": async (shared) => {
    await shared.createInCrate()
    await shared.writeInCrate(1, 21)
    await shared.write(4, 14)
  },
}

/** Operations that are killed. The container holds the values before or the values of `after` then. */
const KILLED: Record<string, (store: FaultStore, path: string, values: Values) => { after: Values; run(): Promise<void> }> = {
  flush: (store, path, values) => ({
    after: values.with(0, 31).with(5, 35),
    run: async () => {
      const file = await ArrayFile.open(store, path)
      await file.array('a').set([0], 31)
      await file.array('a').set([5], 35)
      await file.flush()
    },
  }),
  compact: (store, path, values) => ({
    after: values,
    run: async () => {
      const file = await ArrayFile.open(store, path)
      await file.compact()
    },
  }),
  'flush and compact': (store, path, values) => ({
    after: values.with(0, 31),
    run: async () => {
      const file = await ArrayFile.open(store, path)
      await file.array('a').set([0], 31)
      await file.compact()
    },
  }),
}

/** A container in a folder of its own, which both sides open. */
class Container {
  readonly folder: string
  readonly #peer: Peer
  values: Values = [0, 0, 0, 0, 0, 0]

  constructor(folder: string, peer: Peer) {
    this.folder = folder
    this.#peer = peer
  }

  get #path(): string {
    return join(this.folder, FILE)
  }

  async create(): Promise<void> {
    const file = await ArrayFile.create(new FileStore(), this.#path)
    file.createArray('a', { dtype: 'uint8', shape: [6], chunks: [3], dimensionNames: ['x'] })
    await file.flush()
    await file.close()
  }

  async createInCrate(): Promise<void> {
    await this.#peer.do('create', { folder: this.folder, file: FILE, codec: 'none' })
    const array = { name: 'a', dtype: 'uint8', shape: [6], chunkShape: [3], dimensionNames: ['x'], fillValue: null }
    await this.#peer.do('define', array)
    await this.#peer.do('flush')
  }

  async write(index: number, value: number): Promise<void> {
    await this.#inFile(async (file) => {
      await file.array('a').set([index], value)
      await file.flush()
    })
    this.values = this.values.with(index, value)
  }

  async compact(): Promise<void> {
    await this.#inFile((file) => file.compact())
  }

  /** Without compression, so that footers of the crate are the same whenever the sizes are. */
  async writeInCrate(index: number, value: number): Promise<void> {
    await this.#peer.do('open', { folder: this.folder, file: FILE, codec: 'none' })
    const data = toHex(Uint8Array.of(value))
    await this.#peer.do('write', { name: 'a', dtype: 'uint8', start: [index], shape: [1], data })
    await this.#peer.do('flush')
    this.values = this.values.with(index, value)
  }

  async compactInCrate(): Promise<void> {
    await this.#peer.do('open', { folder: this.folder, file: FILE, codec: 'none' })
    await this.#peer.do('compact')
  }

  async read(): Promise<Values> {
    return this.#inFile(async (file) => [...((await file.array('a', 'uint8').get([null])).data as Uint8Array)])
  }

  async readInCrate(): Promise<Values> {
    await this.#peer.do('open', { folder: this.folder, file: FILE })
    const { arrays } = await this.#peer.dump([])
    return [...Buffer.from(arrays[0]!.values.ok as string, 'hex')]
  }

  async #inFile<T>(work: (file: ArrayFile) => Promise<T>): Promise<T> {
    const file = await ArrayFile.open(new FileStore(), this.#path)
    try {
      return await work(file)
    } finally {
      await file.close()
    }
  }
}

/** Files of a process that was killed: its handles are closed by the system, in the end. */
class Abandoned extends FileStore {
  readonly #stages: Stage[] = []

  override async stage(near: string): Promise<Stage> {
    const stage = await super.stage(near)
    this.#stages.push(stage)
    return stage
  }

  async abandon(): Promise<void> {
    for (const stage of this.#stages) await stage.discard()
    await this.close()
  }
}

describe.skipIf(!havePeer)('killed at an operation of the store, then a turn of the crate', () => {
  let peer: Peer
  beforeAll(async () => {
    peer = await Peer.start()
  }, 1_800_000)
  afterAll(() => peer?.stop())

  /**
   * Lets ours be killed at its `k`th operation, before it or once it is done, then all others have a turn.
   * False when it came to its end.
   */
  async function kill(history: string, killed: string, k: number, done: boolean): Promise<boolean> {
    const folder = await folderInMemory('killed')
    const inner = new Abandoned()
    try {
      const shared = new Container(folder, peer)
      await HISTORIES[history]!(shared)
      const before = shared.values
      const store = new FaultStore(inner)
      store.faultAfter(k, { kind: 'crash', done })
      const { after, run } = KILLED[killed]!(store, join(folder, FILE), before)
      const error: unknown = await run().then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (!store.crashed) expect(error).toBeUndefined()
      const told = { history, killed, k, done, at: store.log.at(-1) }
      const found = await shared.read()
      expect({ ...told, found }).toEqual({ ...told, found: same(found, after) || error === undefined ? after : before })
      shared.values = found
      expect({ ...told, crate: await shared.readInCrate() }).toEqual({ ...told, crate: found })
      // Turns of the crate, in sessions of their own, then of ours.
      await shared.writeInCrate(2, 42)
      await shared.writeInCrate(3, 43)
      expect({ ...told, next: await shared.read() }).toEqual({ ...told, next: shared.values })
      await shared.write(2, 52)
      await shared.writeInCrate(0, 60)
      await shared.compact()
      await shared.writeInCrate(0, 61)
      expect({ ...told, later: await shared.read() }).toEqual({ ...told, later: shared.values })
      expect({ ...told, crate: await shared.readInCrate() }).toEqual({ ...told, crate: shared.values })
      await shared.compactInCrate()
      await shared.write(4, 74)
      expect({ ...told, crate: await shared.readInCrate() }).toEqual({ ...told, crate: shared.values })
      return store.crashed
    } finally {
      await inner.abandon()
      await rm(folder, { recursive: true })
    }
  }

  const cases = Object.keys(KILLED).flatMap((killed) => Object.keys(HISTORIES).map((history) => [killed, history] as const))

  test.each(cases)('%s of a container that is %s: nothing is lost', async (killed, history) => {
    const first = cases.findIndex((each) => each[0] === killed && each[1] === history) % STRIDE
    for (let k = first; ; k += STRIDE) {
      const crashed = await kill(history, killed, k, false)
      if (!crashed) break
      await kill(history, killed, k, true)
    }
  })
})

const same = (a: Values, b: Values): boolean => a.length === b.length && a.every((value, i) => value === b[i])
