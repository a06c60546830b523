import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HyperslabError } from '../../../src/core/errors.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { FORMATS, listOf, walkFile } from './support.ts'

const USER_BLOCK_BYTES = 2 ** 21

/** A store whose reads fail while `fails` is set. */
class FailingStore extends MemoryStore {
  fails = false

  override async getRange(...args: Parameters<MemoryStore['getRange']>): ReturnType<MemoryStore['getRange']> {
    if (this.fails) throw new HyperslabError('StoreError', 'the connection was lost')
    return super.getRange(...args)
  }
}

test('a file whose root is an array without fields is refused', async () => {
  const bytes = new Uint8Array(readFileSync(join(FORMATS, 'hdf5/test_file.hdf5')))
  await using whole = await openHdf5(bytes)
  const [array] = (await walkFile(whole)).arrays.values()
  const moved = bytes.slice()
  // The address of the root, in the entry at the end of superblock 0.
  new DataView(moved.buffer).setBigUint64(64, BigInt(array!.index.dataset.header.address), true)
  await using root = await openHdf5(moved)
  await expect(root.arrays()).rejects.toMatchObject({ tag: 'FormatError', message: expect.stringContaining('is an array') })
})

test.each(['made_index_latest.h5', 'made_index_v110.h5', 'made_index_v18.h5'])(
  'a failed read of a chunk index of %s is not kept',
  async (name) => {
    const bytes = new Uint8Array(readFileSync(join(FORMATS, 'hdf5', name)))
    const store = new FailingStore()
    // Behind a large block of the user, no metadata are in the first bytes, which are read at once.
    const moved = new Uint8Array(USER_BLOCK_BYTES + bytes.length)
    moved.set(bytes, USER_BLOCK_BYTES)
    await store.put('x.h5', moved)
    await store.put('y.h5', bytes)
    await using root = await openHdf5({ store, path: 'x.h5' })
    await using whole = await openHdf5({ store, path: 'y.h5' })
    const [{ arrays }, expected] = [await walkFile(root), (await walkFile(whole)).arrays]
    let failed = 0
    for (const [path, array] of arrays) {
      if (array.size > 100_000) continue
      store.fails = true
      await array.toTensor().catch((error: HyperslabError) => {
        expect(error.tag, path).toBe('StoreError')
        failed++
      })
      store.fails = false
      const got = listOf(array.dtype, await array.toTensor())
      expect(Array.from(got), path).toEqual(Array.from(listOf(array.dtype, await expected.get(path)!.toTensor())))
    }
    expect(failed).toBeGreaterThan(0)
  },
)
