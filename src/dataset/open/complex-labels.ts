import { DiskArray } from '../../array/disk-array.ts'
import { inMemory } from '../../array/lazy/generate.ts'
import { COMPLEX_AXIS } from '../../core/complex.ts'
import { tensorOf } from '../../core/tensor.ts'
import type { RawVariable } from '../cf/decode.ts'

/** Labels of the parts. */
const LABELS = ['real', 'imag']

/**
 * Labels the parts of complex numbers, unless the group has a variable `complex` or another length along this
 * dimension.
 * @param variables of the group; the labels are added to them
 */
export function labelParts(variables: RawVariable[]): void {
  const isOther = ({ name, array, dims }: RawVariable): boolean =>
    name === COMPLEX_AXIS || dims.some((dim, axis) => dim === COMPLEX_AXIS && array.shape[axis] !== LABELS.length)
  if (variables.some(isOther)) return
  const array = new DiskArray(inMemory(tensorOf('string', [LABELS.length], LABELS)))
  variables.push({ name: COMPLEX_AXIS, array: array as DiskArray as RawVariable['array'], dims: [COMPLEX_AXIS] })
}
