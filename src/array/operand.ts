import { checkValue } from '../core/options.ts'
import type { BlockSource } from './source.ts'

/** An array that a caller passed to a method of another array. */
export interface ArrayOperand {
  readonly source: BlockSource
}

/**
 * Returns the source of an array that a caller passed.
 * @throws InvalidArgumentError for a value that is not an array
 */
export function sourceOf<S>(call: string, array: { readonly source: S }, name = 'array'): S {
  checkValue(call, name, array, 'DiskArray')
  return array.source
}
