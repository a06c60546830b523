import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeBase64 } from '../../src/core/base64.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { local, planJob } from '../../src/runtime/cluster.ts'
import { type DiskArray, open, points, slice } from '../../src/runtime/index.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'

const folder = mkdtempSync(join(tmpdir(), 'hyperslab-elements-'))
const at = (name: string): string => join(folder, name)
afterAll(() => rmSync(folder, { recursive: true }))

const ROWS = 6
/** Small units and tasks, so that a job of a few elements has several. */
const TINY = { unitBytes: 1, taskBytes: 16 }

/** A structure of an integer and a list of two floats. */
function structure(i: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(10))
  view.setInt16(0, i, true)
  view.setFloat32(2, i + 0.5, true)
  view.setFloat32(6, -i, true)
  return new Uint8Array(view.buffer)
}

/** Values of the complex array `z` and of the field `table/pair`; the last chunk of both is not stored. */
const Z = Float32Array.from({ length: 2 * ROWS }, (_, i) => (i < 8 ? i : [7, -1][i % 2]!))
const PAIR = Array.from({ length: ROWS }, (_, row) => (row < 4 ? row : 9)).flatMap((i) => [i + 0.5, -i])

beforeAll(async () => {
  const group = await createZarr(at('a.zarr'))
  const options = { shape: [ROWS, 2], chunks: [2, 2], fillValue: [7, -1], dimensionNames: ['row', 'complex'] } as const
  await (await group.createArray('z', { dtype: 'complex64', ...options })).set([slice(0, 4)], Z.subarray(0, 8))
  const dtype = [
    ['id', '<i2'],
    ['pair', '<f4', [2]],
  ]
  const fill = encodeBase64(structure(9))
  const metadata = {
    zarr_format: 2,
    shape: [ROWS],
    chunks: [2],
    dtype,
    fill_value: fill,
    order: 'C',
    filters: null,
    compressor: null,
  }
  mkdirSync(at('2.zarr/table'), { recursive: true })
  writeFileSync(at('2.zarr/.zgroup'), JSON.stringify({ zarr_format: 2 }))
  writeFileSync(at('2.zarr/table/.zarray'), JSON.stringify(metadata))
  for (const chunk of [0, 1])
    writeFileSync(at(`2.zarr/table/${chunk}`), Buffer.concat([0, 1].map((k) => structure(2 * chunk + k))))
})

const CASES = [
  ['complex numbers', 'a.zarr', 'z', [...Z]],
  ['the list of a field', '2.zarr', 'table/pair', PAIR],
] as const

test.each(CASES)('jobs copy %s into containers and Zarr', async (_, place, array, values) => {
  for (const name of [`${place}.af`, `${place}.copy.zarr`]) {
    const job = { method: 'copy', source: { arrays: { x: { location: at(place), array } } }, target: at(name) } as const
    const plan = await planJob(job, TINY)
    await local().run(plan)
    const copy = name.endsWith('.af') ? (await open(at(name))).array('x') : await openZarr(at(`${name}/x`), { kind: 'array' })
    expect([copy.shape, [...((await copy.toTensor()).data as Float32Array)]], name).toEqual([[ROWS, 2], values])
  }
})

test.each(CASES)('reductions of %s by jobs, and of views, are those of their values', async (_, place, array, values) => {
  const source = { location: at(place), array }
  const column = (part: number, rows: readonly number[]): number[] => rows.map((row) => values[2 * row + part]!)
  const rows = Array.from({ length: ROWS }, (_, row) => row)
  const sums = [0, 1].map((part) => column(part, rows).reduce((sum, value) => sum + value))
  const job = (await local().run(await planJob({ method: 'sum', source, options: { axis: 0 } }, TINY))) as Tensor
  expect([...(job.data as Float64Array)]).toEqual(sums)
  const read = (await (await openZarr(at(place), { kind: 'group' })).array(array)) as DiskArray<'float32', 2>
  expect([...(await read.sum({ axis: 0 })).data]).toEqual(sums)
  const picked = [5, 0, 3, 0]
  const view = read.view([picked])
  expect([...(await view.view([null, 1]).get()).data]).toEqual(column(1, picked))
  expect([...(await view.max({ axis: 0 })).data]).toEqual([0, 1].map((part) => Math.max(...column(part, picked))))
  const taken = read.view([
    points([
      [5, 1],
      [1, 0],
    ]),
  ])
  expect([...(await taken.get()).data]).toEqual([values[11], values[2]])
  expect(await taken.sum()).toBe(values[11]! + values[2]!)
})
