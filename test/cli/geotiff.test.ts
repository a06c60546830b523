import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openGeotiff } from '../../src/runtime/geotiff.ts'
import { open } from '../../src/runtime/index.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'
import { hyperslab, temporaryFolder } from './support.ts'

const COG = join(FORMATS, 'tiff/cog.tif')

test('info shows the image of a COG with its levels and coordinates', async () => {
  const { exitCode: status, stdout } = await hyperslab(await temporaryFolder(), ['info', COG])
  expect(status).toBe(0)
  expect(stdout).toContain('TIFF')
  await using file = await openGeotiff(COG)
  for (const [i, { array }] of file.image(0).levels().entries())
    expect(stdout).toMatch(
      new RegExp(`${i === 0 ? '  image' : `level_${i}/image`} +uint16 +y ${array.shape[0]}, x ${array.shape[1]} `),
    )
})

test('reduce computes the mean of a level of a COG', async () => {
  await using file = await openGeotiff(COG)
  const folder = await temporaryFolder()
  for (const level of [1, 4]) {
    const { exitCode: status, stdout } = await hyperslab(folder, ['reduce', COG, `level_${level}/image`, '--op', 'mean'])
    const { data } = await file.image(0).levels()[level]!.array.get()
    const samples = Array.from(data as Uint16Array).filter((each) => each !== file.image(0).noData)
    expect([status, Number(stdout)]).toEqual([0, samples.reduce((sum, each) => sum + each, 0) / samples.length])
  }
})

test('import copies the image and the levels of a COG into a container, with equal elements', async () => {
  const folder = await temporaryFolder()
  const { exitCode: status } = await hyperslab(folder, ['import', COG, 'out.af'])
  expect(status).toBe(0)
  await using file = await openGeotiff(COG)
  await using copied = await open(join(folder, 'out.af'))
  for (const [i, { array }] of file.image(0).levels().entries())
    expect(await copied.array(i === 0 ? 'image' : `level_${i}/image`).values()).toEqual(await array.values())
})

test('plot draws a level of a COG as a picture', async () => {
  const folder = await temporaryFolder()
  const { exitCode: status } = await hyperslab(folder, ['plot', COG, 'level_3/image', '--output', 'out.png'])
  expect(status).toBe(0)
  expect((await readFile(join(folder, 'out.png'))).subarray(1, 4).toString()).toBe('PNG')
})
