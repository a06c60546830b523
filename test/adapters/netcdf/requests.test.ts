import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_GAP_BYTES, MAX_REQUEST_BYTES, planFileReads } from '../../../src/adapters/netcdf/requests.ts'
import { sizeOf, stridesOf } from '../../../src/core/shape.ts'
import { boxShape, type Range } from '../../../src/grid/range.ts'
import { slice } from '../../../src/grid/slice.ts'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
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
    const wide = { begin: 0, strides: [MAX_GAP_BYTES + 4], elementBytes: 4 }
    const box = [{ start: 0, stop: 3, step: 1 }]
    const plan = (byteStep: number) => [...planFileReads({ ...wide, strides: [byteStep] }, box, { stride: [1], offset: 0 })]
    expect(plan(MAX_GAP_BYTES + 4)).toHaveLength(1)
    expect(plan(MAX_GAP_BYTES + 5).map(({ start, byteLength, outOffset }) => [start, byteLength, outOffset])).toEqual([
      [0, 4, 0],
      [65541, 4, 1],
      [131082, 4, 2],
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

  test('so is one just above, and one just as long is not', () => {
    const lengths = (length: number) => {
      const layout = { begin: 0, strides: [4], elementBytes: 4 }
      return [...planFileReads(layout, [{ start: 0, stop: length, step: 1 }], { stride: [1], offset: 0 })].map(
        ({ byteLength }) => byteLength,
      )
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
      }),
      { maxLength: 4 },
    )
    fc.assert(
      fc.property(axes, fc.constantFrom(1, 4, 8), (parts, elementBytes) => {
        const strides: number[] = []
        let inner = elementBytes
        for (const { length, start, step, gap } of [...parts].reverse()) {
          strides.unshift(inner + gap)
          inner = (inner + gap) * (start + length * step)
        }
        const box = parts.map(({ length, start, step }): Range => ({ start, stop: start + (length - 1) * step + 1, step }))
        const shape = boxShape(box)
        const stride = stridesOf(shape)
        const found = new Map<number, number>()
        let previous = -1
        for (const { start, byteLength, axes, outOffset } of planFileReads({ begin: 1000, strides, elementBytes }, box, {
          stride,
          offset: 5,
        })) {
          expect(start).toBeGreaterThan(previous)
          previous = start + byteLength - 1
          expect(byteLength).toBeLessThanOrEqual(MAX_REQUEST_BYTES)
          const counts = axes.map(({ length }) => length)
          const ends: number[] = []
          for (let number = 0; number < sizeOf(counts); number++) {
            const index = stridesOf(counts).map((step, axis) => Math.floor(number / step) % counts[axis]!)
            const byte = start + index.reduce((sum, k, axis) => sum + k * axes[axis]!.byteStep, 0)
            const place = outOffset + index.reduce((sum, k, axis) => sum + k * axes[axis]!.outStep, 0)
            if (number > 0) expect(byte - ends.at(-1)!).toBeLessThanOrEqual(MAX_GAP_BYTES)
            ends.push(byte + elementBytes)
            expect(found.has(place)).toBe(false)
            found.set(place, byte)
          }
          expect(ends.at(-1)).toBe(start + byteLength)
        }
        expect(found.size).toBe(sizeOf(shape))
        for (let number = 0; number < sizeOf(shape); number++) {
          const index = stride.map((step, axis) => Math.floor(number / step) % shape[axis]!)
          const byte = 1000 + index.reduce((sum, k, axis) => sum + (box[axis]!.start + k * box[axis]!.step) * strides[axis]!, 0)
          expect(found.get(5 + number)).toBe(byte)
        }
      }),
      { numRuns: 500 },
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
