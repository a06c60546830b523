import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { create, open } from '../../src/runtime/index.ts'

const loads = vi.hoisted(() => ({ count: 0 }))
vi.mock('../../src/engine/read-directly.ts', (original) => {
  loads.count++
  return original()
})

test('the module that reads straight into the result loads with the first read of 64 KiB', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'direct-'))
  const path = join(folder, 'a.af')
  const shapes = { small: [8191], large: [8192] }
  const values = (length: number): Float64Array => Float64Array.from({ length }, (_, i) => Math.sqrt(i))
  const file = await create(path, { codec: 'none', blockBytes: 1 })
  for (const [name, shape] of Object.entries(shapes)) {
    const array = file.createArray(name, { dtype: 'float64', shape, chunks: shape })
    await array.set(null, values(shape[0]!))
  }
  await file.flush()
  await file.close()
  const again = await open(path)
  expect((await again.array('small').get()).data).toEqual(values(8191))
  expect(loads.count).toBe(0)
  expect((await again.array('large').get()).data).toEqual(values(8192))
  expect(loads.count).toBe(1)
  await again.close()
  await rm(folder, { recursive: true })
})
