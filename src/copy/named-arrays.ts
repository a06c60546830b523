import type { PlainAttribute, TypedAttribute } from '../af/layers/attributes.ts'
import { DiskArray } from '../array/disk-array.ts'
import { missingAs } from '../array/lazy/replace-missing.ts'
import { type Element, isAnyMissing, missingElements } from '../array/missing.ts'
import type { NamedValues } from '../array/source.ts'
import { type ScalarOf, toElement } from '../core/dtype.ts'
import { invalidArgument } from '../core/errors.ts'
import { type Checks, checkOptions, checkValue } from '../core/options.ts'
import { type ImportSource, type SourceArray, type TypedAttributes, toImport } from './import-arrays.ts'

/**
 * Values of attributes by name, with types if these matter:
 * `{ units: 'K', scale: { type: 'float32', value: 2 } }`.
 */
export type AttributeValues = Readonly<
  Record<string, PlainAttribute | TypedAttribute | readonly (number | bigint | string | boolean)[]>
>

/** An array to be written. Each option replaces a property of the array itself. */
export interface ImmutableArray {
  /** Source of the elements. */
  readonly array: DiskArray
  /** Shape of its chunks. */
  readonly chunks?: readonly number[]
  /** One name for each axis. */
  readonly dimensionNames?: readonly string[]
  /** Value of missing elements. */
  readonly fillValue?: ScalarOf<DiskArray['dtype']>
  /** Attributes that replace those of the array. */
  readonly attributes?: AttributeValues
}

/** An array, optionally with options. */
export type GivenArray = DiskArray | ImmutableArray

const ARRAY_CHECKS: Checks<ImmutableArray> = {
  array: 'object',
  chunks: 'list',
  dimensionNames: 'list of strings',
  fillValue: 'value',
  attributes: 'plain object',
}

/**
 * Returns arrays by name as the source of a container.
 * @param call name of the function in messages
 * @param attributes of the container
 * @throws InvalidArgumentError, which names the array
 */
export function arraysSource(
  call: string,
  entries: readonly (readonly [string, GivenArray])[],
  attributes: TypedAttributes,
): ImportSource {
  const arrays = entries.map(([name, given]) => sourceArray(call, name, given))
  const dimensions = [...new Set(arrays.flatMap(({ dimensionNames }) => dimensionNames))]
  return { attributes, arrays, dimensions, warnings: [], async [Symbol.asyncDispose]() {} }
}

function sourceArray(call: string, name: string, given: GivenArray): SourceArray {
  checkValue(call, `the array '${name}'`, given, 'object')
  const wanted: ImmutableArray = given instanceof DiskArray ? { array: given } : given
  checkOptions(`${call}: '${name}'`, wanted, ARRAY_CHECKS)
  const { array, chunks, dimensionNames, fillValue, attributes } = wanted
  if (!(array instanceof DiskArray)) invalidArgument(`${call}: '${name}' is no array`, array)
  for (const [what, list] of Object.entries({ chunks, dimensionNames }))
    if (list !== undefined && list.length !== array.shape.length)
      invalidArgument(`${call}: '${name}': ${what} has ${list.length} entries for ${array.shape.length} axes`, list)
  const ofArray = attributes === undefined ? toTypedAttributes(array.attrs) : (Object.entries(attributes) as TypedAttributes)
  return {
    name,
    array: fillValue === undefined ? array : withMissing(array, fillValue),
    dimensionNames: dimensionNames ?? array.shape.map((_, axis) => array.dimensionNames?.[axis] ?? `dim_${axis}`),
    chunkShape: chunks ?? array.chunks.chunkShape,
    ...(fillValue !== undefined && { fill: toStoredElement(array, fillValue) }),
    attributes: () => ofArray,
  }
}

/** Attributes, with types in formats that have them. */
type MaybeTyped = NamedValues & { readonly typed?: (name: string) => unknown }

/**
 * Returns attributes with their types, if these are known. JSON values without an attribute type become text.
 */
export function toTypedAttributes(values: MaybeTyped | undefined): TypedAttributes {
  const plain = new Map(Array.from(values?.keys() ?? [], (name) => [name, values!.get(name)] as const))
  const kept = toImport({ attributes: plain, arrays: [] }).attributes
  return Array.from(kept, ([name, value]) => [name, (values!.typed?.(name) as typeof value | undefined) ?? value])
}

const toStoredElement = ({ dtype }: DiskArray, value: unknown): Element => toElement(dtype, value) as Element

/** Returns the same elements with another value for missing ones, if there may be any. */
const withMissing = (array: DiskArray, fillValue: unknown): DiskArray =>
  isAnyMissing(missingElements(array.source)) ? new DiskArray(missingAs(array.source, toStoredElement(array, fillValue))) : array
