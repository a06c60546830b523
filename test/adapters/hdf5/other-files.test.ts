import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openDataset } from '../../../src/runtime/dataset.ts'
import { openHdf5 } from '../../../src/runtime/hdf5.ts'
import { openTree } from '../../../src/runtime/index.ts'
import { linkedFiles } from './linked-files.ts'

const { python, folder } = linkedFiles()
const main = (): string => join(folder(), 'inner/main.h5')

const reasons = async (external?: boolean | { root: string }, file = main()): Promise<Record<string, string>> => {
  await using root = await openHdf5(file, { external })
  return Object.fromEntries([...(await root.unreadable())].map(([name, error]) => [name, String(error)]))
}

describe.skipIf(python === undefined)('a file', () => {
  test('lists where its links and raw data lead if they are not followed', async () => {
    const found = await reasons()
    for (const [name, text] of Object.entries({
      read: "the link '/read' leads to '/x' of the file 'sub/b.h5', which is followed only with the option `external`",
      upwards: "'/x' of the file '../outside.h5'",
      url: "'/x' of the file 'https://example.org/x.h5'",
      raw: "elements are in the file 'sub/x.raw' (external raw data), which is followed only with the option `external`",
    }))
      expect(found[name], name).toContain(text)
    await using root = await openHdf5(main())
    expect(await root.arrays()).toEqual(['own'])
    expect(await root.groups()).toEqual([])
    await expect(root.array('read')).rejects.toThrow('only with the option `external`')
  })

  test('is read with names below its own folder', async () => {
    await using root = await openHdf5(main(), { external: true })
    expect((await root.arrays()).sort()).toEqual(['itself', 'own', 'raw', 'raw_absent', 'read', 'through'])
    expect(await root.groups()).toEqual(['group'])
    const values = async (path: string): Promise<number[]> =>
      Array.from(((await (await root.array(path)).get()) as unknown as { data: ArrayLike<bigint> }).data, Number)
    expect(await values('read')).toEqual([0, 1, 2, 3, 4])
    expect(await values('through')).toEqual([0, 1, 2, 3, 4, 5])
    expect(await values('group/c')).toEqual([0, 1, 2, 3, 4, 5])
    expect(await values('itself')).toEqual([0, 1, 2, 3])
    expect(await values('raw')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    await expect(values('raw_absent')).rejects.toThrow(/none\.raw.*there is no such file/)
    await root.close()
    expect(() => root.array('read')).toThrow('the file was closed')
  })

  test('refuses all that leads out of its folder, and ends circles', async () => {
    const found = await reasons(true)
    for (const [name, text] of Object.entries({
      absolute: /UnsupportedError: .*its path is absolute/,
      upwards: /UnsupportedError: .*'\.\.' leads to another folder/,
      hidden: /UnsupportedError: .*'\.\.' leads to another folder/,
      url: /UnsupportedError: .*it is a URL/,
      linked: /UnsupportedError: .*a symbolic link leads out of the place/,
      folder: /UnsupportedError: .*a symbolic link leads out of the place/,
      raw_upwards: /UnsupportedError: .*'\.\.' leads to another folder/,
      absent: /UnsupportedError: .*and there is no such file/,
      nothing: /UnsupportedError: .*where there is nothing/,
      text: /FormatError: .*no superblock/,
      circle: /UnsupportedError: .*perhaps in a circle/,
      home: /UnsupportedError: .*leads back to a group that contains it/,
    }))
      expect(found[name], name).toMatch(text)
    expect(Object.keys(found).length).toBe(12)
    await using root = await openHdf5(main(), { external: true })
    const inner = await (await root.group('group')).unreadable()
    expect([...inner.keys()].sort()).toEqual(['back', 'up'])
  })

  test('is read with another folder as the root of names', async () => {
    const moved = join(folder(), 'moved')
    await cp(main(), join(moved, 'main.h5'))
    expect((await reasons(true, join(moved, 'main.h5')))['read']).toContain('there is no such file')
    for (const root of [join(folder(), 'inner'), `${join(folder(), 'inner')}/`]) {
      const found = await reasons({ root }, join(moved, 'main.h5'))
      expect(found['read']).toBeUndefined()
      expect(found['upwards']).toMatch(/leads to another folder/)
      expect(found['linked']).toMatch(/a symbolic link/)
    }
  })

  test('is refused by name if it has an image of the metadata cache', async () => {
    await expect(openHdf5(join(folder(), 'image.h5'))).rejects.toThrow(/has an image of the metadata cache/)
  })

  test('needs a folder if it was opened alone', async () => {
    const bytes = new Uint8Array(await readFile(main()))
    await using root = await openHdf5(bytes, { external: true })
    expect(String((await root.unreadable()).get('read'))).toMatch(/nothing beside this file can be read.*external: \{ root \}/)
    await using named = await openHdf5(bytes, { external: { root: join(folder(), 'inner') } })
    expect(await (await named.array('read')).get([2])).toBe(2n)
  })

  test('is followed by openTree and openDataset', async () => {
    await using tree = await openTree(main(), { external: true })
    if (tree.root.kind !== 'group') throw new Error('no group')
    expect(await tree.root.arrays()).toContain('read')
    expect(await (await tree.root.array('group/x')).array.get([3])).toBe(3n)
    await using dataset = await openDataset(main(), { external: { root: join(folder(), 'inner') } })
    expect(Object.keys(dataset.variables)).toContain('read')
  })
})

test('refuses the option for other formats, and other options within it', async () => {
  await expect(openTree(new Uint8Array([67, 68, 70, 1, 0, 0, 0, 0]), { external: true })).rejects.toThrow(
    /`external` is for HDF5 files/,
  )
  await expect(openHdf5('x.h5', { external: { folder: '.' } as never })).rejects.toThrow(/no option 'folder'/)
  await expect(openHdf5('x.h5', { external: {} as never })).rejects.toThrow(/root/)
})
