import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Hierarchy } from '../../../src/adapters/zarr/hierarchy.ts'
import { isFixed, isNumeric } from '../../../src/core/dtype.ts'
import { createPool } from '../../../src/pool/pool.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { dtypeOf, readerOf, scalarOf, writeMatrix } from './matrix.ts'
import { expectSameCase, plainOf } from './same-cases.ts'

/** More cases and another seed, for long runs. */
const COUNT = byBudget({ quick: 60, full: 60, soak: 1000 })
const SEED = seedOf('matrix', 20261122)

/**
 * Values of unwritten elements without a fill value, by the first letter of their type. Other types have
 * zeros and empty texts.
 */
const UNWRITTEN: Readonly<Record<string, unknown>> = { M: -(2n ** 63n), m: -(2n ** 63n), V: new Uint8Array(3) }

const matrix = writeMatrix(COUNT, SEED)
afterAll(() => matrix?.remove(), 60_000)

test.skipIf(matrix === undefined)('metadata that zarr-python writes say here what they say there', async () => {
  expect(matrix!.cases.length).toBe(COUNT)
  for (const one of matrix!.cases) {
    const node = await new Hierarchy(readerOf(join(matrix!.folder, one.path)), { file: one.path }).node('')
    if (node?.kind !== 'array') throw new Error(`${one.path} is no array`)
    const { metadata } = node
    const dtype = dtypeOf(one.name)
    const [coords, key] = one.sample!
    expect({ ...one, ...metadata, codecs: metadata.codecs.map(({ name }) => name) }).toMatchObject({
      version: one.version,
      shape: one.shape,
      chunks: one.shards ?? one.chunks,
      type: { dtype },
      codecs: expect.arrayContaining(one.codecs.map((name) => name.replace('numcodecs.', ''))),
      fillValue: scalarOf(one.fill!, dtype) ?? UNWRITTEN[one.name[0]!],
    })
    expect(metadata.chunkKey(coords)).toBe(key)
    expect(metadata.attrs['_ARRAY_DIMENSIONS'] ?? metadata.dimensionNames).toEqual(metadata.dimensionNames)
  }
})

test.skipIf(matrix === undefined)('arrays that zarr-python writes read the same here', { timeout: 600_000 }, async () => {
  for (const one of matrix!.cases) await expectSameCase(matrix!, one, SEED)
})

test.skipIf(matrix === undefined)('workers decode what they are sent as this thread does', { timeout: 600_000 }, async () => {
  await using pool = createPool({ size: 2 })
  let decoded = 0
  for (const one of matrix!.cases) {
    const plain = plainOf(matrix!, one)
    if (!isFixed(plain.dtype) || one.shape.includes(0)) continue
    await using array = await openZarr(join(matrix!.folder, one.path), { kind: 'array', pool })
    expect((await array.toTensor()).data, JSON.stringify(one)).toEqual(plain.data)
    const sum = isNumeric(plain.dtype) ? await array.max({ skipMissing: false }) : undefined
    const alone = sum === undefined ? undefined : await (await openZarr(join(matrix!.folder, one.path), { kind: 'array' })).max({ skipMissing: false }) // biome-ignore format: one line
    expect(sum, JSON.stringify(one)).toEqual(alone)
    decoded++
  }
  expect([decoded > COUNT / 2, pool.inlineReason]).toEqual([true, undefined])
})
