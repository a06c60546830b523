import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DType } from '../../src/core/dtype.ts'
import { local, nodeCounts, planJob } from '../../src/runtime/cluster.ts'
import { create } from '../../src/runtime/index.ts'
import { havePeer, Peer } from './peer.ts'
import { wireAttribute, wireData } from './wire.ts'

describe.skipIf(!havePeer)('a container that was packed in parts, read by the Rust crate', () => {
  let peer: Peer
  let folder: string
  beforeAll(async () => {
    peer = await Peer.start()
    folder = await mkdtemp(join(tmpdir(), 'hyperslab-interop-'))
  }, 1_800_000)
  afterAll(async () => {
    await peer?.stop()
    await rm(folder, { recursive: true })
  })

  test.each(['lz4', 'zstd', 'none'])('%s', async (codec) => {
    const location = join(folder, 'source.af')
    const arrays = {
      floats: { dtype: 'float32', data: Float32Array.from({ length: 35 * 12 }, (_, i) => Math.sin(i)), fillValue: -9 },
      longs: { dtype: 'int64', data: BigInt64Array.from({ length: 35 * 12 }, (_, i) => BigInt(i) ** 5n), fillValue: 0n },
      words: { dtype: 'string', data: Array.from({ length: 35 * 12 }, (_, i) => `${i}`.repeat(i % 9)), fillValue: '' },
    } as const
    const file = await create(location, { overwrite: true })
    for (const [name, { dtype, data, fillValue }] of Object.entries(arrays)) {
      const array = file.createArray(name, {
        dtype,
        shape: [35, 12],
        chunks: [5, 12],
        dimensionNames: ['y', 'x'],
        fillValue,
      } as never)
      array.attrs.set('units', 'K')
      await array.set(null, data as never)
    }
    await file.flush()
    await file.close()
    const target = `parts-${codec}.af`
    const source = { arrays: Object.fromEntries(Object.keys(arrays).map((array) => [array, { location, array }])) }
    const options = { codec, chunks: { y: 4, x: 5 }, blockBytes: 300 }
    const plan = await planJob({ method: 'copy', source, target: join(folder, target), options }, { taskBytes: 700 })
    expect(nodeCounts(plan)[0]).toBeGreaterThan(6)
    await local().run(plan)
    await peer.do('open', { folder, file: target })
    const dump = await peer.dump(['units'])
    expect(dump.layers).toBe(1)
    expect(dump.arrays).toMatchObject(
      Object.entries(arrays).map(([name, { dtype, data }]) => ({
        name,
        dtype,
        shape: [35, 12],
        chunkShape: [4, 5],
        dimensionNames: ['y', 'x'],
        values: { ok: wireData<DType>(dtype, data as never) },
        attributes: { units: wireAttribute({ type: 'string', value: 'K' }) },
      })),
    )
  })
})
