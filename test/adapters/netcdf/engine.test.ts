import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import type { DiskArray } from '../../../src/array/disk-array.ts'
import { findWhere } from '../../../src/array/find-where.ts'
import { coordsAt, sizeOf, stridesOf } from '../../../src/core/shape.ts'
import { tensorOf } from '../../../src/core/tensor.ts'
import { slice as range } from '../../../src/grid/slice.ts'
import type { WorkerPool } from '../../../src/pool/task.ts'
import { createPool, points } from '../../../src/runtime/index.ts'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { sourceConformance } from '../../../src/testing/index.ts'
import { runs } from '../../support/budget.ts'
import { testAll } from '../../support/conformance.ts'
import { type WriterFile, type WriterType, writeNetcdf } from '../../support/netcdf-writer.ts'
import { CountingFile, HugeFile, open, variable } from './support.ts'

const DTYPES = { byte: 'int8', short: 'int16', int: 'int32', float: 'float32', double: 'float64' } as const
type Numeric = keyof typeof DTYPES

/**
 * A variable of distinct small numbers, alone or beside another one of the same records, whose size no
 * element divides.
 */
function fileOf(type: Numeric, shape: readonly number[], { isRecord = false, alone = true } = {}): WriterFile {
  const names = shape.map((_, axis) => `d${axis}`)
  const values = Array.from({ length: sizeOf(shape) }, (_, i) => ((i * 31 + 7) % 251) - 125)
  const other = { name: 'other', type: 'int' as WriterType, dimensions: ['d0'], values: new Array<number>(shape[0] ?? 0).fill(3) }
  return {
    version: 2,
    dimensions: shape.map((length, axis) => [names[axis]!, axis === 0 && isRecord ? 0 : length]),
    records: isRecord ? shape[0]! : 0,
    variables: [{ name: 'v', type, dimensions: names, values }, ...(alone ? [] : [other])],
  }
}

const KINDS = [
  ['fixed', { isRecord: false, alone: true }],
  ['records alone, which are not padded', { isRecord: true, alone: true }],
  ['records beside others', { isRecord: true, alone: false }],
] as const

describe.each(KINDS)('%s', (_, kind) => {
  testAll(
    sourceConformance(async () => {
      const file = fileOf('double', [7, 5, 3], kind)
      const content = tensorOf('float64', [7, 5, 3])
      content.data.set(file.variables![0]!.values)
      return { source: variable(await open(file), 'v').source, content } as never
    }),
  )
})

const cases = fc.record({
  type: fc.constantFrom<Numeric>('byte', 'short', 'int', 'float', 'double'),
  shape: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
  kind: fc.constantFrom(...KINDS.map(([, kind]) => kind)),
  picks: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 24, maxLength: 24 }),
  axes: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
})

/** Returns the values of each cell of a reduction that keeps some axes, by the obvious loop. */
function cellsOf(values: readonly number[], shape: readonly number[], reduced: readonly boolean[]): number[][] {
  const kept = shape.filter((_, axis) => !reduced[axis])
  const stride = stridesOf(kept)
  const cells: number[][] = Array.from({ length: sizeOf(kept) }, () => [])
  values.forEach((value, i) => {
    const index = coordsAt(i, shape).filter((_, axis) => !reduced[axis])
    cells[index.reduce((sum, k, axis) => sum + k * stride[axis]!, 0)]!.push(value)
  })
  return cells
}

const plain = (result: unknown): number[] =>
  typeof result === 'object' && result !== null ? Array.from((result as { data: ArrayLike<number> }).data) : [result as number]

describe('what is reduced, gathered and searched where it lies is what is in the file', () => {
  test('reductions of all and along axes', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ type, shape, kind, axes }) => {
        const written = fileOf(type, shape, kind)
        const { values } = written.variables![0]!
        const array = variable(await open(written), 'v') as unknown as DiskArray<'float64'>
        for (const reduced of [shape.map(() => true), shape.map((_, axis) => axes[axis]!)]) {
          const axis = [...shape.keys()].filter((k) => reduced[k])
          if (axis.length === 0) continue
          const cells = cellsOf(values, shape, reduced)
          const sums = cells.map((cell) => cell.reduce((a, b) => a + b, 0))
          const options = axis.length === shape.length ? undefined : { axis }
          expect(plain(await array.sum(options as never))).toEqual(sums)
          expect(plain(await array.min(options as never))).toEqual(cells.map((cell) => Math.min(...cell)))
          expect(plain(await array.max(options as never))).toEqual(cells.map((cell) => Math.max(...cell)))
          const means = plain(await array.mean(options as never))
          for (const [i, mean] of means.entries()) expect(mean).toBeCloseTo(sums[i]! / cells[i]!.length, 10)
          const variances = plain(await array.variance(options as never))
          variances.forEach((found, i) => {
            const mean = sums[i]! / cells[i]!.length
            expect(found).toBeCloseTo(cells[i]!.reduce((sum, x) => sum + (x - mean) ** 2, 0) / cells[i]!.length, 8)
          })
        }
        const least = values.indexOf(Math.min(...values))
        expect(await array.argMin()).toBe(least)
        expect(await findWhere(array, { min: 50 }).count()).toBe(values.filter((value) => value >= 50).length)
        const part = array.view(shape.map((_, axis) => (axes[axis] ? range(null, null, 2) : null)) as never)
        const wanted = values.filter((_, i) => coordsAt(i, shape).every((k, axis) => !axes[axis] || k % 2 === 0))
        expect(await findWhere(part, { min: 50 }).count()).toBe(wanted.filter((value) => value >= 50).length)
      }),
      { numRuns: 60 },
    )
  })

  test('lists, points and masks, in any order and more than once', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ type, shape, kind, picks, axes }) => {
        const written = fileOf(type, shape, kind)
        const { values } = written.variables![0]!
        const array = variable(await open(written), 'v') as unknown as DiskArray<'float64'>
        const stride = stridesOf(shape)
        const at = (index: readonly number[]): number => values[index.reduce((sum, k, axis) => sum + k * stride[axis]!, 0)]!
        const lists = shape.map((length, axis) =>
          axes[axis] ? picks.slice(axis * 6, axis * 6 + 6).map((pick) => Math.floor(pick * length)) : null,
        )
        const places = lists.map((list, axis) => list ?? [...Array(shape[axis]).keys()])
        const wanted = Array.from(
          { length: sizeOf(places.map((own) => own.length)) },
          (_, i) =>
          at(coordsAt(i, places.map((own) => own.length)).map((k, axis) => places[axis]![k]!)), // biome-ignore format: one line
        )
        expect(plain(await array.get(lists as never))).toEqual(wanted)
        const tuples = Array.from({ length: 6 }, (_, i) => shape.map((length, axis) => Math.floor(picks[axis * 6 + i]! * length)))
        expect(plain(await array.get(points(tuples) as never))).toEqual(tuples.map(at))
        const mask = Uint8Array.from(values, (value) => (value % 3 === 0 ? 1 : 0))
        if (mask.includes(1))
          expect(plain(await array.get({ data: mask, shape } as never))).toEqual(values.filter((_, i) => mask[i] === 1))
      }),
      { numRuns: runs(100) },
    )
  })

  test('a plan counts the requests that reading makes', async () => {
    const counting = new CountingFile(writeNetcdf(fileOf('float', [4, 300, 150], { isRecord: true, alone: false })))
    const array = variable(await openNetcdf(counting), 'v')
    for (const selection of [
      [null],
      [2, 10],
      [null, 10],
      [null, null, 7],
      [null, range(0, 300, 150), 7],
      [range(1, 3), range(5, 9)],
    ]) {
      counting.slices = []
      await array.get(selection as never)
      expect([selection, (await array.plan(selection as never)).requests]).toEqual([selection, counting.slices.length])
    }
    counting.slices = []
    expect(await findWhere(array.view([range(1, 3), range(5, 9)]), { min: -Infinity }).count()).toBe(2 * 4 * 150)
    // Reads only the selected parts of the two records.
    expect([counting.slices.length, counting.bytesRead]).toEqual([2, 2 * 4 * 600])
    counting.slices = []
    await array.get([null, [0, 299]])
    // Two rows of each record, 178 800 bytes apart.
    expect([counting.slices.length, counting.bytesRead]).toEqual([8, 8 * 600])
  })
})

test('records beyond 4 GiB are read where they are', async () => {
  const head = writeNetcdf({
    dimensions: [
      ['time', 0],
      ['x', 2 ** 20],
    ],
    variables: [{ name: 'v', type: 'double', dimensions: ['time', 'x'], values: [] }],
  })
  const view = new DataView(head.buffer)
  const records = 1000
  view.setUint32(4, records)
  const file = new HugeFile(head, head.length + records * 2 ** 23)
  const slice = file.slice.bind(file)
  file.slice = async (start, end) => {
    const bytes = await slice(start, end)
    const inBytes = new DataView(bytes)
    if (start < head.length) return bytes
    for (let at = 0; at + 8 <= end - start; at += 8) inBytes.setFloat64(at, (start + at - head.length) / 8)
    return bytes
  }
  const array = variable(await openNetcdf(file), 'v')
  file.slices = []
  expect(await array.get([900, 5])).toBe(900 * 2 ** 20 + 5)
  expect(file.slices).toEqual([[head.length + 900 * 2 ** 23 + 40, head.length + 900 * 2 ** 23 + 48]])
  expect(plain(await array.get([[1, 999], [3, 2 ** 20 - 1]]))).toEqual([1, 999].flatMap((t) => [3, 2 ** 20 - 1].map((x) => t * 2 ** 20 + x))) // biome-ignore format: one line
  expect(await array.view([range(998, 1000)]).max()).toBe(1000 * 2 ** 20 - 1)
})

describe('with workers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'netcdf-'))
  const pool = createPool({ size: 2 })
  afterAll(async () => {
    await pool.close()
    rmSync(folder, { recursive: true })
  })

  test.each(['a file, which they read', 'bytes, which they are sent'])('of %s', async (place) => {
    const shape = [3, 300, 300]
    const isFile = place.startsWith('a file')
    const bytes = writeNetcdf(fileOf('float', shape, { isRecord: true, alone: false }))
    const path = join(folder, 'a.nc')
    writeFileSync(path, bytes)
    const done: string[] = []
    const watched: WorkerPool = {
      size: 2,
      decodes: () => false,
      run: async (packed, task, use, signal) => {
        const answer = await pool.run(packed, task, use, signal)
        done.push(`${task.kind} ${packed.input instanceof Uint8Array ? 'bytes' : 'file'} ${answer !== undefined}`)
        return answer
      },
    }
    const file = await openNetcdf(isFile ? path : new CountingFile(bytes), { pool: watched })
    const array = variable(file, 'v') as unknown as DiskArray<'float32'>
    const values = fileOf('float', shape).variables![0]!.values
    expect(await array.sum()).toBe(values.reduce((a, b) => a + b, 0))
    expect((await array.get(null)).data).toEqual(Float32Array.from(values))
    const maxima = Array.from({ length: 900 }, (_, row) => Math.max(...values.slice(row * 300, row * 300 + 300)))
    expect((await array.max({ axis: 2 })).data).toEqual(Float32Array.from(maxima))
    expect(await array.get([1, 2, 3])).toBe(values[90_603])
    // Bytes are not sent to workers only to be copied back, and small reads run on this thread.
    expect(done).toEqual(
      isFile ? ['reduce file true', 'decode file true', 'reduce file true'] : ['reduce bytes true', 'reduce bytes true'],
    )
    if (isFile) {
      writeFileSync(path, bytes.subarray(0, bytes.length - 8))
      await expect(array.sum()).rejects.toMatchObject({ tag: 'ConflictError' })
      expect(done.at(-1)).toBe('reduce file false')
    }
    await file.close()
    await expect(array.sum()).rejects.toMatchObject({ tag: 'ClosedError' })
  })
})
