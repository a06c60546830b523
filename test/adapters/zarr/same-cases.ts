import { resolve } from 'node:path'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import { type FixedDType, fromBytes } from '../../../src/core/dtype.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import type { Plain } from '../../support/oracle.ts'
import { expectSameReads } from '../../support/same-reads.ts'
import { dtypeOf, type Matrix, type MatrixCase } from './matrix.ts'

/** Selections of each array. */
const SELECTIONS = 5

/** An array as the library that has written it reads it. */
export function plainOf(matrix: Pick<Matrix, 'elementsOf'>, one: MatrixCase): Plain {
  const [dtype, elements] = [dtypeOf(one.name), matrix.elementsOf(one)]
  const data = elements instanceof Uint8Array ? fromBytes(dtype as FixedDType, elements) : elements
  return { dtype, shape: one.shape, data: data as Plain['data'] }
}

/** Fails unless an array reads here as the library that has written it says, by `expectSameReads`. */
export async function expectSameCase(
  matrix: Pick<Matrix, 'folder' | 'elementsOf'>,
  one: MatrixCase,
  seed: number,
): Promise<void> {
  const { field = '', elements: _, ...facts } = one
  await using node = await openZarr(resolve(matrix.folder, one.path), { kind: field === '' ? 'array' : 'group' })
  const array = node.kind === 'array' ? node : await node.array(field)
  const name = JSON.stringify(facts)
  await expectSameReads(array as unknown as DiskArray, plainOf(matrix, one), { count: SELECTIONS, seed, name })
}
