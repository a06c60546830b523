import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { ZarrArray, ZarrGroup } from '../../../../src/adapters/zarr/group.ts'
import type { NewZarrArray } from '../../../../src/adapters/zarr/write/new-array.ts'
import type { Values } from '../../../../src/array/values.ts'
import type { DType } from '../../../../src/core/dtype.ts'
import { isHyperslabError } from '../../../../src/core/errors.ts'
import { sizeOf } from '../../../../src/core/shape.ts'
import { slice } from '../../../../src/grid/slice.ts'
import { createZarr, openZarr, verifyZarr } from '../../../../src/runtime/zarr.ts'
import { FileStore } from '../../../../src/store/fs/file.ts'
import { MemoryStore } from '../../../../src/store/memory.ts'
import type { Store } from '../../../../src/store/store.ts'
import { type FaultKind, FaultStore } from '../../../../src/testing/index.ts'
import { byBudget, isSoak, seedOf } from '../../../support/budget.ts'
import { elementFor, lengthOf, Model, Random, someSlices } from './support.ts'

// A killed process is succeeded after the lease.
vi.mock('../../../../src/adapters/zarr/write/lease.ts', () => ({ CLAIM_LEASE_MS: 40 }))

/** More histories, for long runs. */
const COUNT = byBudget({ quick: 5, full: 5, soak: 200 })
const SEED = seedOf('histories', 1)
const STEPS = 25

const TYPES: readonly DType[] = ['int8', 'uint16', 'float32', 'int64', 'bool', 'string']

/** One array with two writers, of which each opens it by itself, and what it must hold. */
class History {
  readonly #random: Random
  readonly #place: { readonly store: Store; readonly path: string }
  #handles: ZarrArray[] = []
  #groups: ZarrGroup[] = []
  #model!: Model
  readonly log: string[] = []

  constructor(seed: number, store: Store, path: string) {
    this.#random = new Random(seed)
    this.#place = { store, path }
  }

  async run(): Promise<void> {
    await createZarr(this.#place)
    await this.#open()
    await this.#create()
    for (let step = 0; step < STEPS; step++) {
      // The writing handle sees its change at once, the other one after a refresh.
      const writer = await this.#step()
      for (const handle of this.#handles) {
        if (handle !== writer) handle.refresh()
        expect((await handle.toTensor()).data).toEqual(this.#model.data)
      }
    }
    await this.#open()
    for (const handle of this.#handles) expect((await handle.toTensor()).data).toEqual(this.#model.data)
    const { ok, findings } = await verifyZarr(this.#place)
    expect(ok, JSON.stringify(findings)).toBe(true)
    expect(findings).toEqual([])
  }

  async #open(): Promise<void> {
    await this.#openGroups()
    if (this.#model !== undefined) this.#handles = await Promise.all(this.#groups.map((group) => group.array('x')))
  }

  async #create(): Promise<void> {
    const random = this.#random
    const dtype = random.pick(TYPES)
    const rank = random.between(1, 3)
    const shape = Array.from({ length: rank }, () => random.between(1, [30, 12, 6][rank - 1]!))
    const chunks = shape.map(() => random.between(1, 5))
    const shards = random.chance(60) ? chunks.map((length) => length * random.between(1, 3)) : undefined
    const fillValue = elementFor(random, dtype)
    const options = { dtype, shape, chunks, shards, fillValue, codec: random.pick(['none', 'zstd', 'lz4']) } as NewZarrArray
    this.log.push(`create ${dtype} ${shape} chunks ${chunks} shards ${shards}`)
    await this.#groups[0]!.createArray('x', options)
    this.#model = new Model(dtype, shape, fillValue)
    await this.#open()
  }

  /** @returns the handle that alone has written */
  async #step(): Promise<ZarrArray | undefined> {
    const random = this.#random
    const who = random.below(2)
    const array = this.#handles[who]!
    const model = this.#model
    const isEmpty = model.shape.includes(0)
    const kind = random.pick(['set', 'set', 'set', 'list', 'both', 'fill', 'resize', 'append', 'delete', 'open'])
    this.log.push(`${kind} by ${who} of ${model.shape}`)
    switch (kind) {
      case 'set': {
        if (isEmpty) return undefined
        const slices = someSlices(random, model.shape)
        const values = this.#values(sizeOf(slices.map(lengthOf)))
        model.set(slices, values)
        await array.set(slices, values as Values<DType>)
        return array
      }
      case 'list': {
        if (isEmpty) return undefined
        const list = Array.from({ length: random.between(1, 4) }, () => random.below(model.shape[0]!))
        const values = list.map(() => this.#values(1)[0])
        const rest = model.shape.slice(1).map((length) => slice(0, length, 1))
        const size = sizeOf(model.shape.slice(1))
        list.forEach((at, i) => {
          model.set([slice(at, at + 1, 1), ...rest], new Array(size).fill(values[i]))
        })
        await array.set([list], values.flatMap((value) => new Array(size).fill(value)) as Values<DType>)
        return array
      }
      case 'both': {
        // Odd positions by one, even ones by the other, of the same objects at the same time.
        if (isEmpty) return undefined
        const rest = model.shape.slice(1).map((length) => slice(0, length, 1))
        await Promise.all(
          this.#handles.map(async (handle, start) => {
            const slices = [slice(Math.min(start, model.shape[0]!), model.shape[0]!, 2), ...rest]
            const values = this.#values(sizeOf(slices.map(lengthOf)))
            if (values.length === 0) return
            model.set(slices, values)
            await handle.set(slices, values as Values<DType>)
          }),
        )
        return undefined
      }
      case 'fill': {
        const value = this.#values(1)[0]
        if (!isEmpty)
          model.set(
            model.shape.map((length) => slice(0, length, 1)),
            new Array(sizeOf(model.shape)).fill(value),
          )
        await array.fill(value as never)
        return array
      }
      case 'resize': {
        const shape = model.shape.map((length) => (random.chance(50) ? length : random.below(length + 8)))
        model.resize(shape)
        await array.resize(shape)
        expect((await array.toTensor()).data).toEqual(model.data)
        await this.#open()
        return undefined
      }
      case 'append': {
        const axis = random.below(model.shape.length)
        const added = model.shape.with(axis, random.between(1, 7))
        const values = this.#values(sizeOf(added))
        const start = model.shape[axis]!
        if (sizeOf(added) === 0) return undefined
        model.resize(model.shape.with(axis, start + added[axis]!))
        model.set(
          added.map((length, i) => (i === axis ? slice(start, start + length, 1) : slice(0, length, 1))),
          values,
        )
        await array.append(axis, values as Values<DType>)
        expect((await array.toTensor()).data).toEqual(model.data)
        await this.#open()
        return undefined
      }
      case 'delete':
        if (random.chance(70)) return undefined
        await this.#groups[who]!.delete('x')
        await this.#openGroups()
        await this.#create()
        return undefined
      default:
        await this.#open()
        return undefined
    }
  }

  async #openGroups(): Promise<void> {
    this.#groups = await Promise.all([1, 2].map(() => openZarr(this.#place, { kind: 'group', mode: 'r+' })))
  }

  #values(count: number): unknown[] {
    const isFill = this.#random.chance(30)
    return Array.from({ length: count }, () => (isFill ? this.#model.fill : elementFor(this.#random, this.#model.dtype)))
  }
}

const run = async (seed: number, store: Store, path: string): Promise<void> => {
  const history = new History(seed, store, path)
  try {
    await history.run()
  } catch (error) {
    throw new Error(`seed ${seed}: ${history.log.join('; ')}`, { cause: error })
  }
}

describe('arrays are what a model says after each step of a history', () => {
  test('in memory', { timeout: 120_000 }, async () => {
    for (let seed = SEED; seed < SEED + COUNT; seed++) await run(seed, new MemoryStore(), 'a.zarr')
  })

  test('in files', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperslab-histories-'))
    for (let seed = SEED; seed < SEED + COUNT / 4; seed++) await run(seed, new FileStore(), join(folder, `${seed}.zarr`))
    rmSync(folder, { recursive: true })
  })
})

test('many who write to one shard at the same time lose nothing', async () => {
  const place = { store: new MemoryStore(), path: 'a.zarr' }
  const group = await createZarr(place)
  await group.createArray('x', { dtype: 'int32', shape: [64], chunks: [8], shards: [64] })
  const writers = Array.from({ length: 8 }, async (_, who) => {
    const array = await (await openZarr(place, { kind: 'group', mode: 'r+' })).array('x')
    for (let i = who; i < 64; i += 8) await array.set([i], i)
  })
  await Promise.all(writers)
  expect((await (await group.array('x', 'int32')).toTensor()).data).toEqual(Int32Array.from({ length: 64 }, (_, i) => i))
})

test('where a store knows no conditions, those of one process lose nothing either', async () => {
  const store = new MemoryStore()
  const plain: Store = new Proxy(store, {
    get: (target, name) => {
      if (name === 'conditionalWrites') return undefined
      const member = target[name as keyof MemoryStore] as unknown
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const group = await createZarr({ store: plain, path: 'a.zarr' })
  const x = await group.createArray('x', { dtype: 'int32', shape: [64], chunks: [8], shards: [64] })
  await Promise.all(Array.from({ length: 64 }, (_, i) => x.set([i], i)))
  expect((await x.toTensor()).data).toEqual(Int32Array.from({ length: 64 }, (_, i) => i))
})

describe('a fault at each operation of the store leaves every element as it was or as it was to be', () => {
  const FAULTS: readonly FaultKind[] = ['error', 'lost', 'late', 'short', 'crash']
  /** Without a long run, of shards those that differ most. */
  const faultsOf = ({ shards }: NewZarrArray): readonly FaultKind[] => (shards && !isSoak ? ['lost', 'crash'] : FAULTS)
  const OPTIONS: readonly NewZarrArray[] = [
    { dtype: 'int16', shape: [10, 6], chunks: [4, 4], fillValue: -1, codec: 'none' },
    { dtype: 'string', shape: [10, 6], chunks: [2, 2], shards: [4, 4], fillValue: 'fill' },
  ]
  type Step = (array: ZarrArray, group: ZarrGroup) => Promise<unknown>
  const valueFor = (dtype: DType, value: number): never => (dtype === 'string' ? String(value) : value) as never
  const STEPS: Readonly<Record<string, Step>> = {
    set: (x) => x.set([slice(1, 9), slice(2, 6)], valueFor(x.dtype, 7)),
    list: (x) => x.set([[0, 9]], valueFor(x.dtype, 7)),
    fill: (x) => x.fill(valueFor(x.dtype, 8)),
    empty: (x) => x.fill(x.fillValue as never),
    shrink: (x) => x.resize([5, 5]),
    grow: (x) => x.resize([13, 7]),
    append: (x) => x.append(0, new Array(12).fill(valueFor(x.dtype, 9)) as never),
    attributes: (x) => x.updateAttributes({ units: 'K' }),
    create: (_, group) => group.createArray('new/y', { dtype: 'int8', shape: [3] }),
    delete: (_, group) => group.delete('x'),
    consolidate: (_, group) => group.consolidate(),
  }

  const prepared = async (options: NewZarrArray): Promise<MemoryStore> => {
    const store = new MemoryStore()
    const group = await createZarr({ store, path: 'a.zarr' })
    const x = await group.createArray('x', options)
    await x.set([slice(0, 7)], valueFor(x.dtype, 3))
    await group.consolidate()
    return store
  }

  /** Shape and elements of the array; undefined where there is none. */
  const stateOf = async (store: MemoryStore): Promise<{ shape: readonly number[]; data: ArrayLike<unknown> } | undefined> => {
    const group = await openZarr({ store, path: 'a.zarr' }, { kind: 'group', consolidated: false })
    await expectSound(store, false)
    if (!(await group.arrays()).includes('x')) return undefined
    const x = await group.array('x')
    return { shape: x.shape, data: (await x.toTensor()).data }
  }

  const expectSound = async (store: MemoryStore, consolidated: boolean): Promise<void> => {
    const { ok, findings } = await verifyZarr({ store, path: 'a.zarr' }, { consolidated })
    expect(ok, JSON.stringify(findings)).toBe(true)
  }

  /**
   * Operations that can be repeated after a failure and are complete then, consolidated metadata included.
   */
  const REPEATED = ['set', 'list', 'fill', 'empty', 'shrink', 'grow', 'attributes', 'consolidate']

  const writableOf = async (store: Store) => {
    const group = await openZarr({ store, path: 'a.zarr' }, { kind: 'group', mode: 'r+' })
    return { group, x: await group.array('x') }
  }

  for (const options of OPTIONS) {
    test.each(Object.keys(STEPS))(`of ${options.dtype}: %s`, { timeout: 60_000 }, async (name) => {
      const step = STEPS[name]!
      const done = await prepared(options)
      const before = (await stateOf(done))!
      await writableOf(done).then(({ x, group }) => step(x, group))
      const after = await stateOf(done)
      let faults = 0
      for (const fault of faultsOf(options)) {
        for (let count = 0; ; count++) {
          const inner = await prepared(options)
          const store = new FaultStore(inner)
          const { x, group } = await writableOf(store)
          store.faultAfter(count, fault)
          const asked = store.log.length
          const error = await step(x, group).then(
            () => undefined,
            (error: unknown) => error,
          )
          await store.runLate()
          if (error !== undefined && !isHyperslabError(error)) throw error
          const happened = store.log.length - asked > count
          const state = await stateOf(inner)
          const label = `${name}, ${fault} at ${count}: ${store.log.slice(asked).join(', ')}`
          if (error === undefined && state !== undefined)
            expect([state.shape, state.data], label).toEqual([after?.shape, after?.data])
          else if (state === undefined) expect(after, label).toBeUndefined()
          else expectEither(state, before, after ?? before, label)
          if (fault !== 'crash') expect(store.openStages, label).toBe(0)
          if (REPEATED.includes(name)) {
            await writableOf(inner).then(({ x, group }) => step(x, group))
            expect(await stateOf(inner), label).toEqual(after)
            await expectSound(inner, true)
          }
          if (!happened) break
          faults++
        }
      }
      expect(faults).toBeGreaterThan(faultsOf(options).length)
    })
  }

  type State = { readonly shape: readonly number[]; readonly data: ArrayLike<unknown> }

  function expectEither(state: State, before: State, after: State, label: string): void {
    const shapes = [before, after].map(({ shape }) => shape.join())
    expect(shapes, label).toContain(state.shape.join())
    const [ofShape, other] = state.shape.join() === shapes[1] ? [after, before] : [before, after]
    for (let i = 0; i < state.data.length; i++) {
      const place = [Math.floor(i / state.shape[1]!), i % state.shape[1]!] as const
      const own = ofShape.data[i]
      const inOther =
        place[0] < other.shape[0]! && place[1] < other.shape[1]! ? other.data[place[0] * other.shape[1]! + place[1]] : own
      expect([own, inOther], `${label}: element ${place}`).toContain(state.data[i])
    }
  }
})
