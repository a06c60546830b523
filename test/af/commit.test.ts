import { expect, it } from 'vitest'
import { define } from '../../src/af/format/definition.ts'
import { DEFAULT_LIMITS } from '../../src/af/format/limits.ts'
import { ArrayState } from '../../src/af/layers/array-state.ts'
import { Dictionary } from '../../src/af/layers/dictionary.ts'
import { loadChunkStats } from '../../src/af/layers/load-stats.ts'
import { publishLayer } from '../../src/af/write/commit.ts'
import { BlockPacker } from '../../src/af/write/packer.ts'
import { measuredChunk } from '../../src/af/write/resize.ts'
import { Codecs } from '../../src/codec/registry.ts'
import { MemoryStore } from '../../src/store/memory.ts'

it('looks at each array a bounded number of times, and finds its statistics behind deleted arrays', async () => {
  const count = 300
  const store = new MemoryStore()
  const openStage = async () => store.stage()
  const packer = new BlockPacker({ file: 'x.af', codecs: new Codecs(), codec: 'none', targetBytes: 2 ** 20, openStage })
  let looks = 0
  const arrays = []
  for (let i = 0; i < count; i++) {
    const definition = define(`a${i}`, { dtype: 'int32', shape: [2] })
    const name = (): string => {
      looks++
      return definition.name
    }
    const watched = Object.defineProperty({ ...definition }, 'name', { get: name })
    const state = new ArrayState(watched)
    const chunk = measuredChunk(0, () => state)
    await packer.put(chunk, new Uint8Array(Int32Array.of(i, 2 * i).buffer))
    arrays.push({ state, chunks: new Map([[0, chunk]]) })
  }
  const deleted = [define('gone', { dtype: 'int32', shape: [2] }), define('a1', { dtype: 'int8', shape: [] })]
  const identity = { id: 'x', kind: 'base' } as const
  const contents = { number: 0, base: 'x.af', arrays, deleted, dictionary: new Dictionary(), identity }
  const settings = { condition: { ifAbsent: true }, extensionBlocks: true, limits: DEFAULT_LIMITS }
  const layer = await publishLayer(store, 'x.af', contents, packer, settings)
  expect(looks).toBeLessThanOrEqual(4 * count)
  const tables = await loadChunkStats(layer)
  expect(tables.size).toBe(count)
  // One that is deleted begins anew in this layer, behind its tombstone.
  expect(layer.identity.redefined).toEqual([3])
  expect(layer.footer.arrays[0]).toMatchObject({ name: 'gone', deleted: true })
  layer.footer.arrays.slice(2).forEach((meta, i) => {
    expect([meta.name, tables.get(meta)?.mins[0], tables.get(meta)?.maxs[0]]).toEqual([`a${i}`, i, 2 * i])
  })
})
