import { beforeEach, expect, test } from 'vitest'
import { create, MemoryStore, open } from '../../src/runtime/index.ts'

let place: { store: MemoryStore; path: string }
beforeEach(async () => {
  place = { store: new MemoryStore(), path: 'x.af' }
  await using file = await create(place)
  await file.createArray('tas', { dtype: 'float32', shape: [2, 3] }).set(null, 7)
  await file.flush()
})

test('arrays are what is said when the file is opened', async () => {
  await using file = await open(place, { arrays: { tas: ['float32', 2] } })
  expect(file.array('tas').rank).toBe(2)
  expect((await file.array('tas').get([0, 1])) + 1).toBe(8)
  expect((await file.array('tas').get([0])).shape).toEqual([3])
})

test.each<[object, string, string]>([
  [{ tas: ['float64', 2] }, 'InvalidArgumentError', 'the array is float32 of 2 axes, not float64 of 2 axes'],
  [{ tas: ['float32', 3] }, 'InvalidArgumentError', 'the array is float32 of 2 axes, not float32 of 3 axes'],
  [{ pr: ['float32', 2] }, 'UnknownArrayError', "array 'pr'"],
  [{ tas: 'float32' }, 'InvalidArgumentError', 'arrays.tas must be a list'],
  [{ tas: ['float32'] }, 'InvalidArgumentError', 'the rank of tas must be a number from 0, got undefined'],
  [{ tas: ['flaot32', 2] }, 'InvalidArgumentError', 'the type of tas cannot be "flaot32"; did you mean \'float32\'?'],
])('%j is refused', async (arrays, tag, message) => {
  let closed = 0
  const store = Object.assign(place.store, { close: async () => void closed++ })
  await expect(open({ store, path: 'x.af' }, { arrays: arrays as never })).rejects.toMatchObject({
    tag,
    message: expect.stringContaining(message),
  })
  expect(closed).toBe(1)
})

test('what was said holds after others have changed it', async () => {
  await using file = await open(place, { arrays: { tas: ['float32', 2] } })
  await using other = await open(place)
  other.delete('tas')
  await other.flush()
  other.createArray('tas', { dtype: 'int8', shape: [4] })
  await other.flush()
  await file.refresh()
  expect(() => file.array('tas')).toThrow('the array is int8 of 1 axes, not float32 of 2 axes')
})

test('type and rank of an array are checked where they are given', async () => {
  await using file = await open(place)
  expect(file.array('tas', 'float32', 2).rank).toBe(2)
  expect(() => file.array('tas', 'float32', 1)).toThrow('the array is float32 of 2 axes, not float32 of 1 axes')
  expect(() => file.array('tas', 'int8')).toThrow('the array is float32 of 2 axes, not int8 of any number of axes')
  const array = file.array('tas')
  expect([array.is('float32'), array.is('float32', 2), array.is('float32', 3), array.is('int8', 2)]).toEqual([
    true,
    true,
    false,
    false,
  ])
})
