import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Hdf5Array } from '../../../src/adapters/hdf5/group.ts'
import { LIMITS } from '../../../src/adapters/hdf5/limits.ts'
import { boxesInOrder, type SelectedBlock } from '../../../src/adapters/hdf5/virtual/selection.ts'
import { virtualSource } from '../../../src/adapters/hdf5/virtual/source.ts'
import { runsWithin, type SourceTile, wholePlaces } from '../../../src/adapters/hdf5/virtual/tiles.ts'
import { generate } from '../../../src/array/combine.ts'
import { DiskArray } from '../../../src/array/disk-array.ts'
import type { BlockSource } from '../../../src/array/source.ts'
import { HyperslabError } from '../../../src/core/errors.ts'
import { slice } from '../../../src/grid/slice.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { openTree } from '../../../src/runtime/index.ts'
import { FileStore } from '../../../src/store/fs/file.ts'
import { linkedFiles } from './linked-files.ts'
import { FORMATS } from './support.ts'

const { python, folder } = linkedFiles()
const place = (name: string): string => join(folder(), 'inner', name)

/** Files that reads request, and a file whose requests fail. */
class WatchedStore extends FileStore {
  readonly asked: string[] = []
  fails = ''

  override async stat(...given: Parameters<FileStore['stat']>): ReturnType<FileStore['stat']> {
    const name = given[0].slice(given[0].lastIndexOf('/') + 1)
    this.asked.push(name)
    if (name === this.fails) throw new HyperslabError('StoreError', 'status 500', { file: given[0] })
    return super.stat(...given)
  }
}

const listOf = async (array: Hdf5Array, selection: readonly unknown[] = []): Promise<number[]> =>
  Array.from(((await array.get(selection as never)) as unknown as { data: ArrayLike<number> }).data)
afterEach(() => {
  vi.restoreAllMocks()
})

const row = (number: number): number[] => Array.from({ length: 10 }, (_, i) => (number === 2 ? -5 : 100 * number + i))

describe.skipIf(python === undefined)('a virtual array', () => {
  test('is listed with the files that it leads to if they are not followed', async () => {
    await using root = await openHdf5(place('virtual.h5'))
    const unreadable = await root.unreadable()
    expect([...unreadable.keys()].sort()).toEqual(['rows', 'upwards'])
    expect(String(unreadable.get('rows'))).toMatch(
      /'x' of the file 'sub\/row0\.h5', which is followed only with the option `external`/,
    )
    expect(await listOf(await root.array('own'), [null])).toHaveLength(4)
  })

  test('opens the sources that a read meets, and no others', async () => {
    const store = new WatchedStore()
    await using root = await openHdf5({ store, path: place('virtual.h5') }, { external: true })
    const rows = await root.array('rows')
    expect(String((await root.unreadable()).get('upwards'))).toMatch(/leads to another folder/)
    expect(store.asked.filter((name) => name.startsWith('row'))).toEqual([])
    expect(await listOf(rows, [1])).toEqual(row(1))
    expect(await rows.get([3, 4])).toBe(304)
    expect(store.asked.filter((name) => name.startsWith('row'))).toEqual(['row1.h5', 'row3.h5'])
    expect(await listOf(rows)).toEqual([0, 1, 2, 3].flatMap(row))
    expect(await listOf(rows)).toEqual([0, 1, 2, 3].flatMap(row))
    // The absent file is not looked for again.
    expect(store.asked.filter((name) => name.startsWith('row')).sort()).toEqual(['row0.h5', 'row1.h5', 'row2.h5', 'row3.h5'])
  })

  test('has fill values for an absent source only', async () => {
    const store = new WatchedStore()
    store.fails = 'row2.h5'
    await using root = await openHdf5({ store, path: place('virtual.h5') }, { external: true })
    const rows = await root.array('rows')
    await expect(rows.get()).rejects.toThrow('status 500')
    expect(await listOf(rows, [3])).toEqual(row(3))
    store.fails = ''
    expect(await listOf(rows, [2])).toEqual(row(2))
  })

  test('shows the last of overlapping mappings whose source exists, and fill values in holes', async () => {
    await using root = await openHdf5(place('overlapping.h5'), { external: true })
    const expected = JSON.parse(readFileSync(place('overlapping.json'), 'utf8')) as Record<string, number[]>
    expect(Object.keys(expected).length).toBe(40)
    for (const [name, values] of Object.entries(expected)) {
      const array = await root.array(name)
      expect(await listOf(array), name).toEqual(values)
      const part = values.filter((_, i) => i >= 36 && i < 60 && i % 12 >= 4 && i % 2 === 0)
      expect(await listOf(array, [slice(3, 5), slice(4, null, 2)]), name).toEqual(part)
    }
  })

  test.each(['whole', 'turned', 'strided', 'endless'])('within others many times (%s) ends at a limit', async (kind) => {
    await using root = await openHdf5(place(`broad_${kind}.h5`))
    // The limit of users takes seconds.
    vi.spyOn(LIMITS as { sources: number }, 'sources', 'get').mockReturnValue(5000)
    await expect((async () => (await root.array('level0')).get())()).rejects.toMatchObject({
      tag: 'UnsupportedError',
      message: expect.stringMatching(/leads to more than 5000 sources of virtual arrays/),
    })
    const [first] = await listOf(await root.array('level5'))
    expect(first).toBe(0)
  })

  test('that leads back to itself ends in an error', async () => {
    await using root = await openHdf5(place('one.h5'), { external: true })
    const circle = await root.array('circle')
    await expect(circle.get()).rejects.toThrow(/virtual arrays lead through more than 16 others, perhaps in a circle/)
  })
})

test('boxes of an irregular selection have its elements in C order', () => {
  const blocks: SelectedBlock[] = [
    [{ start: 0, stop: 3 }, { start: 0, stop: 4 }, { start: 1, stop: 2 }],
    [{ start: 2, stop: 6 }, { start: 2, stop: 7 }, { start: 0, stop: 3 }],
    [{ start: 5, stop: 6 }, { start: 9, stop: 10 }, { start: 0, stop: 1 }],
  ] // biome-ignore format: one line each
  const inside = (block: SelectedBlock, at: readonly number[]): boolean =>
    block.every(({ start, stop }, axis) => at[axis]! >= start && at[axis]! < stop)
  const places = (box: SelectedBlock): string[] =>
    box.reduce<string[]>(
      (all, { start, stop }) => all.flatMap((each) => Array.from({ length: stop - start }, (_, i) => `${each} ${start + i}`)),
      [''],
    )
  const expected = places([
    { start: 0, stop: 7 },
    { start: 0, stop: 11 },
    { start: 0, stop: 4 },
  ]).filter((text) => blocks.some((block) => inside(block, text.trim().split(' ').map(Number))))
  expect(boxesInOrder(blocks).flatMap(places)).toEqual(expected)
})

test('runs of blocks within a range are those that a loop finds', () => {
  for (const block of [1, 2, 3])
    for (const stride of [3, 4])
      for (const length of [1, 5, 7])
        for (let start = 0; start < 14; start++)
          for (let stop = start + 1; stop < 15; stop++) {
            const all = Array.from({ length }, (_, i) => 2 + Math.floor(i / block) * stride + (i % block))
            const expected = all.flatMap((at, i) => (at >= start && at < stop ? [[i, at - start]] : []))
            const runs = runsWithin({ start: 2, stride, block, length }, { start, stop, step: 1 })
            const actual = runs.flatMap((run) =>
              Array.from({ length: run.range.stop - run.range.start }, (_, i) => [run.range.start + i, run.start + i * run.step]),
            )
            expect(actual).toEqual(expected)
          }
})

test('of overlapping mappings the last one counts, however late the first one is read', async () => {
  const open = async (file: string): Promise<BlockSource> => {
    if (file === 'first.h5') await new Promise((resolve) => setTimeout(resolve, 20))
    return generate(() => (file === 'first.h5' ? 1 : 2), { dtype: 'int32', shape: [3] }).source
  }
  const tile = (file: string, start: number): SourceTile => {
    const places = [{ ...wholePlaces(3), start }]
    return { places, first: 0, file, array: 'x', source: { kind: 'all' }, total: 3 }
  }
  const kind = { dtype: 'int32', innerShape: [], scalar: undefined, fillValue: -1 } as const
  const array = new DiskArray(virtualSource(kind, [6], [tile('first.h5', 0), tile('second.h5', 2)], open))
  expect([...(await array.values())]).toEqual([1, 1, 2, 2, 2, -1])
})

test('a tree has a virtual array at the length that its sources give it', async () => {
  await using tree = await openTree(join(FORMATS, 'hdf5/vds/1_vds.h5'), { external: true })
  const { root } = tree
  const array = root.kind === 'group' ? (await root.array('vds_dset')).array : undefined
  expect(array?.shape).toEqual([5, 18, 8])
})
