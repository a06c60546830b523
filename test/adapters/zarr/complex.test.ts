import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import type { ZarrArray } from '../../../src/adapters/zarr/group.ts'
import type { NewZarrArray, ZarrCodec } from '../../../src/adapters/zarr/write/new-array.ts'
import type { DType } from '../../../src/core/dtype.ts'
import { sizeOf } from '../../../src/core/shape.ts'
import { slice } from '../../../src/grid/slice.ts'
import { createZarr, openZarr, verifyZarr } from '../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { byBudget, seedOf } from '../../support/budget.ts'
import { zarrPython } from '../../support/python.ts'
import { AskedStore } from './handmade.ts'
import { asRead, elementFor, lengthOf, Model, Random, readBack, someSlices } from './write/support.ts'

const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

/** Big-endian complex128 of version 2 in order F: element [i, j] is i + 10 j, its imaginary part -i. */
async function handmade(fill: unknown): Promise<{ asked: AskedStore; array: ZarrArray<'float64', 3> }> {
  const asked = new AskedStore()
  const metadata = { zarr_format: 2, shape: [3, 4], chunks: [2, 3], dtype: '>c16', fill_value: fill }
  await asked.inner.put('x/.zarray', json({ ...metadata, order: 'F', filters: null, compressor: null }))
  for (const [key, row, column] of [
    ['0.0', 0, 0],
    ['1.0', 2, 0],
    ['0.1', 0, 3],
  ] as const) {
    const chunk = new DataView(new ArrayBuffer(2 * 3 * 16))
    for (let j = 0; j < 3; j++)
      for (let i = 0; i < 2; i++) {
        chunk.setFloat64(16 * (2 * j + i), row + i + 10 * (column + j))
        chunk.setFloat64(16 * (2 * j + i) + 8, -(row + i))
      }
    await asked.inner.put(`x/${key}`, new Uint8Array(chunk.buffer))
  }
  const array = await openZarr({ store: asked.store, path: 'x' }, { kind: 'array' })
  asked.take()
  return { asked, array: array as ZarrArray<'float64', 3> }
}

describe('complex numbers', () => {
  test('are floats with an axis of both parts at the end, which chunks never cut', async () => {
    const { array, asked } = await handmade([0, 0])
    expect([array.dtype, array.shape, array.dimensionNames]).toEqual(['float64', [3, 4, 2], ['', '', 'complex']])
    expect([array.chunks.chunkShape, array.fillValue]).toEqual([[2, 3, 2], 0])
    expect((await array.get([1, slice(1, 4)])).data).toEqual(Float64Array.of(11, -1, 21, -1, 31, -1))
    expect(asked.take()).toEqual(['get x/0.0', 'get x/0.1'])
    expect((await array.get([2, null, 1])).data).toEqual(Float64Array.of(-2, -2, -2, 0))
    expect(asked.take()).toEqual(['get x/1.0', 'get x/1.1'])
    expect((await array.sum({ axis: [0, 1] })).data).toEqual(Float64Array.of(60 + 64 + 36, -4 - 6))
  })

  test('have pairs as fill values, which unwritten chunks read as without a request of their own', async () => {
    const { array, asked } = await handmade(['NaN', -2])
    expect(array.fillValue).toBe(undefined)
    expect((await array.get([2, 3])).data).toEqual(Float64Array.of(Number.NaN, -2))
    expect(asked.take()).toEqual(['get x/1.1'])
    expect((await array.toTensor()).data.slice(-4)).toEqual(Float64Array.of(22, -2, Number.NaN, -2))
    expect(asked.take()).toEqual(['get x/0.0', 'get x/0.1', 'get x/1.0'])
    expect((await array.min({ axis: [0, 1], skipNaN: true })).data).toEqual(Float64Array.of(0, -2))
    const reported: number[] = []
    await array.get([2, 3], { onProgress: ({ absent }) => reported.push(absent) })
    expect(reported.at(-1)).toBe(1)
  })

  test.each([
    [{ shape: [4, 3] }, /shape must end with the length 2/],
    [{ shape: [] }, /shape must end with the length 2/],
    [{ shape: [4, 2], chunks: [4, 1] }, /chunks must end with the length 2/],
    [{ shape: [4, 2], chunks: [2, 2], shards: [4, 4] }, /shards must end with the length 2/],
    [{ shape: [4, 2], dimensionNames: ['x', 'part'] }, /dimensionNames must end with 'complex'/],
    [{ shape: [4, 2], fillValue: 1 as never }, /`fillValue` is a list of the real and the imaginary part/],
    [{ shape: [4, 2], fillValue: [1, '2'] as never }, /2.? is not a float32 value/],
  ])('are not created from %j', async (options, message) => {
    const group = await createZarr({ store: new MemoryStore(), path: 'a.zarr' })
    const made = group.createArray('x', { dtype: 'complex64', ...options })
    await expect(made).rejects.toMatchObject({ tag: 'InvalidArgumentError', message: expect.stringMatching(message) })
  })

  test('grow and shrink along all axes but their own', async () => {
    const place = { store: new MemoryStore(), path: 'a.zarr' }
    const group = await createZarr(place)
    const names = { dimensionNames: ['x', 'complex'], attributes: { _FillValue: [1, 2], units: 'V' } }
    const x = await group.createArray('x', { dtype: 'complex64', shape: [3, 2], chunks: [2, 2], fillValue: [1, -2], ...names })
    await x.append('x', [5, 6, 7, 8])
    await x.resize({ x: 4 })
    await x.resize([6, 2])
    await x.updateAttributes({ units: 'mV' })
    const read = [1, -2, 1, -2, 1, -2, 5, 6, 1, -2, 1, -2]
    for (const array of [x, (await openZarr({ ...place, path: 'a.zarr/x' }, { kind: 'array' })) as typeof x]) {
      expect((await array.toTensor()).data).toEqual(Float32Array.from(read))
      expect(Object.fromEntries(array.attrs)).toEqual({ _FillValue: ['AAAAAAAA8D8=', 'AAAAAAAAAEA='], units: 'mV' })
      expect(array.dimensionNames).toEqual(['x', 'complex'])
    }
    for (const wrong of [3, [1], [1, 2, 3], ['a', 'b']])
      await expect(x.updateAttributes({ _FillValue: wrong })).rejects.toMatchObject({
        tag: 'InvalidArgumentError',
        message: expect.stringContaining('is the real and the imaginary part of one complex64 value'),
      })
    await expect(x.resize([6, 3])).rejects.toThrow(/axis 1 has the 2 parts of complex64 and keeps this length, got 3/)
    await expect(x.append('complex', new Float32Array(6))).rejects.toThrow(/keeps this length, got 3/)
    expect((await verifyZarr(place)).findings).toEqual([])
  })

  test('are stored only where they differ from the pair of the fill value', async () => {
    const store = new MemoryStore()
    const group = await createZarr({ store, path: 'a.zarr' })
    const x = await group.createArray('x', { dtype: 'complex128', shape: [4, 2], chunks: [2, 2], fillValue: [0, -0] })
    await x.set([[0, 1]], [0, -0, 0, -0])
    await x.set([3], [0, 0])
    expect((await store.list('a.zarr/x/c')).sort()).toEqual(['a.zarr/x/c/1'])
    expect((await x.toTensor()).data).toEqual(Float64Array.of(0, -0, 0, -0, 0, -0, 0, 0))
  })
})

const env = zarrPython()
const folder = mkdtempSync(join(tmpdir(), 'hyperslab-complex-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** More cases and another seed, for long runs. */
const COUNT = byBudget({ quick: 30, full: 60, soak: 1000 })
const SEED = seedOf('written complex numbers', 20261126)

test.skipIf(env === undefined)(
  'complex arrays that are written read the same here and in zarr-python',
  { timeout: 120_000 },
  async () => {
    const random = new Random(SEED)
    const place = join(folder, 'a.zarr')
    const group = await createZarr(place)
    const models: Model[] = []
    for (let number = 0; number < COUNT; number++) {
      const dtype = random.pick(['complex64', 'complex128'] as const)
      const part: DType = dtype === 'complex64' ? 'float32' : 'float64'
      const rank = random.pick([0, 1, 2, 3])
      const shape = Array.from({ length: rank }, () => random.between(1, [1, 60, 20, 9][rank]!))
      const chunks = shape.map((length) => random.between(1, length + 2))
      const shards = random.chance(50) && rank > 0 ? chunks.map((length) => length * random.between(1, 3)) : undefined
      const fill = random.chance(70) ? ([elementFor(random, part), elementFor(random, part)] as [number, number]) : undefined
      const order = shape.map((_, axis) => rank - 1 - axis)
      const codecs: ZarrCodec[] = random.chance(50) ? [{ name: 'transpose', configuration: { order } }] : []
      codecs.push({ name: 'bytes', configuration: { endian: random.pick(['little', 'big']) } })
      for (const name of ['blosc', 'gzip', 'crc32c', 'zstd']) if (random.chance(30)) codecs.push({ name })
      const options = { dtype, shape: [...shape, 2], chunks: [...chunks, 2], shards: shards && [...shards, 2], fillValue: fill }
      const array = await group.createArray(`${number}`, {
        ...options,
        ...(random.chance(60) && { codecs }),
      } as NewZarrArray<'complex64'>)
      const model = new Model(part, options.shape, 0)
      for (let i = 0; i < model.data.length; i++) model.data[i] = (fill?.[i % 2] ?? 0) as never
      for (let left = random.below(4); left > 0; left--) {
        const slices = someSlices(random, model.shape)
        const values = Array.from({ length: sizeOf(slices.map(lengthOf)) }, () => elementFor(random, part))
        model.set(slices, values)
        await array.set(slices, values as number[])
      }
      const again = await openZarr(join(place, `${number}`), { kind: 'array' })
      for (const each of [array, again]) expect((await each.toTensor()).data, JSON.stringify(options)).toEqual(model.data)
      models.push(model)
    }
    const answers = readBack(
      env!,
      place,
      'zarr',
      models.map((_, number) => `${number}`),
    )
    for (const [number, model] of models.entries()) {
      const { shape, ...elements } = asRead(model)
      expect(answers[number], `${number} of seed ${SEED}`).toEqual({ path: `${number}`, shape: shape.slice(0, -1), ...elements })
    }
    expect((await verifyZarr(place)).findings).toEqual([])
  },
)

test.skipIf(env === undefined)('xarray reads the pair of missing elements', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-complex-'))
  try {
    const group = await createZarr(join(folder, 'a.zarr'))
    const attributes = { _FillValue: [1, -2.5] }
    for (const dtype of ['complex64', 'complex128'] as const) {
      const z = await group.createArray(dtype, { dtype, shape: [2, 2], dimensionNames: ['x', 'complex'], attributes })
      await z.set(null, [1, -2.5, 3, 4])
    }
    const program = `
import sys, numpy, xarray
ds = xarray.open_zarr(sys.argv[1], consolidated=False)
print([(complex(ds[n].encoding["_FillValue"]), bool(numpy.isnan(ds[n].values[0])), complex(ds[n].values[1])) for n in ("complex64", "complex128")])`
    const { stdout } = await promisify(execFile)('python3', ['-c', program, join(folder, 'a.zarr')], { env })
    expect(stdout.trim()).toBe('[((1-2.5j), True, (3+4j)), ((1-2.5j), True, (3+4j))]')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
