import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { indexAt } from '../../../src/core/axis-indices.ts'
import { coordsAt, sizeOf } from '../../../src/core/shape.ts'
import { elementsOf, MAX_GAP_BYTES, MAX_REQUEST_BYTES } from '../../../src/engine/strided-reader.ts'
import { slice } from '../../../src/grid/slice.ts'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { runs } from '../../support/budget.ts'
import { writeNetcdf } from '../../support/netcdf-writer.ts'
import { CountingFile, HugeFile, variable } from './support.ts'

const MiB = 1024 * 1024

/** `float v(y, x)` of 100 x 1000 with its element numbers as values. */
async function plane() {
  const values = Array.from({ length: 100_000 }, (_, i) => i)
  const dimensions: [string, number][] = [
    ['y', 100],
    ['x', 1000],
  ]
  const counting = new CountingFile(
    writeNetcdf({ dimensions, variables: [{ name: 'v', type: 'float', dimensions: ['y', 'x'], values }] }),
  )
  const array = variable(await openNetcdf(counting), 'v')
  counting.slices = []
  return { counting, array, begin: counting.byteLength - 400_000 }
}

/** A variable in a file that exists only on paper. */
async function huge(
  dimensions: [string, number][],
  variables: { name: string; type: 'float' | 'double' | 'char'; dimensions: string[] }[],
  records = 0,
) {
  // The writer is given no values, so that the number of records and the begins are put in by hand.
  const head = writeNetcdf({ dimensions, variables: variables.map((one) => ({ ...one, values: [] })) })
  const view = new DataView(head.buffer)
  view.setUint32(4, records)
  // The begins are the words behind the vsizes of all ones.
  let begin = head.length
  const growing = dimensions.find(([, length]) => length === 0)?.[0]
  const bytes = (one: { type: string; dimensions: string[] }) =>
    one.dimensions.reduce(
      (size, name) => size * (dimensions.find((d) => d[0] === name)![1] || 1),
      { float: 4, double: 8, char: 1 }[one.type]!,
    )
  const places = [...head.keys()].filter((at) => at % 4 === 0 && view.getUint32(at) === 0xffffffff).map((at) => at + 4)
  let stride = 0
  const begins = variables.map((one, i) => {
    view.setUint32(places[i]!, begin)
    const start = begin
    begin += bytes(one)
    if (one.dimensions[0] === growing) stride += bytes(one)
    return start
  })
  const file = new HugeFile(head, begin + Math.max(0, records - 1) * stride)
  const opened = await openNetcdf(file)
  file.slices = []
  return { file, opened, begins, stride }
}

describe('requests', () => {
  test('a contiguous box is one', async () => {
    const { counting, array, begin } = await plane()
    expect((await array.get([slice(10, 20), null])).data[0]).toBe(10_000)
    expect(counting.slices).toEqual([[begin + 40_000, begin + 80_000]])
  })

  test('one element is its own bytes', async () => {
    const { counting, array, begin } = await plane()
    expect(await array.get([99, 999])).toBe(99_999)
    expect(counting.slices).toEqual([[begin + 399_996, begin + 400_000]])
  })

  test('small gaps are read over, no further than the last element', async () => {
    const { counting, array, begin } = await plane()
    const { data } = await array.get([slice(null, null, 10), slice(5, 995, 5)])
    expect([data.length, data[0], data.at(-1)]).toEqual([10 * 198, 5, 90_990])
    expect(counting.slices).toEqual([[begin + 20, begin + 4 * 90_990 + 4]])
  })

  test('large gaps are not', async () => {
    const { counting, array, begin } = await plane()
    const { data } = await array.get([slice(null, null, 20), 7])
    expect([...data]).toEqual([7, 20_007, 40_007, 60_007, 80_007])
    expect(counting.slices).toEqual([0, 1, 2, 3, 4].map((i) => [begin + i * 80_000 + 28, begin + i * 80_000 + 32]))
    expect(counting.bytesRead).toBe(20)
  })

  test('a gap of exactly 64 KiB is the largest', () => {
    const plan = (step: number) =>
      elementsOf({ elementBytes: 4, bigEndian: true }, 100, [{ length: 3, step }]).reads.map(({ offset, length, before }) => [
        offset,
        length,
        before,
      ])
    expect(plan(MAX_GAP_BYTES + 4)).toEqual([[100, 2 * MAX_GAP_BYTES + 12, 0]])
    expect(plan(MAX_GAP_BYTES + 5)).toEqual([
      [100, 4, 0],
      [100 + 65541, 4, 1],
      [100 + 131082, 4, 2],
    ])
    const listed = (offsets: number[]) =>
      elementsOf({ elementBytes: 4, bigEndian: true }, 0, [{ length: 3, step: 0, offsets: Float64Array.from(offsets) }]).reads
    expect(listed([0, MAX_GAP_BYTES + 4, MAX_GAP_BYTES + 8]).map(({ length }) => length)).toEqual([MAX_GAP_BYTES + 12])
    expect(listed([0, MAX_GAP_BYTES + 5, MAX_GAP_BYTES + 9]).map(({ offset, length }) => [offset, length])).toEqual([
      [0, 4],
      [MAX_GAP_BYTES + 5, 8],
    ])
  })

  test('a long read is cut into 8 MiB, four under way', async () => {
    const { file, opened, begins } = await huge(
      [
        ['y', 4096],
        ['x', 2048],
      ],
      [{ name: 'v', type: 'float', dimensions: ['y', 'x'] }],
    )
    await opened.variables[0]!.get()
    const [begin] = begins as [number]
    expect(file.slices).toEqual([0, 1, 2, 3].map((i) => [begin + i * 8 * MiB, begin + (i + 1) * 8 * MiB]))
    expect(file.mostUnderWay).toBe(4)
  })

  test('short reads are all under way where waiting for them may take long', async () => {
    const { file, opened } = await huge(
      [
        ['t', 0],
        ['x', 100_000],
      ],
      [{ name: 'v', type: 'float', dimensions: ['t', 'x'] }],
      120,
    )
    await opened.variables[0]!.get([null, 7])
    expect([file.slices.length, file.mostUnderWay]).toEqual([120, 120])
  })

  test('so is one just above, and one just as long is not', () => {
    const lengths = (length: number) => {
      return elementsOf({ elementBytes: 4, bigEndian: true }, 0, [{ length, step: 4 }]).reads.map((read) => read.length)
    }
    expect(lengths(2 * MiB)).toEqual([8 * MiB])
    expect(lengths(2 * MiB + 1)).toEqual([8 * MiB, 4])
    expect(lengths(3 * MiB)).toEqual([8 * MiB, 4 * MiB])
  })

  test('a read with steps is bounded too, and keeps only what it wants', async () => {
    const { file, opened } = await huge([['x', 256 * MiB]], [{ name: 'v', type: 'double', dimensions: ['x'] }])
    const { data } = (await opened.variables[0]!.get([slice(0, 20 * MiB, 4096)])) as { data: Float64Array }
    expect(data.length).toBe(5120)
    expect(file.slices).toHaveLength(20)
    for (const [start, end] of file.slices) expect(end - start).toBeLessThanOrEqual(8 * MiB)
    expect(file.mostUnderWay).toBeLessThanOrEqual(4)
  })

  test('records of several variables: only the wanted one is read', async () => {
    const { file, opened, begins, stride } = await huge(
      [
        ['time', 0],
        ['y', 200],
        ['x', 300],
      ],
      [
        { name: 'time', type: 'double', dimensions: ['time'] },
        { name: 'a', type: 'float', dimensions: ['time', 'y', 'x'] },
        { name: 'b', type: 'float', dimensions: ['time', 'y', 'x'] },
      ],
      10,
    )
    await variable(opened, 'b').get()
    expect(file.slices).toEqual(
      Array.from({ length: 10 }, (_, i) => [begins[2]! + i * stride, begins[2]! + i * stride + 240_000]),
    )
    file.slices = []
    await variable(opened, 'a').get([null, 100, 7])
    const first = begins[1]! + (100 * 300 + 7) * 4
    expect(file.slices).toEqual(Array.from({ length: 10 }, (_, i) => [first + i * stride, first + i * stride + 4]))
  })

  test('every element of a box is in exactly one request, and no request is too long or has too large a gap', () => {
    const axes = fc.array(
      fc.record({
        length: fc.integer({ min: 1, max: 6 }),
        start: fc.nat(3),
        step: fc.integer({ min: 1, max: 3 }),
        gap: fc.constantFrom(0, 1, 40_000, 70_000, 3 * MiB),
        listed: fc.boolean(),
      }),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(axes, fc.constantFrom(1, 4, 8), (parts, elementBytes) => {
        const axes: { length: number; step: number; offsets?: Float64Array }[] = []
        let inner = elementBytes
        for (const { length, start, step, gap, listed } of [...parts].reverse()) {
          const own = { length, step: (inner + gap) * step }
          // A list has the distances of a progression, and one that is longer by the start.
          const offsets = Float64Array.from({ length }, (_, i) => i * own.step + (i > 1 ? start * (inner + gap) : 0))
          axes.unshift(listed ? { length, step: 0, offsets } : own)
          inner = (inner + gap) * (start + length * step)
        }
        const shape = axes.map(({ length }) => length)
        const at = (axis: number, i: number): number => axes[axis]!.offsets?.[i] ?? i * axes[axis]!.step
        const found = new Map<number, number>()
        let previous = -1
        const { count, reads } = elementsOf({ elementBytes, bigEndian: false }, 1000, axes)
        for (const { offset, length, axes: own, before } of reads) {
          expect(offset).toBeGreaterThan(previous)
          previous = offset + length - 1
          expect(length).toBeLessThanOrEqual(MAX_REQUEST_BYTES)
          const counts = own.map((axis) => axis.length)
          let end = 0
          for (let i = 0; i < sizeOf(counts); i++) {
            const byte = offset + coordsAt(i, counts).reduce((sum, k, axis) => sum + indexAt(own[axis]!, k), 0)
            if (i > 0) expect(byte - end).toBeLessThanOrEqual(MAX_GAP_BYTES)
            end = byte + elementBytes
            expect(found.has(before + i)).toBe(false)
            found.set(before + i, byte)
          }
          expect(end).toBe(offset + length)
        }
        expect([count, found.size]).toEqual([sizeOf(shape), sizeOf(shape)])
        for (let i = 0; i < count; i++)
          expect(found.get(i)).toBe(1000 + coordsAt(i, shape).reduce((sum, k, axis) => sum + at(axis, k), 0))
      }),
      { numRuns: runs(500) },
    )
  })
})

describe('chunks', () => {
  const grid = async (dimensions: [string, number][], names: string[], records = 0) => {
    const { opened } = await huge(dimensions, [{ name: 'v', type: 'float', dimensions: names }], records)
    return opened.variables[0]!.chunks.chunkShape
  }

  test('fixed variables have chunks of about 8 MiB', async () => {
    expect(await grid([['x', 100]], ['x'])).toEqual([100])
    expect(
      await grid(
        [
          ['y', 10_000],
          ['x', 2048],
        ],
        ['y', 'x'],
      ),
    ).toEqual([1024, 2048])
  })

  test('small records are gathered up to 1 MiB, large ones stay apart, very large ones are cut', async () => {
    expect(
      await grid(
        [
          ['t', 0],
          ['x', 1024],
        ],
        ['t', 'x'],
        3,
      ),
    ).toEqual([3, 1024])
    expect(
      await grid(
        [
          ['t', 0],
          ['x', 1024],
        ],
        ['t', 'x'],
        1000,
      ),
    ).toEqual([256, 1024])
    expect(
      await grid(
        [
          ['t', 0],
          ['x', 200_000],
        ],
        ['t', 'x'],
        50,
      ),
    ).toEqual([1, 200_000])
    expect(
      await grid(
        [
          ['t', 0],
          ['y', 4096],
          ['x', 2048],
        ],
        ['t', 'y', 'x'],
        5,
      ),
    ).toEqual([1, 1024, 2048])
    expect(
      await grid(
        [
          ['t', 0],
          ['x', 10],
        ],
        ['t', 'x'],
        0,
      ),
    ).toEqual([1, 10])
  })
})
