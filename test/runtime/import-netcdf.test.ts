import { writeFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { create, isHyperslabError, MemoryStore, open } from '../../src/runtime/index.ts'
import { importNetcdf } from '../../src/runtime/netcdf.ts'
import type { Store } from '../../src/store/store.ts'
import { type FaultScript, FaultStore } from '../../src/testing/index.ts'
import { contents, NETCDF, temporaryFolder } from '../cli/support.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'

/** A container of two layers and statistics, at `c.af`. */
async function twoLayers(): Promise<string> {
  const folder = await temporaryFolder()
  await using file = await create(join(folder, 'c.af'))
  const old = file.createArray('old', { dtype: 'uint8', shape: [3] })
  await old.set(null, [1, 2, 3])
  await file.flush()
  await old.set(null, [4, 5, 6])
  await file.flush()
  return folder
}

const rejection = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  )

describe('an import', () => {
  test('copies values, shapes, names, fill values and typed attributes into a single file', async () => {
    const folder = await temporaryFolder()
    const progress: number[] = []
    const path = join(folder, 'c.af')
    const { arrays, bytes } = await importNetcdf(NETCDF, path, { onProgress: ({ done, total }) => progress.push(done / total) })
    expect(arrays).toHaveLength(7)
    expect([...(await contents(folder)).keys()]).toEqual(['c.af', 'c.stats'])
    expect((await readFile(path)).length).toBe(bytes)
    expect(progress).toEqual([...progress].sort((a, b) => a - b))
    expect(progress.at(-1)).toBe(1)
    await using file = await open(path)
    const tas = file.array('tas', 'float32')
    expect([tas.shape, tas.dimensionNames, tas.chunks.chunkShape]).toEqual([
      [12, 96, 192],
      ['time', 'lat', 'lon'],
      [1, 96, 192],
    ])
    expect(tas.fillValue).toBe(Math.fround(1e20))
    expect(tas.attrs.typed('units')).toEqual({ type: 'string', value: 'K' })
    expect(tas.attrs.typed('_FillValue')).toEqual({ type: 'float32', value: Math.fround(1e20) })
    expect(file.attrs.typed('realization')).toEqual({ type: 'int32', value: 1 })
    // The first value of the second record, from the file's bytes: records of 73752 bytes, tas 24 bytes into
    // each, the first at 14552.
    const bytesOfSource = await readFile(NETCDF)
    expect(await tas.get([1, 0, 0])).toBe(bytesOfSource.readFloatBE(14552 + 73752 + 24))
  })

  test('cuts chunks of about the size that is asked for', async () => {
    const path = join(await temporaryFolder(), 'c.af')
    await importNetcdf(NETCDF, path, { chunkBytes: 192 * 4 * 10, codec: 'none' })
    await using file = await open(path)
    expect(file.array('tas').chunks.chunkShape).toEqual([1, 10, 192])
  })

  test('refuses a place that is taken, and leaves it as it is', async () => {
    const folder = await twoLayers()
    const before = await contents(folder)
    const error = await rejection(importNetcdf(NETCDF, join(folder, 'c.af')))
    expect(isHyperslabError(error, 'AlreadyExistsError')).toBe(true)
    expect((error as Error).message).toBe(`${join(folder, 'c.af')}: the file exists already; \`overwrite\` replaces it`)
    expect(await contents(folder)).toEqual(before)
  })

  test('refuses to lie under sidecars that are left of another container', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'c.1.af'), 'left')
    const error = await rejection(importNetcdf(NETCDF, join(folder, 'c.af')))
    expect(isHyperslabError(error, 'AlreadyExistsError')).toBe(true)
    expect((error as Error).message).toContain(`sidecars of an earlier file exist (${join(folder, 'c.1.af')})`)
    expect([...(await contents(folder)).keys()]).toEqual(['c.1.af'])
  })

  test('refuses a place that is taken while it runs', async () => {
    const folder = await temporaryFolder()
    const path = join(folder, 'c.af')
    let taken = false
    const work = importNetcdf(NETCDF, path, {
      onProgress: () => {
        if (!taken) writeFileSync(path, 'mine')
        taken = true
      },
    })
    expect(isHyperslabError(await rejection(work), 'AlreadyExistsError')).toBe(true)
    expect([...(await contents(folder))]).toEqual([['c.af', Buffer.from('mine').toString('base64')]])
  })

  test('replaces a container with all its layers when told to', async () => {
    const folder = await twoLayers()
    await importNetcdf(NETCDF, join(folder, 'c.af'), { overwrite: true })
    expect([...(await contents(folder)).keys()]).toEqual(['c.af', 'c.stats'])
    await using file = await open(join(folder, 'c.af'))
    expect(file.arrays()).not.toContain('old')
    expect((await file.stats('tas')).nullCount).toBe(0)
  })

  test.each([false, true])('that fails half way leaves no trace (container there before: %s)', async (there) => {
    const folder = there ? await twoLayers() : await temporaryFolder()
    const before = await contents(folder)
    const interrupt = new AbortController()
    const work = importNetcdf(NETCDF, join(folder, 'c.af'), {
      overwrite: there,
      signal: interrupt.signal,
      onProgress: ({ done }) => done >= 9 && interrupt.abort(),
    })
    expect(await rejection(work)).toHaveProperty('name', 'AbortError')
    expect(await contents(folder)).toEqual(before)
  })

  describe('into a store that fails', () => {
    const failing = (faults: FaultScript) => {
      const memory = new MemoryStore()
      return { memory, target: { store: new FaultStore(memory, { faults }) as Store, path: 'c.af' } }
    }
    const isDraft = (key: string): boolean => /import-[0-9a-f]+\.af$/.test(key)

    test('at the removal of temporary files says so, and stands', async () => {
      const { memory, target } = failing(({ kind, key }) => (kind === 'delete' && isDraft(key) ? 'error' : undefined))
      const { arrays, warnings } = await importNetcdf(NETCDF, target)
      expect(arrays).toHaveLength(7)
      expect(warnings).toEqual([expect.stringMatching(/^temporary files could not be removed: memory:.+: fault at delete /)])
      await using file = await open({ store: memory, path: 'c.af' })
      expect(file.arrays()).toEqual(arrays)
    })

    test('at statistics says so, and stands', async () => {
      const { memory, target } = failing(({ kind, key }) => (kind === 'put' && key === 'c.stats' ? 'error' : undefined))
      const { warnings } = await importNetcdf(NETCDF, target)
      expect(warnings).toEqual([expect.stringMatching(/^statistics could not be stored, .*: memory:c\.stats: fault at put/)])
      await using file = await open({ store: memory, path: 'c.af' })
      expect((await file.stats('tas')).nullCount).toBe(0)
      expect((await memory.list('')).sort()).toEqual(['c.af'])
    })

    test('half way and at the removal, raises what has both causes', async () => {
      const { target } = failing(({ kind, key }) =>
        (kind === 'delete' && isDraft(key)) || (kind === 'publish' && key === 'c.af') ? 'error' : undefined,
      )
      const error = await rejection(importNetcdf(NETCDF, target))
      expect(error).toMatchObject({
        tag: 'StoreError',
        message: expect.stringMatching(/fault at publish c\.af; what was written could not be removed: .*fault at delete /),
      })
      expect(((error as Error).cause as AggregateError).errors).toHaveLength(2)
    })
  })

  test('of a truncated file leaves no trace', async () => {
    const bytes = await readFile(NETCDF)
    for (const length of [0, 3, 100, 7000, 500_000, bytes.length - 1]) {
      const folder = await twoLayers()
      await writeFile(join(folder, 'in.nc'), bytes.subarray(0, length))
      const before = await contents(folder)
      for (const name of ['new.af', 'c.af']) {
        const error = await rejection(importNetcdf(join(folder, 'in.nc'), join(folder, name), { overwrite: true }))
        expect(isHyperslabError(error, 'FormatError'), `${length} bytes: ${error}`).toBe(true)
        expect((error as Error).message).toContain(join(folder, 'in.nc'))
      }
      expect(await contents(folder)).toEqual(before)
    }
  })

  test('into a folder that does not exist names the place that was asked for', async () => {
    const path = join(await temporaryFolder(), 'no', 'c.af')
    const error = (await rejection(importNetcdf(NETCDF, path))) as Error
    expect(isHyperslabError(error, 'StoreError')).toBe(true)
    expect(error.message.startsWith(`${path}: `)).toBe(true)
    expect(error.message).not.toContain('hyperslab-import')
  })
})

describe('missing values', () => {
  /**
   * Imports a variable of floats and one of shorts. Gives of one the fill value, the elements and statistics.
   */
  async function imported(name: string, values: readonly number[], attributes: Record<string, readonly number[]>) {
    const folder = await temporaryFolder()
    const typed = (type: 'float' | 'short' | 'byte') => Object.entries(attributes).map(([name, value]) => ({ name, type, value }))
    const bytes = writeNetcdf({
      dimensions: [['n', values.length]],
      variables: [
        { name: 'float32', type: 'float', dimensions: ['n'], attributes: typed('float'), values },
        { name: 'int16', type: 'short', dimensions: ['n'], attributes: typed('short'), values },
        { name: 'int8', type: 'byte', dimensions: ['n'], attributes: typed('byte'), values },
      ],
    })
    await writeFile(join(folder, 'in.nc'), bytes)
    await importNetcdf(join(folder, 'in.nc'), join(folder, 'c.af'))
    const file = await open(join(folder, 'c.af'))
    const array = file.array(name)
    const { nullCount, min, max } = await file.stats(name)
    const result = [array.fillValue, [...((await array.get()) as { data: Iterable<number> }).data], { nullCount, min, max }]
    expect(await array.min()).toBe(min)
    await file.close()
    return result
  }

  test.each([
    ['float32', 9.969209968386869e36],
    ['int16', -32767],
    ['int8', undefined],
  ])('without any declared, zeros of %s are numbers, and the default fill value %s is missing', async (name, fill) => {
    expect(await imported(name, [0, 3, 0], {})).toEqual([fill, [0, 3, 0], { nullCount: 0, min: 0, max: 3 }])
    if (fill === undefined) return
    expect(await imported(name, [0, 3, fill], {})).toEqual([fill, [0, 3, fill], { nullCount: 1, min: 0, max: 3 }])
    // If other values are declared, the default fill value becomes the first of them.
    const declared = await imported(name, [0, -8, fill], { missing_value: [-8] })
    expect(declared).toEqual([-8, [0, -8, -8], { nullCount: 2, min: 0, max: 0 }])
  })

  test('of bytes are those that are declared; -127 is a number', async () => {
    expect(await imported('int8', [0, 3, -127], {})).toEqual([undefined, [0, 3, -127], { nullCount: 0, min: -127, max: 3 }])
    const both = await imported('int8', [0, -127, -8], { missing_value: [-8] })
    expect(both).toEqual([-8, [0, -127, -8], { nullCount: 1, min: -127, max: 0 }])
  })

  test.each(['float32', 'int16'])('of which there is one are equal to the fill value: %s', async (name) => {
    for (const attribute of ['_FillValue', 'missing_value'])
      expect(await imported(name, [0, 3, -9], { [attribute]: [-9] })).toEqual([-9, [0, 3, -9], { nullCount: 1, min: 0, max: 3 }])
  })

  test.each(['float32', 'int16'])('of which there are several become the fill value: %s', async (name) => {
    const both = { missing_value: [-8, -7], _FillValue: [-9] }
    const expected = [-9, [0, -9, -9, -9], { nullCount: 3, min: 0, max: 0 }]
    expect(await imported(name, [0, -7, -8, -9], both)).toEqual(expected)
    const listed = { missing_value: [-8, -7] }
    expect(await imported(name, [0, -7, -8, -9], listed)).toEqual([-8, [0, -8, -8, -9], { nullCount: 2, min: -9, max: 0 }])
  })

  test('of which one is NaN become NaN', async () => {
    const { NaN: nan } = Number
    const both = { missing_value: [-8], _FillValue: [nan] }
    expect(await imported('float32', [0, -8, nan], both)).toEqual([nan, [0, nan, nan], { nullCount: 2, min: 0, max: 0 }])
  })
})
