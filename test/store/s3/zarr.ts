import { expect, test } from 'vitest'
import { slice } from '../../../src/grid/slice.ts'
import { createZarr, openZarr } from '../../../src/runtime/zarr.ts'
import type { Bucket } from './support.ts'

/** Zarr stores in a bucket. */
export function zarrStores(given: () => Bucket): void {
  test('several who write to the same shards lose nothing', { timeout: 60_000 }, async () => {
    const path = `${given().folder()}a.zarr`
    const place = () => ({ store: given().store(), path })
    const group = await createZarr(place())
    await group.createArray('x', { dtype: 'int32', shape: [48, 8], chunks: [4, 4], shards: [24, 8] })
    const writers = Array.from({ length: 4 }, async (_, who) => {
      const array = await (await openZarr(place(), { kind: 'group', mode: 'r+' })).array('x')
      for (let i = who; i < 48; i += 4) await array.set([i, slice(0, 8)], i)
    })
    await Promise.all(writers)
    const read = await (await openZarr(place(), { kind: 'group' })).array('x', 'int32')
    expect((await read.toTensor()).data).toEqual(Int32Array.from({ length: 384 }, (_, i) => i >> 3))
  })

  test('arrays grow, shrink and go with all their objects', { timeout: 60_000 }, async () => {
    const path = `${given().folder()}a.zarr`
    const store = given().store()
    const group = await createZarr({ store, path })
    const x = await group.createArray('sub/x', { dtype: 'int16', shape: [0, 4], chunks: [2, 3], fillValue: -1 })
    await x.append(0, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    await x.resize([1, 4])
    await x.resize([3, 5])
    const wanted = [1, 2, 3, 4, -1, ...new Array(10).fill(-1)]
    expect([...(await x.toTensor()).data]).toEqual(wanted)
    await group.consolidate()
    const read = await openZarr({ store: given().store(), path }, { kind: 'group' })
    expect([...(await (await read.array('sub/x')).toTensor()).data]).toEqual(wanted)
    await x.fill(-1)
    expect(await x.sum({ skipMissing: false })).toBe(-15)
    // Ceph removes nothing on condition: what was read before, chunks at the ends, stays as chunks of fill.
    const chunks = (await store.list!(`${path}/sub/x/c/`)).map((key) => key.slice(-3)).sort()
    expect(chunks).toEqual(['0/1', '1/0', '1/1'])
    await group.delete('sub')
    expect(await store.list!(path)).toEqual([`${path}/zarr.json`])
  })
}
