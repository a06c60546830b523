import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sizeOf, stridesOf } from '../../../src/core/shape.ts'
import { type Tensor, tensorOf } from '../../../src/core/tensor.ts'
import { boxShape, wholeBox } from '../../../src/grid/range.ts'
import { slice } from '../../../src/grid/slice.ts'
import { openNetcdf } from '../../../src/runtime/netcdf.ts'
import { runs } from '../../support/budget.ts'
import { utf8, type WriterFile, type WriterType, type WriterVariable, writeNetcdf } from '../../support/netcdf-writer.ts'
import { CountingFile, open, valuesOf, variable } from './support.ts'

/** Texts as fixed-length rows of bytes, filled up with NULs. */
const rows = (length: number, texts: readonly (string | number[])[]): number[] =>
  texts.flatMap((text) => {
    const bytes = typeof text === 'string' ? utf8(text) : text
    return [...bytes, ...new Array<number>(length - bytes.length).fill(0)]
  })

describe('types', () => {
  test.each([
    ['byte', 'int8', [-128, -1, 0, 127]],
    ['short', 'int16', [-32768, -2, 258, 32767]],
    ['int', 'int32', [-(2 ** 31), -2, 0x01020304, 2 ** 31 - 1]],
    ['float', 'float32', [-0, Math.fround(0.1), Number.NaN, Number.NEGATIVE_INFINITY]],
    ['double', 'float64', [-0, 0.1, Number.NaN, -1e300]],
  ] as const)('%s is %s', async (type, dtype, values) => {
    const file = await open({ dimensions: [['x', 4]], variables: [{ name: 'v', type, dimensions: ['x'], values }] })
    const array = variable(file, 'v')
    expect([array.dtype, array.shape, array.dimensionNames]).toEqual([dtype, [4], ['x']])
    expect(await valuesOf(array)).toEqual(values)
  })

  test.each([
    ['float', 'float32', [0x7f, 0x81, 0x23, 0x45]],
    ['double', 'float64', [0x7f, 0xf0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc]],
  ] as const)('a NaN of type %s keeps its bits', async (type, dtype, bits) => {
    const bytes = writeNetcdf({ variables: [{ name: 'v', type, dimensions: [], values: [0] }] })
    bytes.set(bits, bytes.length - bits.length)
    const { source } = variable(await openNetcdf(new CountingFile(bytes)), 'v')
    const out = tensorOf(dtype, [])
    await source.readBlock([], out as Tensor)
    expect([...new Uint8Array(out.data.buffer)].reverse()).toEqual(bits)
  })

  test('scalars of every type', async () => {
    const types: WriterType[] = ['byte', 'char', 'short', 'int', 'float', 'double']
    const file = await open({ variables: types.map((type) => ({ name: type, type, dimensions: [], values: [65] })) })
    expect(await Promise.all(file.variables.map((each) => each.get([])))).toEqual([65, 'A', 65, 65, 65, 65])
    expect(file.variables.map((each) => each.shape)).toEqual(types.map(() => []))
  })

  test('characters make strings along the last dimension', async () => {
    const names = rows(8, ['Zürich', 'Reykjavi', '', [0xb0, 0x43], 'a b ', 'a\0b'])
    const file = await open({
      dimensions: [
        ['station', 2],
        ['place', 3],
        ['length', 8],
      ],
      variables: [
        { name: 'name', type: 'char', dimensions: ['station', 'place', 'length'], values: names },
        { name: 'title', type: 'char', dimensions: ['length'], values: rows(8, ['漢字']) },
      ],
    })
    const array = variable(file, 'name')
    expect([array.dtype, array.shape, array.dimensionNames]).toEqual(['string', [2, 3], ['station', 'place']])
    expect(await valuesOf(array)).toEqual(['Zürich', 'Reykjavi', '', '°C', 'a b ', 'a\0b'])
    expect(await array.get([1, 1])).toBe('a b ')
    const title = variable(file, 'title')
    expect([title.shape, title.dimensionNames, await title.get([])]).toEqual([[], [], '漢字'])
  })

  test('records of characters stay apart', async () => {
    const file = await open({
      dimensions: [
        ['time', 0],
        ['length', 3],
      ],
      records: 4,
      variables: [
        { name: 'flag', type: 'char', dimensions: ['time'], values: utf8('ABBA') },
        { name: 'label', type: 'char', dimensions: ['time', 'length'], values: rows(3, ['ab', 'é', '', 'xyz']) },
      ],
    })
    expect([variable(file, 'flag').shape, variable(file, 'label').dimensionNames]).toEqual([[4], ['time']])
    expect(await valuesOf(variable(file, 'flag'))).toEqual(['A', 'B', 'B', 'A'])
    expect(await valuesOf(variable(file, 'label'))).toEqual(['ab', 'é', '', 'xyz'])
  })
})

describe('records', () => {
  const time: readonly (readonly [string, number])[] = [
    ['time', 0],
    ['x', 3],
  ]
  const growing = (name: string, type: WriterType, dimensions: string[], length: number): WriterVariable => ({
    name,
    type,
    dimensions,
    values: Array.from({ length }, (_, i) => i + name.length * 10),
  })
  const check = async (file: WriterFile): Promise<void> => {
    const opened = await open(file)
    for (const { name, values } of file.variables!) expect(await valuesOf(variable(opened, name))).toEqual(values)
  }

  test.each(['byte', 'short', 'int', 'double'] as const)('one record variable of type %s is not padded', async (type) => {
    await check({ dimensions: time, records: 5, variables: [growing('v', type, ['time', 'x'], 15)] })
    await check({
      dimensions: time,
      records: 5,
      variables: [growing('fixed', 'byte', ['x'], 3), growing('v', type, ['time'], 5)],
    })
  })

  test('several are', async () => {
    await check({
      dimensions: time,
      records: 5,
      variables: [
        growing('v', 'byte', ['time'], 5),
        growing('fixed', 'short', ['x'], 3),
        growing('vvv', 'double', ['time', 'x'], 15),
        growing('vv', 'short', ['time', 'x'], 15),
        growing('vvvv', 'byte', ['time', 'x', 'x'], 45),
      ],
    })
    await check({
      dimensions: time,
      records: 3,
      variables: [growing('v', 'byte', ['time'], 3), growing('vv', 'byte', ['time'], 3)],
    })
  })

  test('none at all', async () => {
    const variables = [
      growing('v', 'byte', ['time'], 0),
      growing('vv', 'double', ['time', 'x'], 0),
      growing('f', 'int', ['x'], 3),
    ]
    const file = await open({ dimensions: time, records: 0, variables })
    expect(file.dimensions[0]).toEqual({ name: 'time', length: 0, isRecord: true })
    expect(variable(file, 'vv').shape).toEqual([0, 3])
    expect(await variable(file, 'vv').get()).toMatchObject({ shape: [0, 3], data: new Float64Array(0) })
    expect(await valuesOf(variable(file, 'f'))).toEqual([10, 11, 12])
  })

  test.each([0, 1, 4])('%i records whose number was left open', async (records) => {
    const one = { dimensions: time, records, streaming: true, variables: [growing('v', 'byte', ['time', 'x'], records * 3)] }
    await check(one)
    const several = {
      ...one,
      variables: [...one.variables, growing('vv', 'double', ['time'], records), growing('vvv', 'short', ['time'], records)],
    }
    await check(several)
    // Unless the writer stopped in the middle of a record; and the padding behind the last one is nothing to
    // miss.
    if (records === 0) return
    const bytes = writeNetcdf(several)
    for (const [cut, left] of [
      [1, records],
      [2, records],
      [3, records - 1],
      [11, records - 1],
    ] as const) {
      const file = await openNetcdf(new CountingFile(bytes.subarray(0, bytes.length - cut)))
      expect(file.dimensions[0]!.length).toBe(left)
      expect(await valuesOf(variable(file, 'v'))).toEqual(several.variables[0]!.values.slice(0, left * 3))
    }
  })

  test('an open number of records without record variables is none', async () => {
    const file = await open({ dimensions: time, streaming: true, variables: [growing('f', 'int', ['x'], 3)] })
    expect(file.dimensions[0]!.length).toBe(0)
  })
})

describe('random files', () => {
  const types = fc.constantFrom<WriterType>('byte', 'short', 'int', 'float', 'double', 'char')
  const lengths = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 })
  const files = fc
    .record({
      version: fc.constantFrom(1 as const, 2 as const),
      lengths,
      records: fc.integer({ min: 0, max: 6 }),
      streaming: fc.boolean(),
      shapes: fc.array(
        fc.record({
          type: types,
          isRecord: fc.boolean(),
          ids: fc.array(fc.nat(3), { maxLength: 3 }),
          seed: fc.integer({ min: 1, max: 90 }),
        }),
        { minLength: 1, maxLength: 5 },
      ),
    })
    .map(({ version, lengths, records, streaming, shapes }) => {
      const dimensions = [['r', 0] as const, ...lengths.map((length, i) => [`d${i}`, length] as const)]
      const variables = shapes.map(({ type, isRecord, ids, seed }, number) => {
        const own = ids.map((id) => id % lengths.length)
        const shape = [...(isRecord ? [records] : []), ...own.map((id) => lengths[id]!)]
        // Characters are 33 to 126: text without padding, one byte each.
        const values = Array.from({ length: sizeOf(shape) }, (_, i) =>
          type === 'char' ? 33 + ((i * 7 + seed) % 94) : ((i * 31 + seed) % 251) - 125,
        )
        const dimensionNames = [...(isRecord ? ['r'] : []), ...own.map((id) => `d${id}`)]
        return {
          shape,
          isRecord,
          variable: { name: `v${number}`, type, dimensions: dimensionNames, values } satisfies WriterVariable,
        }
      })
      // Records of a stream are counted by what is there.
      const counted = variables.some(({ isRecord }) => isRecord) || !streaming
      return {
        file: {
          version,
          dimensions,
          records,
          streaming: streaming && counted,
          variables: variables.map(({ variable }) => variable),
        },
        variables,
      }
    })
  const selector = fc.record({
    from: fc.double({ min: 0, max: 1, noNaN: true }),
    to: fc.double({ min: 0, max: 1, noNaN: true }),
    step: fc.integer({ min: 1, max: 3 }),
  })

  test('random boxes of random variables', async () => {
    await fc.assert(
      fc.asyncProperty(
        files,
        fc.array(selector, { minLength: 4, maxLength: 4 }),
        fc.boolean(),
        async ({ file, variables }, selectors, transpose) => {
          const opened = await open(file)
          for (const [i, { shape, isRecord, variable: written }] of variables.entries()) {
            const array = opened.variables[i]!
            const last = written.dimensions.at(-1)!
            const isLength = file.variables.every(
              ({ name, type, dimensions }) =>
                name !== last && (!dimensions.includes(last) || (type === 'char' && dimensions.at(-1) === last)),
            )
            const joins = written.type === 'char' && shape.length > (isRecord ? 1 : 0) && isLength
            const width = joins ? shape.at(-1)! : 1
            const elements = joins ? shape.slice(0, -1) : shape
            expect(array.shape).toEqual(elements)
            expect(array.dimensionNames).toEqual(written.dimensions.slice(0, elements.length))
            if (sizeOf(elements) === 0) continue
            const box = elements.map((length, axis) => {
              const { from, to, step } = selectors[axis]!
              const start = Math.floor(from * (length - 1))
              return { start, stop: start + 1 + Math.floor(to * (length - 1 - start)), step }
            })
            const wanted = boxShape(box)
            // Into the middle of something larger, in C order or with its axes reversed.
            const dense = transpose ? stridesOf([...wanted].reverse()).reverse() : stridesOf(wanted)
            const data = tensorOf(array.dtype, [2 * sizeOf(wanted) + 6]).data
            const out = { data, shape: wanted, stride: dense.map((stride) => stride * 2), offset: 3 }
            const untouched = new Set(data.keys())
            await array.source.readBlock(box, out)
            const strides = stridesOf(elements)
            const at = (index: number[], steps: readonly number[]): number =>
              index.reduce((sum, k, axis) => sum + k * steps[axis]!, 0)
            for (let number = 0; number < sizeOf(wanted); number++) {
              const index = stridesOf(wanted).map((stride, axis) => Math.floor(number / stride) % wanted[axis]!)
              const position = at(
                index.map((k, axis) => box[axis]!.start + k * box[axis]!.step),
                strides,
              )
              const expected =
                written.type === 'char'
                  ? String.fromCharCode(...written.values.slice(position * width, (position + 1) * width))
                  : written.values[position]!
              const place = at(index, out.stride) + 3
              expect(data[place]).toBe(expected)
              untouched.delete(place)
            }
            for (const place of untouched) expect(data[place]).toBe(array.dtype === 'string' ? '' : 0)
          }
        },
      ),
      { numRuns: runs(300) },
    )
  })

  test('whole arrays, chunk by chunk and at once', async () => {
    await fc.assert(
      fc.asyncProperty(files, async ({ file, variables }) => {
        const opened = await open(file)
        for (const [i, { variable: written }] of variables.entries()) {
          const array = opened.variables[i]!
          const all = await valuesOf(array)
          if (written.type === 'char') expect(all.join('')).toBe(String.fromCharCode(...written.values))
          else expect(all).toEqual(written.values)
          const blocks: unknown[] = []
          for await (const { data } of array.blocks()) blocks.push(...data.data)
          expect(blocks).toEqual(all)
        }
      }),
    )
  })

  test('a selection with steps and backward slices', async () => {
    const values = Array.from({ length: 60 }, (_, i) => i)
    const dimensions: [string, number][] = [
      ['y', 6],
      ['x', 10],
    ]
    const file = await open({ dimensions, variables: [{ name: 'v', type: 'short', dimensions: ['y', 'x'], values }] })
    const array = variable(file, 'v')
    expect(await array.get([slice(null, null, -2), slice(1, 9, 3)])).toMatchObject({
      shape: [3, 3],
      data: Int16Array.of(51, 54, 57, 31, 34, 37, 11, 14, 17),
    })
    expect((await array.get(null)).shape).toEqual(boxShape(wholeBox([6, 10])))
  })
})
