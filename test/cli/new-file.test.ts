import { linkSync } from 'node:fs'
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { contents, hyperslab, NETCDF, smallContainer } from './support.ts'

/** Every command that writes a single file, with its input and the name of its output. */
const WRITERS: Record<string, { readonly input: string; readonly output: string; readonly args: (output: string) => string[] }> =
  {
    plot: { input: 'small.af', output: 'q.png', args: (output) => ['plot', 'small.af', 't', '0', '--output', output] },
    csv: { input: 'small.af', output: 'q.csv', args: (output) => ['export', 'small.af', output, '--variables', 't'] },
    references: { input: 'in.nc', output: 'q.json', args: (output) => ['references', output, 'in.nc'] },
  }

async function inputs(): Promise<string> {
  const folder = await smallContainer()
  await copyFile(NETCDF, join(folder, 'in.nc'))
  return folder
}

test.each(Object.entries(WRITERS))(
  '%s replaces a file only with --overwrite, and only one of its kind',
  { timeout: 60_000 },
  async (_, { output, args }) => {
    const folder = await inputs()
    const run = async (...given: string[]) => (await hyperslab(folder, given)).exitCode
    expect(await run(...args(output))).toBe(0)
    const whole = await readFile(join(folder, output))
    const before = await contents(folder)
    const again = await hyperslab(folder, args(output))
    expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('the file exists; --overwrite replaces it')])
    expect(await contents(folder)).toEqual(before)
    expect(await run(...args(output), '--overwrite')).toBe(0)
    await writeFile(join(folder, output), '')
    expect(await run(...args(output), '--overwrite')).toBe(0)
    expect(await readFile(join(folder, output))).toEqual(whole)
    for (const bytes of [await readFile(NETCDF), Uint8Array.of(0, 1, 2), '{"zarr_format":3,"node_type":"group"}']) {
      if (output === 'q.csv' && typeof bytes === 'string') continue
      await writeFile(join(folder, output), bytes)
      const refused = await hyperslab(folder, [...args(output), '--overwrite'])
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('only a file of the same kind')])
      expect(await readFile(join(folder, output))).toEqual(Buffer.from(bytes))
    }
  },
)

test.each(Object.entries(WRITERS))(
  '%s writes neither over its source nor into a container or a Zarr store',
  { timeout: 60_000 },
  async (_, { input, output, args }) => {
    const folder = await inputs()
    await symlink(input, join(folder, output))
    await mkdir(join(folder, 'z.zarr'))
    await writeFile(join(folder, 'z.zarr/zarr.json'), '{"zarr_format":3,"node_type":"group","attributes":{}}')
    linkSync(join(folder, input), join(folder, `hard-${output}`))
    const source = await readFile(join(folder, input))
    for (const to of [output, `hard-${output}`, `z.zarr/${output}`])
      for (const more of [[], ['--overwrite']]) expect((await hyperslab(folder, [...args(to), ...more])).exitCode, to).toBe(1)
    expect(await readFile(join(folder, input))).toEqual(source)
    expect(await readFile(join(folder, 'z.zarr/zarr.json'), 'utf8')).toContain('"group"')
  },
)

test('references take no name of a sidecar, and replace no text', { timeout: 60_000 }, async () => {
  const folder = await inputs()
  await writeFile(join(folder, '.bashrc'), 'alias ll="ls -l"')
  const before = await contents(folder)
  for (const to of ['small.9.af', 'small.stats', '.bashrc'])
    expect((await hyperslab(folder, ['references', to, 'in.nc', '--overwrite'])).exitCode, to).toBe(1)
  expect(await contents(folder)).toEqual(before)
  const { exitCode, stderr } = await hyperslab(folder, ['plot', 'small.af', 't', '--overwrite'])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--overwrite is for --output')])
})
