import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openGeotiff } from '../../src/runtime/geotiff.ts'
import { open } from '../../src/runtime/index.ts'
import { FORMATS } from '../adapters/hdf5/support.ts'
import { hyperslab, temporaryFolder } from './support.ts'

/** Views elements as bytes, which compare a thousand times faster than as a list of numbers. */
const bytesOf = (values: unknown): Buffer => {
  const { buffer, byteOffset, byteLength } = values as Uint16Array
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength)
}

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

test('reduce, get and info read a level of a pyramid, and refuse one that is none', async () => {
  const folder = await temporaryFolder()
  const run = (...args: string[]) => hyperslab(folder, args)
  for (const [command, ...rest] of [
    ['reduce', '--op', 'max'],
    ['get', '0:2,0:2'],
  ] as [string, ...string[]][]) {
    const named = await run(command, COG, 'level_2/image', ...rest)
    expect(named.exitCode).toBe(0)
    expect(await run(command, COG, 'image', ...rest, '--pyramid-level', '2')).toMatchObject({ exitCode: 0, stdout: named.stdout })
  }
  const { stdout } = await run('info', COG, '--pyramid-level', '3')
  await using file = await openGeotiff(COG)
  const [height, width] = file.image(0).levels()[3]!.array.shape
  expect(stdout).toMatch(new RegExp(`  image +uint16 +y ${height}, x ${width} `))
  expect(await run('info', COG, '--pyramid-level', '99')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/there is no level 99: there are \d+, from 0/),
  })
  const one = await run('reduce', join(FORMATS, 'tiff/made_scaled.tif'), 'image', '--op', 'mean')
  expect(Number(one.stdout)).toBeLessThan(-200)
  expect(await run('info', join(FORMATS, 'tiff/made_scaled.tif'), '--pyramid-level', '0')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringMatching(/--pyramid-level is for a group with one pyramid, and this one has none/),
  })
})

test('import copies the image and the levels of a COG into a container, with equal elements', async () => {
  const folder = await temporaryFolder()
  const { exitCode: status } = await hyperslab(folder, ['import', COG, 'out.af'])
  expect(status).toBe(0)
  await using file = await openGeotiff(COG)
  await using copied = await open(join(folder, 'out.af'))
  for (const [i, { array }] of file.image(0).levels().entries())
    expect(
      bytesOf(await copied.array(i === 0 ? 'image' : `level_${i}/image`).values()).equals(bytesOf(await array.values())),
    ).toBe(true)
})

test('plot draws a level of a COG as a picture', async () => {
  const folder = await temporaryFolder()
  const { exitCode: status } = await hyperslab(folder, ['plot', COG, 'level_3/image', '--output', 'out.png'])
  expect(status).toBe(0)
  expect((await readFile(join(folder, 'out.png'))).subarray(1, 4).toString()).toBe('PNG')
})
