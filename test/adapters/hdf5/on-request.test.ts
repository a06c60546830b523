import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { FORMATS } from './support.ts'

const TYPES = join(FORMATS, 'hdf5/made_types.h5')
const RAGGED = join(FORMATS, 'hdf5/made_groups_types.nc')

describe('types that are read on request', () => {
  test.each([
    ['ref', /pass `references: 'paths'` to openHdf5/],
    ['opaque', /pass `opaque: 'bytes'` to openHdf5/],
  ])('%s is refused by default, naming the option', async (name, message) => {
    await using file = await openHdf5(TYPES)
    expect(await file.arrays()).not.toContain(name)
    const error = (await file.unreadable()).get(name)!
    expect([error.tag, error.message]).toEqual(['UnsupportedError', expect.stringMatching(message)])
    expect(error.message).toContain('made_types.h5')
    await expect(file.array(name)).rejects.toMatchObject({ tag: 'UnsupportedError' })
  })

  test('references are paths, and opaque elements bytes', async () => {
    await using file = await openHdf5(TYPES, { references: 'paths', opaque: 'bytes' })
    const path = await (await file.array('ref')).get([])
    expect(await file.arrays()).toContain(String(path).replace('/', ''))
    const opaque = await file.array('opaque')
    expect((await opaque.values()).length).toBe(2)
    for (const each of (await opaque.values()) as Iterable<Uint8Array>) expect(each.length).toBe(2)
  })

  test.each(['numbers', '', null, 1])('the option `references: %j` is refused', async (references) => {
    await expect(openHdf5(TYPES, { references } as never)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})

describe('lists', () => {
  test('of an element have its numbers', async () => {
    await using file = await openHdf5(RAGGED)
    const ragged = await file.array('ragged')
    expect([ragged.dtype, ragged.shape, ragged.attrs.get('list_type')]).toEqual(['binary', [3], 'int32'])
    const lists = await Promise.all([0, 1, 2].map((at) => ragged.list([at])))
    expect(lists.every((list) => list instanceof Int32Array)).toBe(true)
    const bytes = (await ragged.values()) as readonly Uint8Array[]
    expect(lists.map((list) => list.byteLength)).toEqual([...bytes].map((each) => each.length))
    expect(await ragged.list([-1])).toEqual(lists[2])
  })

  test.each([[[]], [[0, 0]], [[{ start: 0, stop: 2 }]], [[0.5]], [null], ['0']])(
    'are refused for the index %j',
    async (index) => {
      await using file = await openHdf5(RAGGED)
      const ragged = await file.array('ragged')
      await expect(ragged.list(index as never)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
    },
  )

  test('are refused for an index beyond the end, and for arrays of numbers', async () => {
    await using file = await openHdf5(RAGGED)
    await expect((await file.array('ragged')).list([3])).rejects.toMatchObject({ tag: 'InvalidSelectionError' })
    await using other = await openHdf5(TYPES)
    const numbers = await other.array((await other.arrays())[0]!)
    await expect(numbers.list(numbers.shape.map(() => 0))).rejects.toThrow('are no lists')
  })

  test.each(['sum', 'mean', 'min', 'max', 'variance', 'median'] as const)('have no %s', async (method) => {
    await using file = await openHdf5(RAGGED)
    const ragged = await file.array('ragged')
    await expect((ragged[method] as () => Promise<unknown>).call(ragged)).rejects.toMatchObject({
      tag: expect.stringMatching(/^(InvalidArgument|Unsupported)Error$/),
    })
  })
})
