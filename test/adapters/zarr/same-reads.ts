import { resolve } from 'node:path'
import fc from 'fast-check'
import { expect } from 'vitest'
import { type FixedDType, fromBytes } from '../../../src/core/dtype.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import { anySelections } from '../../support/arbitraries.ts'
import { type Plain, plainGet } from '../../support/oracle.ts'
import { dtypeOf, type Matrix, type MatrixCase } from './matrix.ts'

/** Selections of each array. */
const SELECTIONS = 5

/** An array as the library that has written it reads it. */
export function plainOf(matrix: Pick<Matrix, 'elementsOf'>, one: MatrixCase): Plain {
  const [dtype, elements] = [dtypeOf(one.name), matrix.elementsOf(one)]
  const data = elements instanceof Uint8Array ? fromBytes(dtype as FixedDType, elements) : elements
  return { dtype, shape: one.shape, data: data as Plain['data'] }
}

/**
 * Fails unless an array reads here as the library that has written it says: all of it, and random selections.
 */
export async function expectSameReads(
  matrix: Pick<Matrix, 'folder' | 'elementsOf'>,
  one: MatrixCase,
  seed: number,
): Promise<void> {
  const { field = '' } = one
  await using node = await openZarr(resolve(matrix.folder, one.path), { kind: field === '' ? 'array' : 'group' })
  const array = node.kind === 'array' ? node : await node.array(field)
  const plain = plainOf(matrix, one)
  const { elements: _, ...facts } = one
  const name = JSON.stringify(facts)
  expect(array.shape, name).toEqual(one.shape)
  expect((await array.toTensor()).data, name).toEqual(plain.data)
  if (array.chunks.count === 0) return
  for (const selection of fc.sample(anySelections(array.chunks), { numRuns: SELECTIONS, seed })) {
    const [got, wanted] = [await array.get(selection), plainGet(plain, selection, array.chunks)]
    // A scalar of a bool is a boolean.
    const found =
      typeof got === 'object' && 'shape' in got ? got : { shape: [], data: [typeof got === 'boolean' ? Number(got) : got] }
    const message = `${JSON.stringify(selection, (_, part) => (typeof part === 'bigint' ? `${part}n` : part))} of ${name}`
    expect(found.shape, message).toEqual(wanted.shape)
    expect(Array.from(found.data as never), message).toEqual(Array.from(wanted.data as never))
  }
}
