import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { ArrayNode, GroupNode } from '../../../src/array/nodes.ts'
import { nodesBelow } from '../../../src/array/walk.ts'
import { isFixed, isNumeric } from '../../../src/core/dtype.ts'
import { createPool } from '../../../src/pool/pool.ts'
import { openTree } from '../../../src/runtime/index.ts'
import { openZarr, verifyZarr } from '../../../src/runtime/zarr.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { writeMatrix } from './matrix.ts'
import { expectSameCase, plainOf } from './same-cases.ts'

/** Arrays that zarr-python writes: more, and from another seed, in long runs. */
const COUNT = byBudget({ quick: 40, full: 200, soak: 1000 })
const SEED = seedOf('complex numbers and structures', 20261126)

const matrix = writeMatrix(COUNT, SEED, 'typed.py')
afterAll(() => matrix?.remove(), 60_000)

test.skipIf(matrix === undefined)('reads complex numbers and fields as zarr-python does', { timeout: 600_000 }, async () => {
  expect(new Set(matrix!.cases.map(({ path }) => path)).size).toBe(COUNT)
  for (const one of matrix!.cases) await expectSameCase(matrix!, one, SEED)
})

test.skipIf(matrix === undefined)('decodes them in workers as on this thread', { timeout: 600_000 }, async () => {
  await using pool = createPool({ size: 2 })
  let decoded = 0
  for (const one of matrix!.cases) {
    const plain = plainOf(matrix!, one)
    if (!isFixed(plain.dtype) || one.shape.includes(0)) continue
    await using node = await openZarr(join(matrix!.folder, one.path), { pool })
    const array = node.kind === 'array' ? node : await node.array(one.field!)
    expect((await array.toTensor()).data, JSON.stringify(one)).toEqual(plain.data)
    if (isNumeric(plain.dtype)) await array.max({ skipMissing: false })
    decoded++
  }
  expect([decoded > COUNT / 2, pool.inlineReason]).toEqual([true, undefined])
})

test.skipIf(matrix === undefined)('finds all fields in the tree, and no damage', { timeout: 600_000 }, async () => {
  for (const path of new Set(matrix!.cases.map((one) => one.path))) {
    const cases = matrix!.cases.filter((one) => one.path === path)
    await using tree = await openTree(join(matrix!.folder, path))
    const { arrays, unreadable } = await nodesBelow<ArrayNode, GroupNode>(tree.root)
    expect([...unreadable]).toEqual([])
    expect(arrays.map((node) => node.path).sort()).toEqual(cases.map(({ field }) => field).sort())
    expect((await verifyZarr(join(matrix!.folder, path))).findings, path).toEqual([])
  }
})
