import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { importContainer } from '../../src/copy/import-container.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { create, open, writeImmutable } from '../../src/runtime/index.ts'
import { byBudget, seedOf } from '../support/budget.ts'
import { Peer, type PeerArray } from './peer.ts'
import { wireAttribute, wireData } from './wire.ts'

const havePeers = inject('peerPort') !== undefined && inject('zeroAxesPort') !== undefined
const SEED = seedOf('zero-axes', 20_261_126)

interface Wanted {
  readonly shape: readonly number[]
  readonly chunkShape: readonly number[]
  /** Elements along the first axis that are appended later. */
  readonly added: number
}

/** At least one axis is empty. */
const wanted: fc.Arbitrary<Wanted> = fc
  .integer({ min: 1, max: 3 })
  .chain((rank) =>
    fc.record({
      shape: fc.array(fc.constantFrom(0, 0, 1, 3), { minLength: rank, maxLength: rank }),
      chunkShape: fc.array(fc.nat(2), { minLength: rank, maxLength: rank }),
      added: fc.nat(3),
    }),
  )
  .filter(({ shape }) => shape.includes(0))
  .map(({ shape, chunkShape, added }) => ({
    shape,
    // On an axis with elements chunks have at least one.
    chunkShape: chunkShape.map((chunk, axis) => (shape[axis] === 0 ? chunk : Math.max(1, chunk))),
    added,
  }))

const grown = ({ shape, added }: Wanted): number[] => [shape[0]! + added, ...shape.slice(1)]
const numbersOf = (shape: readonly number[], first = 1): Int32Array =>
  Int32Array.from({ length: sizeOf(shape) }, (_, i) => first + i)

describe.skipIf(!havePeers)('arrays with axes of length 0, and the crates 0.12, 0.14 and 0.15', () => {
  let [old, current, immutable]: Peer[] = []
  let folder: string
  beforeAll(async () => {
    old = await Peer.start()
    current = await Peer.start(inject('zeroAxesPort'))
    immutable = await Peer.start(inject('immutablePort'))
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-zero-axes-'))
  }, 1_800_000)
  afterAll(async () => {
    for (const peer of [old, current, immutable]) await peer?.stop()
    await rm(folder, { recursive: true })
  })

  const names = (shape: readonly number[]): string[] => shape.map((_, axis) => `d${axis}`)
  const units = wireAttribute({ type: 'string', value: 'K' })
  /** Returns an array of a file as a crate describes it. */
  async function seenBy(peer: Peer, file: string): Promise<Pick<PeerArray, 'shape' | 'chunkShape' | 'values' | 'attributes'>> {
    await peer.do('open', { folder, file })
    const { arrays } = await peer.dump(['units'])
    const { shape, chunkShape, values, attributes } = arrays[0]!
    return { shape, chunkShape, values, attributes }
  }
  const expected = (shape: readonly number[], chunkShape: readonly number[], data: Int32Array, attributes = {}): object => ({
    shape,
    chunkShape,
    values: { ok: wireData('int32', data) },
    attributes,
  })
  const ones = (chunkShape: readonly number[]): number[] => chunkShape.map((chunk) => Math.max(1, chunk))

  test('that 0.14 writes are read here, grow here by append, and are read by 0.14 and 0.12 again', {
    timeout: 600_000,
  }, async () => {
    let number = 0
    await fc.assert(
      fc.asyncProperty(wanted, async (array) => {
        const { shape, chunkShape } = array
        const file = `theirs-${number++}.af`
        await current!.do('create', { folder, file })
        const options = { dtype: 'int32', shape, chunkShape, dimensionNames: names(shape), fillValue: null }
        await current!.do('define', { name: 'x', ...options })
        await current!.do('attribute', { name: 'x', key: 'units', value: units })
        // Writing an empty region writes nothing.
        await current!.do('write', { name: 'x', dtype: 'int32', start: shape.map(() => 0), shape, data: '' })
        await current!.do('flush')
        const ours = await open(join(folder, file))
        const x = ours.array('x', 'int32')
        expect([x.shape, x.chunks.chunkShape, x.attrs.get('units')]).toEqual([shape, ones(chunkShape), 'K'])
        expect(await x.sum()).toBe(0)
        const added = [array.added, ...shape.slice(1)]
        await x.append(0, { shape: added, data: numbersOf(added) })
        await ours.flush()
        await ours.close()
        const all = grown(array)
        const seen = expected(all, ones(chunkShape), numbersOf(all), { units })
        expect(await seenBy(current!, file), '0.14').toEqual(seen)
        expect(await seenBy(old!, file), '0.12').toEqual(seen)
        // Compacted by the crate, and read here.
        await current!.do('open', { folder, file })
        await current!.do('compact')
        await using compacted = await open(join(folder, file))
        const again = compacted.array('x', 'int32')
        expect([again.shape, again.chunks.chunkShape, again.attrs.get('units')]).toEqual([all, ones(chunkShape), 'K'])
        expect(((await again.get()) as { data: Int32Array }).data).toEqual(numbersOf(all))
      }),
      { numRuns: byBudget({ quick: 15, full: 60, soak: 600 }), seed: SEED },
    )
  })

  test('that this package writes, and copies through version 6, are read by 0.14, 0.12 and 0.15', {
    timeout: 600_000,
  }, async () => {
    let number = 0
    await fc.assert(
      fc.asyncProperty(wanted, async (array) => {
        const { shape, chunkShape } = array
        const file = `ours-${number++}.af`
        const ours = await create(join(folder, file))
        const x = ours.createArray('x', { dtype: 'int32', shape, chunks: chunkShape, dimensionNames: names(shape) })
        x.attrs.set('units', 'K')
        await ours.flush()
        const before = expected(shape, ones(chunkShape), new Int32Array(0), { units })
        expect(await seenBy(current!, file), '0.14').toEqual(before)
        expect(await seenBy(old!, file), '0.12').toEqual(before)
        const [sealed, back] = [`sealed-${file}`, `back-${file}`]
        await writeImmutable(ours, join(folder, sealed))
        await immutable!.do('open', { folder, file: sealed })
        expect(await immutable!.do('dump')).toMatchObject([
          { name: 'x', shape, chunkShape: ones(chunkShape), values: { ok: '' }, attributes: [['units', units]] },
        ])
        await importContainer(join(folder, sealed), join(folder, back))
        expect(await seenBy(current!, back), '0.14, copied back').toEqual(before)
        const copy = await open(join(folder, back))
        const added = [array.added, ...shape.slice(1)]
        await copy.array('x', 'int32').append(0, { shape: added, data: numbersOf(added) })
        await copy.flush()
        const all = grown(array)
        const after = expected(all, ones(chunkShape), numbersOf(all), { units })
        expect(await seenBy(current!, back), '0.14, appended').toEqual(after)
        expect(await seenBy(old!, back), '0.12, appended').toEqual(after)
        await copy.compact()
        await copy.close()
        await ours.close()
        expect(await seenBy(current!, back), '0.14, compacted').toEqual(after)
      }),
      { numRuns: byBudget({ quick: 15, full: 60, soak: 600 }), seed: SEED },
    )
  })

  test('that 0.12 has stored with chunks of length 0 grow here, and are read by 0.14 and 0.12', {
    timeout: 600_000,
  }, async () => {
    const file = 'old.af'
    await old!.do('create', { folder, file })
    const options = { dtype: 'int32', shape: [0, 2], chunkShape: [0, 2], dimensionNames: ['t', 'x'], fillValue: null }
    await old!.do('define', { name: 'x', ...options })
    await old!.do('flush')
    const ours = await open(join(folder, file))
    await ours.array('x', 'int32').append(0, { shape: [2, 2], data: Int32Array.of(1, 2, 3, 4) })
    await ours.flush()
    await ours.close()
    for (const peer of [current!, old!])
      expect(await seenBy(peer, file)).toEqual(expected([2, 2], [1, 2], Int32Array.of(1, 2, 3, 4)))
  })
})
