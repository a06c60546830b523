import { spawn } from 'node:child_process'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sizeOf } from '../../src/core/shape.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { byBudget, timeLimit } from '../support/budget.ts'
import { folderInMemory } from '../support/folder.ts'
import { hyperslab, NETCDF, smallContainer, temporaryFolder } from './support.ts'

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/** All files of a folder, by name, with what is in them. */
async function filesOf(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const read = files.sort().map(async (file) => [file.slice(folder.length), (await readFile(file)).toString('base64')] as const)
  return new Map(await Promise.all(read))
}

describe('rechunk', () => {
  test('keeps values, attributes, fill values, names and groups as they are stored', { timeout: 60_000 }, async () => {
    const folder = await temporaryFolder()
    const source = await createZarr(join(folder, 'in.zarr'), { attributes: { title: 'all' } })
    const dimensionNames = ['time', 'x']
    const a = await source.createArray('a', { dtype: 'int16', shape: [6, 7], chunks: [1, 7], fillValue: -1, dimensionNames })
    await a.set(
      [[0, 2, 5]],
      Int16Array.from({ length: 21 }, (_, i) => i),
    )
    await a.updateAttributes({ scale_factor: 0.5, _FillValue: -9 })
    const inner = await (await source.createGroup('sub', { attributes: { level: 2 } })).createArray('t', {
      dtype: 'timestamp_ns',
      shape: [3],
      chunks: [2],
    })
    await inner.set(null, [1n, 2n, 3n] as never)
    const args = ['rechunk', 'in.zarr', 'out.zarr', '--chunks', 'time=6,x=3,dim_0=3', '--codec', 'gzip']
    expect(await hyperslab(folder, args)).toMatchObject({ exitCode: 0, stdout: 'out.zarr: 2 arrays\n', stderr: '' })
    await using out = await openZarr(join(folder, 'out.zarr'), { kind: 'group' })
    const copy = await out.array('a')
    expect([copy.chunks.chunkShape, copy.fillValue, copy.dimensionNames, copy.dtype]).toEqual([
      [6, 3],
      -1,
      dimensionNames,
      'int16',
    ])
    expect([copy.attrs.get('scale_factor'), copy.attrs.get('_FillValue'), out.attrs.get('title')]).toEqual([0.5, -9, 'all'])
    expect(await copy.get()).toEqual(await a.get())
    const times = await out.array('sub/t')
    expect([(await out.group('sub')).attrs.get('level'), times.dimensionNames, times.chunks.chunkShape]).toEqual([
      2,
      undefined,
      [3],
    ])
    expect(await times.get()).toEqual(await inner.get())
    // A complete copy is not written again.
    const before = await stat(join(folder, 'out.zarr/zarr.json'))
    expect(await hyperslab(folder, args)).toMatchObject({ exitCode: 0, stdout: 'out.zarr: 2 arrays, complete already\n' })
    expect((await stat(join(folder, 'out.zarr/zarr.json'))).mtimeMs).toBe(before.mtimeMs)
    // Other options, and another version of the source, are another copy.
    const others = await hyperslab(folder, [...args, '--level', '9'])
    expect([others.exitCode, others.stderr]).toEqual([1, expect.stringContaining('there is a Zarr array or group already')])
    await a.updateAttributes({ scale_factor: 0.25 })
    expect((await hyperslab(folder, args)).exitCode).toBe(1)
    expect((await hyperslab(folder, [...args, '--overwrite'])).exitCode).toBe(0)
    await using again = await openZarr(join(folder, 'out.zarr'), { kind: 'group' })
    expect((await again.array('a')).attrs.get('scale_factor')).toBe(0.25)
  })

  test('takes containers, NetCDF and single arrays, and refuses what does not fit', { timeout: 60_000 }, async () => {
    const folder = await smallContainer()
    const run = (...args: string[]) => hyperslab(folder, ['rechunk', ...args])
    expect(await run('small.af', 'af.zarr', '--chunks', 'time=2,lat=1', '--variables', 't,id,name')).toMatchObject({
      exitCode: 0,
      stdout: 'af.zarr: 3 arrays\n',
    })
    const array = await openZarr(join(folder, 'af.zarr/t'), { kind: 'array' })
    expect([array.chunks.chunkShape, array.missing?.values, await array.get([1, 0, 0])]).toEqual([[2, 1, 4], [-999], -999])
    expect(await run('af.zarr/t', 'single.zarr', '--chunks', 'lon=2')).toMatchObject({ exitCode: 0 })
    const single = await openZarr(join(folder, 'single.zarr'), { kind: 'array' })
    expect([single.chunks.chunkShape, await single.get()]).toEqual([[2, 1, 2], await array.get()]) // biome-ignore format: one line
    expect(await run(NETCDF, 'nc.zarr', '--chunks', 'time=1')).toMatchObject({ exitCode: 0, stderr: '' })
    const refused: [string[], number, RegExp][] = [
      [['small.af', 'x.nc'], 2, /the name of the output ends in .zarr or .af/],
      [['small.af', 'x.zarr', '--memory', '255MiB'], 1, /memory of 267386880 bytes is too little: the least is 256 MiB/],
      [['small.af', 'x.zarr', '--memory', 'much'], 2, /It must be like 512MiB/],
      [['small.af', 'x.zarr', '--chunks', 'level=2'], 1, /there is no dimension 'level'/],
      [['small.af', 'x.zarr', '--variables', 'u'], 1, /u/],
    ]
    for (const [args, code, text] of refused)
      expect(await run(...args), args.join(' ')).toMatchObject({ exitCode: code, stderr: expect.stringMatching(text) })
    await expect(stat(join(folder, 'x.zarr'))).rejects.toThrow('ENOENT')
  })

  test('goes on after it was killed, or ended by a signal, with equal results', { timeout: timeLimit(600_000) }, async () => {
    const folder = await folderInMemory('rechunk')
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const source = await createZarr(join(folder, 'in.zarr'))
    // With more kills, of an array that goes through an intermediate one.
    const kills = byBudget({ quick: 1, full: 3, soak: 100 })
    const shape = [kills > 1 ? 1024 : 256, 96, 256]
    const a = await source.createArray('a', {
      dtype: 'float32',
      shape,
      chunks: [1, 96, 256],
      codec: 'none',
      dimensionNames: ['t', 'y', 'x'],
    })
    await a.set(
      null,
      Float32Array.from({ length: sizeOf(shape) }, (_, i) => i % 10_007),
    )
    const args = (output: string) => [
      'rechunk',
      'in.zarr',
      output,
      '--chunks',
      't=1024,y=8,x=8',
      '--codec',
      'none',
      '--memory',
      '256MiB',
    ]
    const started = performance.now()
    expect((await hyperslab(folder, args('whole.zarr'))).exitCode).toBe(0)
    const usual = performance.now() - started
    const whole = await filesOf(join(folder, 'whole.zarr'))
    for (let left = kills; left >= 0; left--) {
      const name = `out-${left}.zarr`
      const child = spawn(process.execPath, [COMMAND, ...args(name)], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
      let stderr = ''
      child.stderr.on('data', (text: Buffer) => {
        stderr += text
      })
      const ended = new Promise((resolve) => child.once('close', resolve))
      await new Promise((resolve) => setTimeout(resolve, usual * (0.3 + 0.5 * Math.random())))
      child.kill(left === 0 ? 'SIGINT' : 'SIGKILL')
      const exitCode = await ended
      if (left === 0 && exitCode !== 0)
        expect([exitCode, stderr]).toEqual([
          130,
          'hyperslab: interrupted; what is written stays, and the same command goes on from there\n',
        ])
      expect(await hyperslab(folder, args(name))).toMatchObject({ exitCode: 0, stderr: '' })
      const files = await filesOf(join(folder, name))
      // A killed process leaves the temporary file that it was writing.
      for (const file of files.keys()) if (file.endsWith('.tmp')) files.delete(file)
      expect([...files.keys()]).toEqual([...whole.keys()])
      for (const [file, content] of files) expect(content === whole.get(file), file).toBe(true)
      await rm(join(folder, name), { recursive: true })
    }
  })
})
