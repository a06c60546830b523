import { describe, expect, test } from 'vitest'
import { divideBy } from '../../src/array/reductions/reductions.ts'
import { reduceUnits, reduceWhole, unitsAlong } from '../../src/array/reductions/units.ts'
import type { BlockSource } from '../../src/array/source.ts'
import { allocate, elementBytes, type FixedDType, isBigInt, isFloat, type TypedArray } from '../../src/core/dtype.ts'
import { ChunkGrid, RegularChunks } from '../../src/grid/chunks.ts'
import { IrregularChunks } from '../../src/grid/irregular-chunks.ts'
import { type Box, boxShape } from '../../src/grid/range.ts'

const ROWS = 12
/** So many that units are longer than a chunk. */
const COLUMNS = 2 ** 16 + 6

const regular = new ChunkGrid([new RegularChunks(1, ROWS), new RegularChunks(COLUMNS, COLUMNS)])
const irregular = new ChunkGrid([IrregularChunks.ofLengths([1, 1, 1, 1, 3, 1, 1, 1, 2]), new RegularChunks(COLUMNS, COLUMNS)])

/** Values whose sums depend on the order of terms; every seventh is missing. */
function sourceOf(dtype: FixedDType, chunks: ChunkGrid): { source: BlockSource; data: TypedArray; reads: Box[] } {
  const data = allocate(dtype, ROWS * COLUMNS) as TypedArray
  const value = (i: number): number =>
    i % 7 === 3 ? 5 : isFloat(dtype) ? ((i * 7919) % 1000) * 10 ** (i % 6) + 0.1 : (i * 7919) % 100
  for (let i = 0; i < data.length; i++) data[i] = (isBigInt(dtype) ? BigInt(value(i)) : value(i)) as never
  const reads: Box[] = []
  const source = {
    dtype,
    shape: [ROWS, COLUMNS],
    chunks,
    fillValue: (isBigInt(dtype) ? 5n : 5) as never,
    readBlock: (box: Box, out: { data: unknown }) => {
      reads.push(box)
      const [{ start, stop }] = box as [Box[number], ...Box]
      ;(out.data as TypedArray).set(data.subarray(start * COLUMNS, stop * COLUMNS) as never)
    },
  } as unknown as BlockSource
  return { source, data, reads }
}

const RUNS = [
  ['min', true],
  ['max', false],
  ['mean', true],
  ['mean', false],
  ['extrema', true],
  ['extrema', false],
  ['argMin', true],
  ['variance', false],
] as const

/** The bytes of a result; of extrema those of both. */
function bytesOf(result: unknown): Buffer {
  const { data, min, max } = result as { data?: TypedArray; min: { data: TypedArray }; max: { data: TypedArray } }
  const arrays = data === undefined ? [min.data, max.data] : [data]
  return Buffer.concat(arrays.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)))
}

const rowBytes = (dtype: FixedDType): number => COLUMNS * elementBytes(dtype)

describe('units of many cells', () => {
  test('are longer, as far as they get no more cells by that', () => {
    const { source } = sourceOf('float32', regular)
    const unitBytes = rowBytes('float32')
    const along = unitsAlong(source, unitBytes, [true, false])
    expect([along.pieces.count, along.units.count]).toEqual([ROWS, ROWS / 2])
    const across = unitsAlong(source, unitBytes, [false, true])
    expect([across.pieces.count, across.units.count]).toEqual([ROWS, ROWS])
    expect(unitsAlong(source, unitBytes, [true, true]).units.count).toBe(ROWS)
  })

  test.each([
    ['float32', 'regular', regular],
    ['uint8', 'irregular', irregular],
    ['int64', 'regular', regular],
  ] as const)('of %s in %s chunks: each chunk is read once, in pieces', async (dtype, _, chunks) => {
    const { source, data, reads } = sourceOf(dtype, chunks)
    const columns = { axis: 0 as const }
    const cell = (column: number): (number | bigint)[] => Array.from({ length: ROWS }, (_, row) => data[row * COLUMNS + column]!)
    for (const [method, skipMissing] of RUNS) {
      const divided = divideBy(method, source, { ...columns, skipMissing } as never, [], rowBytes(dtype))
      reads.length = 0
      const result = (await reduceWhole(divided, {})) as never
      expect(divided.units.count).toBeLessThan(chunks.count)
      expect(reads.reduce((sum, box) => sum + boxShape(box)[0]!, 0)).toBe(ROWS)
      const parts: unknown[] = []
      for (let unit = 0; unit < divided.units.count; unit++) parts.push(await reduceUnits(divided, unit, unit + 1, {}))
      const byUnits = divided.finish(divided.merge(parts))
      expect(Buffer.compare(bytesOf(byUnits), bytesOf(result))).toBe(0)
      const { data: found, min, max } = result as { data: TypedArray; min: { data: TypedArray }; max: { data: TypedArray } }
      for (let column = 0; column < COLUMNS; column += 997) {
        const all = cell(column)
        const own = all.filter((value) => !skipMissing || Number(value) !== 5)
        const numbers = own.map(Number)
        const mean = numbers.reduce((a, b) => a + b, 0) / own.length
        const squares = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0) / own.length
        const [least, most] = [Math.min(...numbers), Math.max(...numbers)]
        if (method === 'extrema') expect([min, max].map((each) => Number(each.data[column]))).toEqual([least, most])
        else if (method === 'min' || method === 'max') expect(Number(found[column])).toBe(method === 'min' ? least : most)
        else if (method === 'argMin') expect(found[column]).toBe(all.map(Number).indexOf(least))
        else expect(Number(found[column]) / (method === 'mean' ? mean : squares)).toBeCloseTo(1, 10)
      }
    }
  })
})
