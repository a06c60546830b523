import { inflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { plotLines } from '../../src/cli/commands/plot.ts'
import { selectArray } from '../../src/cli/commands/select.ts'
import { type ColourMode, colourMode, drawBar, drawHeatmap, encodePicture } from '../../src/cli/show/drawing.ts'
import {
  BlockMeans,
  colourAt,
  enlarge,
  flipRows,
  nearest256,
  type Picture,
  pictureSize,
  type Rgb,
} from '../../src/cli/show/picture.ts'
import { progressLine } from '../../src/cli/show/progress.ts'
import { create, MemoryStore } from '../../src/runtime/index.ts'
import { LabelledTree } from '../../src/runtime/tree.ts'
import { openTree } from '../../src/tree/open-tree.ts'

const pictureOf = (rows: number[][]): Picture => ({
  rows: rows.length,
  columns: rows[0]!.length,
  values: Float64Array.from(rows.flat()),
})

describe('palette', () => {
  test('rises in luminance all the way', () => {
    const linear = (byte: number): number => (byte / 255 <= 0.04045 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4)
    const luminance = ([r, g, b]: Rgb): number => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    const steps = Array.from({ length: 101 }, (_, i) => luminance(colourAt(i / 100)))
    for (let i = 1; i < steps.length; i++) expect(steps[i]).toBeGreaterThan(steps[i - 1]!)
    expect(steps[0]).toBeLessThan(0.05)
    expect(steps[100]).toBeGreaterThan(0.75)
  })

  test('finds the nearest of 256 colours', () => {
    expect(nearest256([0, 0, 0])).toBe(16)
    expect(nearest256([255, 255, 255])).toBe(231)
    expect(nearest256([255, 0, 0])).toBe(196)
    expect(nearest256([128, 128, 128])).toBe(244)
  })
})

describe('picture', () => {
  test('takes means of blocks and leaves missing values out', () => {
    const means = new BlockMeans(2, 4, 1, 2)
    means.add(0, [1, 3, Number.NaN, -9], (value) => value === -9)
    means.add(1, [5, 7, 10, Number.POSITIVE_INFINITY], (value) => value === -9)
    expect(means.picture()).toEqual({ rows: 1, columns: 2, values: Float64Array.of(4, 10) })
    expect([means.low, means.high, means.missing]).toEqual([1, 10, 3])
  })

  test('has no value where all are missing', () => {
    const means = new BlockMeans(1, 2, 1, 2)
    means.add(0, [1n, 2n], (value) => value === 2n)
    expect([...means.picture().values]).toEqual([1, Number.NaN])
  })

  test('is enlarged by repeating and flipped by rows', () => {
    expect([...enlarge(pictureOf([[1, 2]]), 2, 4).values]).toEqual([1, 1, 2, 2, 1, 1, 2, 2])
    expect([
      ...flipRows(
        pictureOf([
          [1, 2],
          [3, 4],
        ]),
      ).values,
    ]).toEqual([3, 4, 1, 2])
  })

  test('keeps the proportions of the data', () => {
    expect(pictureSize(96, 192, 72, 120)).toEqual({ rows: 36, columns: 72 })
    expect(pictureSize(3, 4, 80, 120)).toEqual({ rows: 24, columns: 32 })
    expect(pictureSize(12, 10000, 80, 120)).toEqual({ rows: 10, columns: 80 })
    expect(pictureSize(10000, 12, 80, 120)).toEqual({ rows: 120, columns: 15 })
    expect(pictureSize(1, 1, 10, 120)).toEqual({ rows: 8, columns: 8 })
  })
})

describe('drawing', () => {
  const scale = { low: 0, high: 8 }

  test('in ASCII', () => {
    expect(
      drawHeatmap(
        pictureOf([
          [0, 1, 2, 3, 4],
          [Number.NaN, 5, 6, 7, 8],
        ]),
        scale,
        'ascii',
      ),
    ).toEqual(['.:-=+', ' *#%@'])
    expect(drawBar(9, 'ascii')).toBe('.:-=+*#%@')
  })

  test('in 24-bit colour, two rows a line', () => {
    const [low, high] = [colourAt(0), colourAt(1)].map((colour) => colour.join(';'))
    expect(
      drawHeatmap(
        pictureOf([
          [0, 0],
          [8, 8],
        ]),
        scale,
        'truecolor',
      ),
    ).toEqual([`\x1b[38;2;${low};48;2;${high}m▀▀\x1b[0m`])
  })

  test('leaves missing halves to the background of the terminal', () => {
    const low = colourAt(0).join(';')
    expect(
      drawHeatmap(
        pictureOf([
          [0, Number.NaN, Number.NaN],
          [Number.NaN, 0, Number.NaN],
        ]),
        scale,
        'truecolor',
      ),
    ).toEqual([`\x1b[38;2;${low}m▀▄ \x1b[0m`])
  })

  test('in 256 colours; an odd last row stands alone', () => {
    expect(drawHeatmap(pictureOf([[0]]), scale, '256')).toEqual([`\x1b[38;5;${nearest256(colourAt(0))}m▀\x1b[0m`])
  })

  test('of equal values is in the middle of the scale', () => {
    expect(drawHeatmap(pictureOf([[5, 5]]), { low: 5, high: 5 }, 'ascii')).toEqual(['++'])
  })
})

test.each<['auto' | 'always' | 'never', boolean, Record<string, string>, ColourMode]>([
  ['auto', true, { COLORTERM: 'truecolor' }, 'truecolor'],
  ['auto', true, { COLORTERM: '24bit' }, 'truecolor'],
  ['auto', true, {}, '256'],
  ['auto', true, { COLORTERM: 'yes' }, '256'],
  ['auto', false, { COLORTERM: 'truecolor' }, 'ascii'],
  ['auto', true, { COLORTERM: 'truecolor', NO_COLOR: '1' }, 'ascii'],
  ['auto', true, { TERM: 'dumb' }, 'ascii'],
  ['always', false, { NO_COLOR: '1', COLORTERM: 'truecolor' }, 'truecolor'],
  ['never', true, { COLORTERM: 'truecolor' }, 'ascii'],
])('--color %s, terminal %s, %o: %s', (wish, isTTY, env, mode) => {
  expect(colourMode(wish, { isTTY, env })).toBe(mode)
})

describe('a plot', () => {
  const ascending = [-10, 0, 10]

  async function plot(
    latitudes: number[],
    selection: string,
    { values = [0, 1, 2, 3, 4, 5, 6, 7, 8], units = 'degrees_north', dim = 'lat', width = 12 } = {},
  ) {
    const at = { store: new MemoryStore(), path: 'p.af' }
    await using file = await create(at)
    const lat = file.createArray(dim, { dtype: 'float64', shape: [3], dimensionNames: [dim] })
    lat.attrs.set('units', units)
    await lat.set(null, latitudes)
    const data = file.createArray('data', { dtype: 'float32', shape: [3, 3], dimensionNames: [dim, 'x'], fillValue: -1 })
    await data.set(null, values)
    await file.flush()
    await using place = new LabelledTree(await openTree(at))
    const placed = await place.array('data')
    return await plotLines(place, placed, await selectArray(place, placed, selection, {}), { mode: 'ascii', width })
  }

  test('has north up where latitudes ascend', async () => {
    expect(await plot(ascending, '')).toEqual(['data', '10N ##%%@@', '    ==++**', '10S ..::--', '    0 x  2', '0 .:-=*#%@ 8'])
  })

  test('has north up where they descend, in the file or by the selection', async () => {
    const picture = ['10N ..::--', '    ==++**', '10S ##%%@@']
    expect((await plot([10, 0, -10], '')).slice(1, 4)).toEqual(picture)
    expect((await plot([10, 0, -10], '::-1')).slice(1, 4)).toEqual(picture)
    expect((await plot(ascending, '::-1')).slice(1, 4)).toEqual(['10N ##%%@@', '    ==++**', '10S ..::--'])
  })

  test('keeps the order of an axis that is no latitude', async () => {
    expect((await plot(ascending, '', { dim: 'height', units: 'm' })).slice(1, 4)).toEqual([
      '-10 m ..::--',
      '      ==++**',
      ' 10 m ##%%@@',
    ])
  })

  test('leaves missing values blank and says how many there are', async () => {
    const lines = await plot(ascending, '', { values: [0, 1, 2, -1, Number.NaN, 5, 6, 7, 8] })
    expect(lines[2]).toBe('        **')
    expect(lines.at(-1)).toBe('2 missing values left blank')
  })

  test('of nothing but missing values says so', async () => {
    expect((await plot(ascending, '', { values: new Array(9).fill(-1) })).at(-1)).toBe('no data: every value is missing')
  })

  test('never exceeds its width', async () => {
    for (const width of [12, 20, 80]) {
      for (const line of await plot(ascending, '', { width })) expect(line.length).toBeLessThanOrEqual(width)
    }
  })

  test('needs something along its axes', async () => {
    await expect(plot(ascending, ':0')).rejects.toThrow('the selection is empty')
    await expect(plot(ascending, '3')).rejects.toThrow("array 'data': index 3 is out of bounds for axis 0 of length 3")
  })
})

test('progress is one line, at a terminal only', () => {
  const written: string[] = []
  let time = 0
  const line = progressLine('copying', 'chunks', { isTTY: true, write: (text) => written.push(text) }, () => time)
  line.update({ done: 0, total: 4 })
  time = 50
  line.update({ done: 1, total: 4 })
  time = 500
  line.update({ done: 2, total: 4 })
  line.update({ done: 4, total: 4 })
  line.end()
  line.end()
  expect(written).toEqual([
    '\r\x1b[Kcopying 0/4 chunks (0 %)',
    '\r\x1b[Kcopying 2/4 chunks (50 %), 4 chunks/s',
    '\r\x1b[Kcopying 4/4 chunks (100 %), 8 chunks/s',
    '\r\x1b[K',
  ])
  progressLine('copying', 'chunks', { write: () => expect.unreachable() }).update({ done: 1, total: 1 })
})

test('a picture as PNG has an index for each element, and what is missing is transparent', () => {
  const bytes = encodePicture(
    pictureOf([
      [0, 8, 4],
      [Number.NaN, 2, 8],
    ]),
    { low: 0, high: 8 },
  )
  expect([...bytes.subarray(0, 8)]).toEqual([137, 80, 78, 71, 13, 10, 26, 10])
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < bytes.length; ) {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset + at)
    const length = view.readUInt32BE(0)
    const name = view.toString('latin1', 4, 8)
    chunks.set(name, view.subarray(8, 8 + length))
    // The checksum of the last chunk of every PNG is known.
    if (name === 'IEND') expect(view.readUInt32BE(8)).toBe(0xae426082)
    at += 12 + length
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND'])
  expect([...chunks.get('IHDR')!]).toEqual([0, 0, 0, 3, 0, 0, 0, 2, 8, 3, 0, 0, 0])
  expect([...inflateSync(chunks.get('IDAT')!)]).toEqual([0, 1, 255, 128, 0, 0, 65, 255])
  const palette = chunks.get('PLTE')!
  expect([[...palette.subarray(3, 6)], [...palette.subarray(-3)]]).toEqual([[...colourAt(0)], [...colourAt(1)]])
  expect([...chunks.get('tRNS')!]).toEqual([0])
})
