import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plotLines } from '../../src/cli/commands/plot.ts'
import { selectArray } from '../../src/cli/commands/select.ts'
import type { ColourMode } from '../../src/cli/show/drawing.ts'
import { ColumnExtremes, drawLine, lineDrawing } from '../../src/cli/show/drawing.ts'
import { create, MemoryStore } from '../../src/runtime/index.ts'
import { LabelledTree } from '../../src/runtime/tree.ts'
import { openTree } from '../../src/tree/open-tree.ts'

const extremesOf = (values: readonly number[], columns: number): ColumnExtremes => {
  const extremes = new ColumnExtremes(values.length, columns)
  extremes.add(0, values, (value) => value === -1)
  return extremes
}

test('columns know the extremes of what falls into them, as a search finds them', () => {
  const value = fc.oneof(fc.integer({ min: -3, max: 9 }), fc.constant(Number.NaN))
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 20 }), (values, columns) => {
      const { lows, highs, low, high, missing } = extremesOf(values, columns)
      const there = values.filter((each) => !Number.isNaN(each) && each !== -1)
      expect(missing).toBe(values.length - there.length)
      expect([low, high]).toEqual(there.length === 0 ? [undefined, undefined] : [Math.min(...there), Math.max(...there)])
      const count = Math.min(values.length, columns)
      for (let column = 0; column < count; column++) {
        const own = values.filter((each, i) => Math.floor((i * count) / values.length) === column && there.includes(each))
        expect([lows[column], highs[column]]).toEqual(
          own.length === 0 ? [Number.NaN, Number.NaN] : [Math.min(...own), Math.max(...own)],
        )
      }
    }),
  )
})

test('a line goes through every column, in one piece unless something is missing', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 2, maxLength: 60 }),
      fc.integer({ min: 2, max: 30 }),
      (values, columns) => {
        const rows = 7
        const { values: drawn } = lineDrawing(extremesOf(values, columns), rows, columns)
        let before: number[] | undefined
        for (let x = 0; x < columns; x++) {
          const here = Array.from({ length: rows }, (_, y) => y).filter((y) => drawn[y * columns + x] === 0)
          expect(here.length).toBeGreaterThan(0)
          expect(here.at(-1)! - here[0]!).toBe(here.length - 1)
          // Touches the column before, at corners at least.
          if (before) expect(here[0]! <= before.at(-1)! + 1 && before[0]! <= here.at(-1)! + 1).toBe(true)
          before = here
        }
      },
    ),
  )
})

test('a line is drawn by stars, or by dots of Braille', () => {
  const line = lineDrawing(extremesOf([0, 1, 2, 3], 4), 4, 4)
  expect(drawLine(line, 'ascii')).toEqual(['   *', '  *', ' *', '*'])
  expect(drawLine(line, 'dots')).toEqual(['⡠⠊'])
})

describe('plot', () => {
  async function plot(selection: string, { width = 12, mode = 'ascii' as ColourMode, values = [0, 1, 2, 3, 4, 5, 6, 7] } = {}) {
    const at = { store: new MemoryStore(), path: 'p.af' }
    await using file = await create(at)
    const time = file.createArray('time', { dtype: 'int32', shape: [2], dimensionNames: ['time'] })
    time.attrs.set('units', 'days since 2000-01-01')
    await time.set(null, [0, 31])
    const data = file.createArray('data', {
      dtype: 'float32',
      shape: [2, 2, 2],
      dimensionNames: ['time', 'y', 'x'],
      fillValue: -1,
    })
    await data.set(null, values)
    await file.flush()
    await using place = new LabelledTree(await openTree(at))
    const placed = await place.array('data')
    return await plotLines(place, placed, await selectArray(place, placed, selection, {}), { mode, width })
  }

  test('of one axis draws a line between the extremes, with the ends of the axis', async () => {
    const lines = await plot(':,1,1', { width: 40 })
    expect(lines.slice(0, 2)).toEqual(['data', 'y 1, x 1'])
    expect(lines).toHaveLength(15)
    expect(lines[2]!.startsWith('7 ')).toBe(true)
    expect(lines[2]!.endsWith('*')).toBe(true)
    expect(lines[13]!.startsWith('3 *')).toBe(true)
    expect(lines.at(-1)).toBe('  2000-01-01 00:00 time 2000-02-01 00:00')
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(40)
  })

  test('of a line leaves out what is missing, and says so', async () => {
    const lines = await plot('1,0', { width: 20, values: [0, 1, 2, 3, 4, -1, 6, 7] })
    expect(lines[1]).toBe('time 1 = 2000-02-01 00:00, y 0')
    expect(lines.at(-1)).toBe('1 missing value left out')
    expect((await plot('1,0', { values: [0, 1, 2, 3, -1, -1, 6, 7] })).at(-1)).toBe('no data: every value is missing')
  })

  test('of more than two axes takes the last two, at the first position of the others', async () => {
    expect(await plot('')).toEqual(await plot('0'))
    expect((await plot(''))[1]).toBe('time 0 = 2000-01-01 00:00')
    expect(await plot('1:')).toEqual(await plot('1'))
    expect(await plot('::-1')).toEqual(await plot('1'))
  })

  test('of one element says what shows it', async () => {
    await expect(plot('0,0,0')).rejects.toThrow(
      "array 'data': the selection leaves one element of an array of shape [2, 2, 2], which get shows",
    )
  })
})
