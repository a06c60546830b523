import { describe, expect, test } from 'vitest'
import { readExcerpt } from '../../src/array/excerpt.ts'
import { toTensor } from '../../src/array/values.ts'
import { jsonElement, jsonPieces, readyResult, showElement, textPieces } from '../../src/cli/show/elements.ts'
import { jsonText } from '../../src/cli/show/text.ts'
import type { DType } from '../../src/core/dtype.ts'
import { DiskArray, slice } from '../../src/runtime/index.ts'

const resultOf = (dtype: DType, shape: number[], values: unknown[]) => ({ dtype, tensor: toTensor(dtype, values, shape) })
const text = (dtype: DType, shape: number[], values: unknown[]): string =>
  [...textPieces(readyResult(resultOf(dtype, shape, values)))].join('')
const json = (dtype: DType, shape: number[], values: unknown[]): string =>
  [...jsonPieces(readyResult(resultOf(dtype, shape, values)))].join('')

describe('an element', () => {
  test.each<[DType, unknown, string, string]>([
    ['bool', true, 'true', 'true'],
    ['int8', -128, '-128', '-128'],
    ['int16', -3, '-3', '-3'],
    ['int32', 7, '7', '7'],
    ['uint8', 255, '255', '255'],
    ['uint16', 65535, '65535', '65535'],
    ['uint32', 4294967295, '4294967295', '4294967295'],
    ['int64', -(2n ** 63n), '-9223372036854775808', '"-9223372036854775808"'],
    ['uint64', 2n ** 64n - 1n, '18446744073709551615', '"18446744073709551615"'],
    ['float32', Math.fround(0.1), '0.1', '0.10000000149011612'],
    ['float32', Math.fround(1e20), '1e+20', '100000002004087730000'],
    ['float32', Math.fround(16777217.5), '16777218', '16777218'],
    ['float32', 1.401298464324817e-45, '1.4013e-45', '1.401298464324817e-45'],
    ['float32', -0, '-0', '-0'],
    ['float64', 0.1, '0.1', '0.1'],
    ['float64', 0, '0', '0'],
    ['float64', -0, '-0', '-0'],
    ['float64', Number.NaN, 'NaN', '"NaN"'],
    ['float32', Number.NaN, 'NaN', '"NaN"'],
    ['float64', Number.POSITIVE_INFINITY, 'Infinity', '"Infinity"'],
    ['float32', Number.NEGATIVE_INFINITY, '-Infinity', '"-Infinity"'],
    ['timestamp_ns', 0n, '1970-01-01T00:00:00.000000000Z', '"0"'],
    ['timestamp_ns', -1n, '1969-12-31T23:59:59.999999999Z', '"-1"'],
    ['timestamp_ns', 2n ** 63n - 1n, '2262-04-11T23:47:16.854775807Z', '"9223372036854775807"'],
    ['string', 'a "b"\n', '"a \\"b\\"\\n"', '"a \\"b\\"\\n"'],
    ['binary', Uint8Array.of(0, 255, 16), '0x00ff10', '"AP8Q"'],
  ])('%s %o', (dtype, value, shown, inJson) => {
    expect(showElement(dtype, value)).toBe(shown)
    expect(jsonElement(dtype, value)).toBe(inJson)
    expect(() => JSON.parse(inJson)).not.toThrow()
  })

  test('float32 text gives the same number again', () => {
    const bits = new Uint32Array(1)
    const float = new Float32Array(bits.buffer)
    for (let i = 0; i < 2000; i++) {
      bits[0] = Math.imul(i, 2654435761)
      if (Number.isFinite(float[0])) expect(Math.fround(Number(showElement('float32', float[0])))).toBe(float[0])
    }
  })
})

describe('JSON', () => {
  test('has type, shape and the elements in C order', () => {
    expect(JSON.parse(json('int16', [2, 2], [1, 2, 3, 4]))).toEqual({ dtype: 'int16', shape: [2, 2], data: [1, 2, 3, 4] })
  })

  test('of a single element has shape []', () => {
    expect(json('uint64', [], [5n])).toBe('{"dtype":"uint64","shape":[],"data":["5"]}\n')
  })

  test('of nothing has no data', () => {
    expect(json('float32', [0, 3], [])).toBe('{"dtype":"float32","shape":[0,3],"data":[]}\n')
  })

  test('keeps -0 and booleans', () => {
    expect(Object.is(JSON.parse(json('float64', [1], [-0])).data[0], -0)).toBe(true)
    expect(JSON.parse(json('bool', [2], [true, false])).data).toEqual([true, false])
  })
})

describe('text', () => {
  test('of a single element is the element', () => {
    expect(text('float32', [], [1.5])).toBe('1.5\n')
    expect(text('bool', [], [false])).toBe('false\n')
  })

  test('aligns numbers to the right, strings to the left', () => {
    expect(text('float64', [2, 3], [1, -2.5, 10, Number.NaN, 4, 5])).toBe('[[   1 -2.5   10]\n [ NaN    4    5]]\n')
    expect(text('string', [2], ['a', 'bcd'])).toBe('["a"   "bcd"]\n')
  })

  test('sets blocks of higher rank further apart', () => {
    expect(text('int8', [2, 2, 1], [1, 2, 3, 4])).toBe('[[[1]\n  [2]]\n\n [[3]\n  [4]]]\n')
  })

  test('of empty axes has empty brackets', () => {
    expect(text('int8', [0], [])).toBe('[]\n')
    expect(text('int8', [2, 0], [])).toBe('[[]\n []]\n')
  })

  test('breaks long rows', () => {
    const lines = text(
      'int32',
      [60],
      Array.from({ length: 60 }, (_, i) => i),
    ).split('\n')
    expect(lines.length).toBe(3)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100)
    expect(lines[1]).toMatch(/^ \d/)
    expect(lines.join(' ').match(/\d+/g)).toEqual(Array.from({ length: 60 }, (_, i) => String(i)))
  })
})

describe('an excerpt', () => {
  /** Element i of an array of 40 by 50 is i; counts the elements that are read. */
  function counting() {
    let elements = 0
    const array = new DiskArray<DType>({
      dtype: 'int32',
      shape: [40, 50],
      readBlock: (box, out) => {
        const [rows, columns] = box
        for (let y = rows!.start, r = 0; y < rows!.stop; y++, r++) {
          for (let x = columns!.start, c = 0; x < columns!.stop; x++, c++) {
            elements++
            ;(out.data as Int32Array)[out.offset + r * out.stride[0]! + c * out.stride[1]!] = y * 50 + x
          }
        }
      },
    })
    return { array, elements: () => elements }
  }

  test('of many elements has the corners, and reads no more', async () => {
    const { array, elements } = counting()
    const excerpt = await readExcerpt(array, null)
    expect(elements()).toBe(36)
    expect([...textPieces(readyResult(excerpt))].join('')).toBe(
      [
        '[[   0    1    2 ...   47   48   49]',
        ' [  50   51   52 ...   97   98   99]',
        ' [ 100  101  102 ...  147  148  149]',
        ' ...',
        ' [1850 1851 1852 ... 1897 1898 1899]',
        ' [1900 1901 1902 ... 1947 1948 1949]',
        ' [1950 1951 1952 ... 1997 1998 1999]]',
        '',
      ].join('\n'),
    )
  })

  test('of a backward selection runs backwards to the first element', async () => {
    const { array } = counting()
    const { tensor } = await readExcerpt(array, [slice(null, null, -1), null])
    expect(Array.from(tensor.data as Int32Array).filter((_, i) => i % 6 === 0)).toEqual([1950, 1900, 1850, 100, 50, 0])
  })

  test('of up to 1000 elements is everything', async () => {
    const { array } = counting()
    const { tensor, cut } = await readExcerpt(array, [slice(20)])
    expect([tensor.shape, cut]).toEqual([
      [20, 50],
      [false, false],
    ])
  })

  test('names the array when the selection does not fit', async () => {
    const array = new DiskArray<DType>({
      dtype: 'int8',
      shape: [2],
      label: { file: 'f.af', array: 'a' },
      readBlock: () => undefined,
    })
    await expect(readExcerpt(array, [2])).rejects.toThrow("f.af: array 'a': index 2 is out of bounds for axis 0 of length 2")
  })
})

test('JSON has integers beyond 2^53, NaN and infinities as text', () => {
  const value = { big: 2n ** 63n, list: [Number.NaN, -Infinity, 1.5] }
  expect(JSON.parse(jsonText(value))).toEqual({ big: '9223372036854775808', list: ['NaN', '-Infinity', 1.5] })
})
