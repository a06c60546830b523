import { expect, test } from 'vitest'
import { ArrayFile } from '../../../src/af/file.ts'
import type { RequestLog } from '../../../src/store/requester.ts'
import type { Bucket } from './support.ts'

export function containers(given: () => Bucket): void {
  const logged = () => {
    const log: string[] = []
    const onRequest = ({ method, url, status }: RequestLog) => log.push(`${method} ${url.replace(/^.*\//, '')} ${status}`)
    return { store: given().store({ onRequest }), log }
  }

  test('created, flushed, opened, compacted: and the requests for each', async () => {
    const { store, log } = logged()
    const taken = () => log.splice(0).map((line) => line.replace(/[0-9a-f]{24}/, '…'))
    const path = `${given().folder()}x.af`
    const file = await ArrayFile.create(store, path)
    // Checks that the place is empty; probes conditional replaces, removes (which Ceph ignores) and creates;
    // writes the base.
    const created = taken()
    const opening = created.splice(-3)
    expect(created).toEqual([
      'GET x.stats 404', 'GET x. 200', 'HEAD x.af 404',
      'PUT x.af.….tmp 200', 'PUT x.af.….tmp 412', 'HEAD x.af.….tmp 200', 'PUT x.af.….tmp 200', 'PUT x.af.….tmp 412', 'HEAD x.af.….tmp 200',
      'PUT x.af.….tmp 200', 'DELETE x.af.….tmp 204', 'DELETE x.af.….tmp 204',
      'PUT x.af.….tmp 200', 'PUT x.af.….tmp 412', 'DELETE x.af.….tmp 204',
      'PUT x.af 200',
    ]) // biome-ignore format: steps
    // Opens it: the listing and the base are requested at once.
    expect(opening.sort()).toEqual(['GET x. 200', 'GET x.af 206', 'HEAD x.af 200'])

    const x = file.createArray('x', { dtype: 'float64', shape: [40, 50], chunks: [10, 50] })
    await x.set(
      [],
      Float64Array.from({ length: 2000 }, (_, i) => i),
    )
    await file.flush()
    // The base is the one that was read; statistics are taken away before and written after; then whether
    // another writer has overtaken this one. The first flush replaces the base.
    expect(taken()).toEqual([
      'HEAD x.af 200', 'GET x.stats 404', 'DELETE x.stats 204', 'PUT x.af 200', 'PUT x.stats 200', 'HEAD x.1.af 404', 'HEAD x.af 200',
    ]) // biome-ignore format: one line
    await x.set([3, 4], -1)
    await file.flush()
    // A part of a chunk is written over: it is read. Whether the base is still the same is asked once more
    // when the layer is there, before the flush is acknowledged.
    expect(taken()).toEqual([
      'GET x.af 206', 'HEAD x.af 200', 'DELETE x.stats 204', 'PUT x.1.af 200', 'HEAD x.af 200', 'PUT x.stats 200', 'HEAD x.2.af 404', 'HEAD x.af 200',
    ]) // biome-ignore format: one line
    await file.close()
    taken()

    const opened = await ArrayFile.open(store, path)
    expect(opened.layers().length).toBe(2)
    // The listing and the base, the layers, and whether the base is still there.
    expect(taken().sort()).toEqual(['GET x. 200', 'GET x.1.af 206', 'GET x.af 206', 'HEAD x.af 200'])
    expect(await opened.array('x', 'float64').get([3, 4])).toBe(-1)
    expect(await opened.array('x', 'float64').get([39, 49])).toBe(1999)
    expect(taken()).toEqual(['GET x.1.af 206', 'GET x.af 206'])

    const other = await ArrayFile.open(store, path)
    await other.array('x').set([0, 0], 7)
    await other.flush()
    taken()
    // Known layers are not read again: the listing, the new one, whether the newest and then the base are the
    // same still.
    await opened.refresh()
    expect(taken()).toEqual(['GET x. 200', 'GET x.2.af 206', 'HEAD x.1.af 200', 'HEAD x.af 200'])
    expect(await opened.array('x', 'float64').get([0, 0])).toBe(7)

    await opened.compact()
    await opened.close()
    await other.close()
    taken()
    const compacted = await ArrayFile.open(store, path)
    // Dead layers stay as void ones where the server removes nothing on condition.
    expect(taken().sort()).toEqual(['GET x. 200', 'GET x.1.af 206', 'GET x.2.af 206', 'GET x.3.af 206', 'GET x.af 206', 'HEAD x.af 200']) // biome-ignore format: one line
    expect(compacted.layers().length).toBe(1)
    const expected = Float64Array.from({ length: 2000 }, (_, i) => (i === 0 ? 7 : i === 154 ? -1 : i))
    expect((await compacted.array('x', 'float64').get()).data).toEqual(expected)
    expect(await compacted.stats('x')).toMatchObject({ min: -1, max: 1999 })
    await compacted.close()
    const left = (await store.list(path.slice(0, -2))).map((key) => key.replace(/^.*\//, ''))
    expect(left.sort()).toEqual(['x.1.af', 'x.2.af', 'x.3.af', 'x.af', 'x.stats'])
  })

  test('a base that was compacted to the same contents has another ETag, and does not hide what came after', async () => {
    const { store } = logged()
    const path = `${given().folder()}x.af`
    const writer = await ArrayFile.create(store, path)
    await writer.createArray('x', { dtype: 'uint8', shape: [2] }).set([], 1)
    await writer.compact()
    const base = (await store.stat(path))!
    await writer.array('x').set([], 1)
    await writer.flush()
    const reader = await ArrayFile.open(given().store(), path)
    await writer.compact()
    expect((await store.stat(path))!.etag).not.toBe(base.etag)
    await writer.array('x').set([1], 2)
    await writer.flush()
    await reader.refresh()
    expect((await reader.array('x', 'uint8').get()).data).toEqual(Uint8Array.of(1, 2))
    for (const file of [writer, reader]) await file.close()
  })

  test('where nothing may be listed sidecars are asked for one by one', async () => {
    const headers = { 'x-amz-acl': 'public-read' }
    const writing = given().store({ bucket: 'public', headers })
    const path = `${given().folder()}x.af`
    const file = await ArrayFile.create(writing, path)
    const x = file.createArray('x', { dtype: 'uint8', shape: [1] })
    for (const value of [4, 5]) {
      await x.set([], value)
      await file.flush()
    }
    await file.close()
    const log: string[] = []
    const onRequest = ({ method, status }: RequestLog) => log.push(`${method} ${status}`)
    const opened = await ArrayFile.open(
      given().store({ bucket: 'public', credentials: undefined as never, listing: false, onRequest }),
      path,
    )
    expect(await opened.array('x').get([0])).toBe(5)
    // The base and layer 1, no layer 2, whether the base is still there, the block.
    expect(log).toEqual(['GET 206', 'GET 206', 'GET 404', 'HEAD 200', 'GET 206'])
  })
}
