import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { create, open } from '../../src/runtime/index.ts'
import { hyperslab, NETCDF, temporaryFolder } from './support.ts'

/** A folder with a container of two layers, an empty axis among them. */
async function layered(): Promise<string> {
  const folder = await temporaryFolder()
  await using file = await create(join(folder, 'x.af'))
  const x = file.createArray('x', { dtype: 'int16', shape: [4], chunks: [2], dimensionNames: ['t'], fillValue: -1 })
  await x.set([0], 5)
  x.attrs.set('n', { type: 'int8', value: 3 })
  file.createArray('none', { dtype: 'float32', shape: [0, 3] })
  file.attrs.set('title', 'layers')
  await file.flush()
  await x.set([3], 7)
  await file.flush()
  return folder
}

async function contentsOf(path: string): Promise<unknown> {
  await using file = await open(path)
  const x = file.array('x')
  return [
    file.arrays(),
    file.attrs.get('title'),
    await x.toTensor(),
    x.fillValue,
    x.attrs.typed('n'),
    x.storage().chunks,
    file.array('none').shape,
  ]
}

const versionOf = async (path: string): Promise<unknown> => (await open(path)).layers().map(({ version }) => version)

describe('files of footer version 6', () => {
  test('are made of a container by compact, and become one again by import', { timeout: 60_000 }, async () => {
    const folder = await layered()
    const [x, sealed, back] = ['x.af', 'sealed.af', 'back.af'].map((name) => join(folder, name)) as [string, string, string]
    const args = ['compact', 'x.af', '--immutable', '-o', 'sealed.af']
    expect(await hyperslab(folder, args)).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringMatching(/^sealed\.af: \d arrays, /),
    })
    expect(await hyperslab(folder, ['import', 'sealed.af', 'back.af'])).toMatchObject({ exitCode: 0, stderr: '' })
    expect([await versionOf(x), await versionOf(sealed), await versionOf(back)]).toEqual([[5, 5], [6], [5]])
    for (const path of [sealed, back]) expect(await contentsOf(path)).toEqual(await contentsOf(x))
    expect(await hyperslab(folder, args)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('exists already') })
    expect(await hyperslab(folder, [...args, '--overwrite'])).toMatchObject({ exitCode: 0 })
  })

  test('are written by import, export and rechunk with --immutable', { timeout: 120_000 }, async () => {
    const folder = await layered()
    for (const [name, ...args] of [
      ['nc.af', 'import', NETCDF, 'nc.af', '--variables', 'lat'],
      ['copy.af', 'import', 'x.af', 'copy.af'],
      ['exported.af', 'export', 'x.af', 'exported.af'],
      ['chunks.af', 'rechunk', 'x.af', 'chunks.af', '--chunks', 't=4'],
    ] as [string, ...string[]][]) {
      expect(await hyperslab(folder, [...args, '--immutable']), name).toMatchObject({ exitCode: 0, stderr: '' })
      expect(await versionOf(join(folder, name)), name).toEqual([6])
    }
    await using chunks = await open(join(folder, 'chunks.af'))
    const x = chunks.array('x')
    expect([x.chunks.chunkShape, x.attrs.typed('n'), x.fillValue, chunks.array('none').shape]).toEqual([
      [4],
      { type: 'int8', value: 3 },
      -1,
      [0, 3],
    ])
    expect(await x.get()).toMatchObject({ data: Int16Array.of(5, -1, -1, 7) })
  })

  test('are planned for the workers of a queue by import, export and rechunk', { timeout: 60_000 }, async () => {
    const folder = await layered()
    for (const command of ['import', 'export', 'rechunk'])
      expect(await hyperslab(folder, [command, 'x.af', 'y.af', '--immutable', '--dry-run']), command).toMatchObject({
        exitCode: 0,
        stderr: '',
        stdout: expect.stringMatching(/^job [0-9a-f]{12}: 2 arrays to .*y\.af, .*x: int16 \[4\], 1 task\n/s),
      })
  })

  test('are for containers alone, and never beside layers', { timeout: 60_000 }, async () => {
    const folder = await layered()
    await using file = await open(join(folder, 'x.af'))
    file.attrs.set('level', { type: 'int8', value: 1 })
    await file.flush()
    for (const [args, text] of [
      [['import', 'x.af', 'x.zarr', '--immutable'], '--immutable is for containers'],
      [['rechunk', 'x.af', 'x.zarr', '--immutable'], '--immutable is for containers'],
      [['export', 'x.af', 'x.zarr', '--immutable', '--dry-run'], '--immutable is for containers'],
      [['rechunk', 'x.af', 'y.af', '--immutable', '--dry-run'], "the attribute 'level' of the file would change its type"],
      [['rechunk', NETCDF, 'y.af', '--immutable', '--dry-run'], 'is no container'],
      [['import', 'x.af', 'y.af', '--immutable', '--dry-run', '--overwrite'], '--overwrite is for this machine alone'],
      [['compact', 'x.af', '--immutable'], '--immutable and --output go together'],
      [['compact', 'x.af', '-o', 'y.af'], '--immutable and --output go together'],
      [['import', NETCDF, 'x.af', '--immutable', '--overwrite'], 'x.1.af'],
    ] as [string[], string][])
      expect(await hyperslab(folder, args), args.join(' ')).toMatchObject({
        exitCode: expect.toSatisfy((code: number) => code > 0),
        stderr: expect.stringContaining(text),
      })
    expect(await versionOf(join(folder, 'x.af'))).toEqual([5, 5, 5])
  })
})
