import { expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { sizeOf } from '../../src/core/shape.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { boxShape } from '../../src/grid/range.ts'
import { CountingSource } from '../support/counting-source.ts'

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

test('fields are quoted by need, times are ISO, what is missing is empty, and text that is empty is not missing', async () => {
  const ds = new Dataset(
    {
      n: { dims: ['time', 'station'], data: { data: Float32Array.of(0.1, Number.NaN, -1e-9, 3), shape: [2, 2] } },
      big: { dims: ['station'], data: BigInt64Array.of(2n ** 62n, -1n) as never },
      'a,b': { dims: ['station'], data: ['x "y"', ''] },
      row: { dims: ['time', 'k'], data: { data: [1, 2], shape: [2, 1] } },
    },
    {
      coords: {
        time: [new Date('1998-01-16T12:00Z'), new Date('1998-01-17T00:00:30.5Z')],
        station: ['s\n1', 's2'],
        height: { dims: ['station'], data: [1.5, 1e21] },
      },
    },
  )
  expect(await textOf(ds.toCSV())).toBe(
    [
      'time,station,k,height,n,big,"a,b",row',
      '1998-01-16T12:00,"s\n1",0,1.5,0.1,4611686018427387904,"x ""y""",1',
      '1998-01-16T12:00,s2,0,1e+21,,-1,"",1',
      '1998-01-17T00:00:30.5,"s\n1",0,1.5,-1e-9,4611686018427387904,"x ""y""",2',
      '1998-01-17T00:00:30.5,s2,0,1e+21,3,-1,"",2',
      '',
    ].join('\n'),
  )
  expect(await textOf(ds.get('height').toCSV())).toBe('station,height\n"s\n1",1.5\ns2,1e+21\n')
  expect(await textOf(ds.get('time').toCSV())).toBe('time\n1998-01-16T12:00\n1998-01-17T00:00:30.5\n')
  expect(await textOf(ds.get('n').isel({ time: 0, station: 0 }).toCSV())).toBe(
    'time,station,height,n\n1998-01-16T12:00,"s\n1",1.5,0.1\n',
  )
  const places = new Dataset(
    {},
    { coords: { lat: { dims: ['y', 'x'], data: { data: [1, 2, 3, 4], shape: [2, 2] } }, x: [5, 6] } },
  )
  expect(await textOf(places.toCSV())).toBe('y,x,lat\n0,5,1\n0,6,2\n1,5,3\n1,6,4\n')
  expect(await textOf(ds.isel({ time: [] }).get('n').toCSV())).toBe('time,station,height,n\n')
})

test.each([
  [[300, 20, 50], [300, 5, 50], 4],
  [[2, 70_000], [1, 1000], 140],
  [[3, 200, 400], [1, 200, 400], 3],
])('of an array of %j in chunks of %j each is read once, and little is held', async (shape, chunkShape, chunks) => {
  const data = Float64Array.from({ length: sizeOf(shape) }, (_, i) => i)
  const source = new CountingSource({ dtype: 'float64', shape, data }, ChunkGrid.regular(shape, chunkShape))
  const dims = ['a', 'b', 'c'].slice(0, shape.length)
  const ds = new Dataset({ t: { dims, data: new DiskArray(source) as DiskArray } })
  let row = 0
  let most = 0
  for await (const piece of ds.toCSV()) {
    most = Math.max(most, piece.length)
    for (const line of piece.trimEnd().split('\n')) {
      if (line.startsWith('a')) continue
      const fields = line.split(',').map(Number)
      const at = fields.slice(0, -1).reduce((sum, position, axis) => sum * shape[axis]! + position, 0)
      if (fields.at(-1) !== row || at !== row) expect([at, fields]).toBe(row)
      row++
    }
  }
  expect(row).toBe(sizeOf(shape))
  expect(most).toBeLessThan(3e6)
  expect(source.reads.reduce((sum, box) => sum + sizeOf(boxShape(box)), 0)).toBe(row)
  expect(source.reads.length).toBeLessThanOrEqual(chunks)
})

test('binaries are refused, and reading stops when it is aborted', async () => {
  const array = new DiskArray({ dtype: 'binary', shape: [1], readBlock: () => undefined })
  await expect(textOf(new Dataset({ t: { dims: ['x'], data: array } }).toCSV())).rejects.toMatchObject({
    tag: 'UnsupportedError',
  })
  const signal = AbortSignal.abort(new Error('stop'))
  await expect(textOf(new Dataset({ t: { dims: ['x'], data: [1] } }).toCSV({ signal }))).rejects.toThrow('stop')
})
