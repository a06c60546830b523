import { expect, test } from 'vitest'
import { Hdf5Attributes } from '../../src/adapters/hdf5/attributes.ts'
import { namedAttributes } from '../../src/adapters/zarr/named-attributes.ts'
import { describeAttributes } from '../../src/dataset/tree/description.ts'

test('attributes of HDF5 are described with their stored types, lists as lists', () => {
  const stored = {
    list: { type: 'int32[]', value: Int32Array.of(1, 2) },
    none: { type: 'float32[]', value: new Float32Array(0) },
    one: { type: 'int16', value: 3 },
    wide: { type: 'int64[]', value: BigInt64Array.of(2n ** 60n) },
    texts: { type: 'string[]', value: ['a', 'b'] },
  } as const
  const attributes = new Hdf5Attributes(new Map(Object.entries(stored)) as never)
  expect(Object.fromEntries(describeAttributes(attributes))).toEqual(stored)
})

test('attributes of JSON are described by their values', () => {
  const attributes = namedAttributes({ list: [1, 2], one: 3, nested: { a: [1] } })
  expect(describeAttributes(attributes).get('nested')).toEqual({ type: 'json', value: { a: [1] } })
  expect(describeAttributes(attributes).get('one')).toEqual({ type: 'float64', value: 3 })
})
