import { DiskArray } from '../../array/disk-array.ts'
import { inMemory } from '../../array/lazy/generate.ts'
import { tensorOf } from '../../core/tensor.ts'
import type { RawVariable } from '../cf/decode.ts'

/** Name of the axis of complex numbers, and the labels of its elements. */
const AXIS = 'complex'
const LABELS = ['real', 'imag']

/**
 * Labels the parts of complex numbers, unless the group has a variable `complex` or another length along this
 * dimension.
 * @param variables of the group; the labels are added to them
 */
export function labelParts(variables: RawVariable[]): void {
  const isOther = ({ name, array, dims }: RawVariable): boolean =>
    name === AXIS || dims.some((dim, axis) => dim === AXIS && array.shape[axis] !== LABELS.length)
  if (variables.some(isOther)) return
  const array = new DiskArray(inMemory(tensorOf('string', [LABELS.length], LABELS)))
  variables.push({ name: AXIS, array: array as DiskArray as RawVariable['array'], dims: [AXIS] })
}
