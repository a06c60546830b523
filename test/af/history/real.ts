import { expect } from 'vitest'
import type { ArrayFile } from '../../../src/af/file.ts'
import type { FileOptions } from '../../../src/af/layers/file-options.ts'
import { type MemoryStore, open, type Tensor } from '../../../src/runtime/index.ts'
import type { Arrays, Model } from './model.ts'

/** Two handles on one container. */
export interface Real {
  readonly where: { store: MemoryStore; path: string }
  readonly files: ArrayFile[]
  readonly options: FileOptions[]
}

async function dataOf(file: ArrayFile, name: string): Promise<unknown[]> {
  const array = file.array(name)
  if (array.shape.length > 0) return [...((await array.get(array.shape.map(() => null) as [null])) as Tensor).data]
  const value: unknown = await array.get()
  return [typeof value === 'boolean' ? Number(value) : value]
}

/** Statistics of a handle that others have overtaken may be theirs: there is one file of them. */
export async function expectSees(file: ArrayFile, arrays: Arrays, stale = false): Promise<void> {
  expect(file.arrays().sort()).toEqual([...arrays.keys()].sort())
  for (const [name, { data, shape, dtype, attributes }] of arrays) {
    expect([file.array(name).shape, file.array(name).dtype]).toEqual([shape, dtype])
    expect(await dataOf(file, name), name).toEqual([...data])
    expect(new Map(file.array(name).attrs)).toEqual(attributes)
    if (!stale) expect(await file.stats(name)).toMatchObject({ rowCount: data.length })
  }
}

/** Every layer there is shows what was flushed with it. */
export async function expectPast({ past }: Model, { where, options }: Real): Promise<void> {
  for (const [layer, arrays] of past) {
    await using file = await open(where, { ...options[layer % options.length], layer })
    expect(file.layers().at(-1)!.number).toBe(layer)
    await expectSees(file, arrays)
  }
}
