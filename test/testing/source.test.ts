import { describe, expect, test } from 'vitest'
import { broadcast, concat, generate, mosaic, roll, scaled, stack } from '../../src/array/combine.ts'
import { DiskArray } from '../../src/array/disk-array.ts'
import type { BlockSource } from '../../src/array/source.ts'
import type { DType } from '../../src/core/dtype.ts'
import { fillTensor, type Tensor } from '../../src/core/tensor.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { showBox } from '../../src/grid/range.ts'
import { slice } from '../../src/grid/slice.ts'
import { countAccesses, sourceConformance } from '../../src/testing/index.ts'
import { numbered } from '../support/arbitraries.ts'
import { testAll } from '../support/conformance.ts'
import { CountingSource } from '../support/counting-source.ts'

const fresh = (dtype: DType = 'float64', steps = true) =>
  new DiskArray(new CountingSource(numbered(dtype, [7, 6, 5]), ChunkGrid.regular([7, 6, 5], [3, 2, 4]), { steps })) as DiskArray

const LAZY: [string, (array: DiskArray) => DiskArray][] = [
  ['a source', (array) => array],
  ['a view', (array) => array.view([slice(null, null, -2), 1, slice(1, null)])],
  ['a permutation', (array) => array.transpose([2, 0, 1])],
  ['a reshape', (array) => array.rechunk([1, 6, 5]).reshape([14, 3, 5])],
  ['merged axes', (array) => array.rechunk([2, 6, 5]).reshape([42, 5])],
  ['a new axis', (array) => array.expandDims(1).flip(0)],
  ['a rolled one', (array) => roll(array, 3, 1)],
  ['a padded one', (array) => array.pad([[1, 2], 0, 3])], // biome-ignore format: one line
  ['repeated edges', (array) => array.pad(2, { mode: 'edge' })],
  ['a concatenation', (array) => concat([[array, array.pad([0, 0, 1])], [null, null]], { axis: [0, 2] }).view([null, null, slice(0, 9)])], // biome-ignore format: one line
  ['a stack', (array) => stack([array, fresh(array.dtype)], { axis: 2 })],
  ['a mosaic', (array) => mosaic([{ origin: [0, 6, 0], array }, { origin: [0, 0, 0], array: fresh(array.dtype) }])], // biome-ignore format: one line
  ['a cache', (array) => array.cache()],
  ['a small cache', (array) => array.cache({ maxBytes: 500 })],
]

const NUMBERS: typeof LAZY = [
  ['a cast', (array) => array.astype('float32').astype('float64')],
  ['a function', (array) => (array as DiskArray<'float64'>).map((x) => x + 1, { inverse: (x) => x - 1 }) as never],
  ['unpacked', (array) => scaled(array, { scaleFactor: 2, addOffset: 1 }) as never],
  ['a broadcast', (array) => broadcast((x: number, y: number) => x * y, array as DiskArray<'float64'>, 2) as never],
  ['a generated one', () => generate((i, j) => 10 * i + j, { dtype: 'int16', shape: [5, 9], chunks: [2, 4] }) as never],
]

const content = async (array: DiskArray) => array.get() as Promise<Tensor>

describe.each([...LAZY, ...NUMBERS])('%s', (_, make) => {
  testAll(
    sourceConformance(async () => {
      const array = make(fresh())
      return { source: array.source, content: await content(array) }
    }),
  )
})

describe.each(['string', 'int64', 'bool'] as const)('of %s', (dtype) => {
  describe.each(LAZY)('%s', (_, make) => {
    testAll(
      sourceConformance(async () => {
        const array = make(fresh(dtype, false))
        return { source: array.source, content: await content(array) }
      }),
    )
  })
})

const broken = (change: (source: BlockSource) => Partial<BlockSource>) => async () => {
  const { source } = fresh()
  const whole = await content(new DiskArray(source))
  const { dtype, shape, chunks, capabilities } = source
  const own = {
    dtype,
    shape,
    chunks,
    capabilities,
    readBlock: source.readBlock.bind(source),
    writeBlock: source.writeBlock!.bind(source),
  }
  return { source: { ...own, ...change(own as BlockSource) } as BlockSource, content: whole }
}

const FAULTS: [string, (source: BlockSource) => Partial<BlockSource>, RegExp][] = [
  ['reads at the wrong place', (s) => ({ readBlock: (box, out) => s.readBlock(box.map((r) => ({ ...r, start: 0, stop: r.stop - r.start })), out) }), /across chunks/], // biome-ignore format: one line
  [
    'ignores strides',
    (s) => ({ readBlock: (box, out) => s.readBlock(box, { ...out, stride: [30, 5, 1], offset: 0 }) }),
    /any strides/,
  ],
  ['ignores steps', (s) => ({ readBlock: (box, out) => s.readBlock(box.map((r) => ({ start: r.start, stop: r.start + Math.ceil((r.stop - r.start) / r.step), step: 1 })), out) }), /with steps/], // biome-ignore format: one line
  ['fills all memory', (s) => ({ readBlock: (box, out) => { fillTensor({ ...out, shape: [out.data.length], stride: [1], offset: 0 }, 0 as never); return s.readBlock(box, out) } }), /any strides|many/], // biome-ignore format: one line
  ['forgets writes', () => ({ writeBlock: () => undefined }), /what is written/],
]

describe('the conformance suite finds a source that', () => {
  test.each(FAULTS)('%s', async (_, change, expected) => {
    const failed: string[] = []
    for (const { name, run } of sourceConformance(broken(change))) await run().catch(() => failed.push(name))
    expect(failed.join('\n')).toMatch(expected)
  })
})

test('accesses are logged, those that must not be refused', async () => {
  const counted = countAccesses(fresh().source)
  const array = new DiskArray(counted)
  await array.get([0, slice(1, 3), slice(null, null, 2)])
  await array.set([1, 1, 1], 5 as never)
  expect([counted.reads.map(showBox), counted.writes.map(showBox)]).toEqual([['[0:1, 1:3, 0:5:2]'], ['[1:2, 1:2, 1:2]']])
  const tensor = { data: new Float64Array(8), shape: [8, 1, 1], stride: [1, 1, 1], offset: 0 }
  const beyond = [8, 1, 1].map((stop) => ({ start: 0, stop, step: 1 }))
  expect(() => counted.readBlock(beyond, tensor as never)).toThrow('was asked for [0:8, 0:1, 0:1]')
})
