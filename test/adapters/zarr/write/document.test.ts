import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseArrayV3 } from '../../../../src/adapters/zarr/v3.ts'
import {
  arrayDocument,
  attributesDocument,
  elementCodec,
  encodeDocument,
  groupDocument,
  missingDocument,
  shardingCodec,
  toStoredType,
} from '../../../../src/adapters/zarr/write/document.ts'
import {
  allocate,
  DTYPES,
  type DType,
  fillElement,
  isBigInt,
  isFixed,
  isFloat,
  type ScalarOf,
  toBytes,
  toElement,
} from '../../../../src/core/dtype.ts'
import { parseJson } from '../../../../src/core/json.ts'
import { zarrPython } from '../../../support/python.ts'

/** Elements of a type, the ends and what is no number among them. */
const elementOf = (dtype: DType): fc.Arbitrary<ScalarOf<DType>> => {
  if (dtype === 'bool') return fc.boolean()
  if (dtype === 'string') return fc.string()
  if (dtype === 'binary') return fc.uint8Array()
  if (isFloat(dtype))
    return fc.oneof(fc.constantFrom(-0, Number.NaN, Infinity, -Infinity), fc.double()).map((x) => toElement(dtype, x) as number)
  const bits = Number(/\d+$/.exec(dtype.replace('timestamp_ns', 'int64'))![0])
  const signed = !dtype.startsWith('u')
  const [min, max] = signed ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n] : [0n, 2n ** BigInt(bits) - 1n]
  return fc.bigInt({ min, max }).map((value) => (isBigInt(dtype) ? value : Number(value)))
}

const parsed = (document: object): unknown => parseJson(encodeDocument(document as never), 'test')

describe('metadata of an array', () => {
  test.each(DTYPES)('of %s say what they were made of', (dtype) => {
    const type = toStoredType(dtype)
    fc.assert(
      fc.property(
        fc.option(elementOf(dtype), { nil: undefined }),
        fc.array(fc.record({ length: fc.nat(1000), chunk: fc.integer({ min: 1, max: 9 }), name: fc.string() }), {
          maxLength: 3,
        }),
        fc.boolean(),
        (fillValue, axes, isNamed) => {
          const shape = axes.map(({ length }) => length)
          const chunks = axes.map(({ chunk }) => chunk)
          const codecs = [shardingCodec(chunks, [elementCodec(type), { name: 'lz4', configuration: { acceleration: 2 } }])]
          const facts = { shape, type, chunkShape: chunks, codecs, fillValue, attributes: {} }
          const names = isNamed && axes.some(({ name }) => name !== '') ? axes.map(({ name }) => name) : undefined
          const read = parseArrayV3(parsed(arrayDocument({ ...facts, dimensionNames: names })))
          expect(read.shape).toEqual(shape)
          expect(read.chunks).toEqual(chunks)
          expect(read.type).toEqual(type)
          expect(read.dimensionNames).toEqual(names)
          const zero =
            dtype === 'string' ? '' : dtype === 'binary' ? new Uint8Array(0) : dtype === 'bool' ? false : isBigInt(dtype) ? 0n : 0
          expect(read.fillValue).toEqual(fillValue ?? zero)
          expect(read.codecs).toEqual(JSON.parse(JSON.stringify(codecs)))
        },
      ),
    )
  })
})

describe('attributes', () => {
  const attrs = new Map<string, unknown>([
    ['text', 'K'],
    ['large', 2n ** 60n + 1n],
    ['list', Float32Array.of(0.5, -1)],
    ['wide', BigInt64Array.of(-1n, 2n ** 62n)],
    ['bytes', Uint8Array.of(1, 255)],
    ['nan', Number.NaN],
    ['nested', { a: [null, true, { b: 'c' }] }],
    ['_FillValue', -999],
  ])

  test('become JSON without loss, but for words in place of what is not finite', () => {
    expect(parsed(attributesDocument(attrs, 'int16'))).toEqual({
      text: 'K',
      large: 2n ** 60n + 1n,
      list: [0.5, -1],
      wide: [-1, 2n ** 62n],
      bytes: [1, 255],
      nan: 'NaN',
      nested: { a: [null, true, { b: 'c' }] },
      _FillValue: -999,
    })
  })

  test('that say what is missing are read as that', () => {
    for (const [dtype, value] of [
      ['float32', -999],
      ['float64', Number.NaN],
      ['int16', -999],
      ['float32', 1e20],
    ] as const) {
      const element = toElement(dtype, value) as number
      const type = toStoredType(dtype)
      const facts = { shape: [4], type, chunkShape: [4], codecs: [elementCodec(type)], fillValue: 0, dimensionNames: ['x'] }
      const attributes = attributesDocument(new Map([['_FillValue', element]]), dtype)
      expect(attributes).toEqual({ _FillValue: missingDocument(element, dtype) })
      const { missing } = parseArrayV3(parsed(arrayDocument({ ...facts, attributes })))
      expect(missing).toEqual(Number.isNaN(value) ? { values: [], nan: true } : { values: [element], nan: false })
    }
  })

  test('without a form in JSON are refused by name', () => {
    for (const value of [undefined, () => 0, new Map(), Symbol('x'), new Date(0)])
      expect(() => attributesDocument(new Map([['odd', value]]))).toThrow("the attribute 'odd' has no form in JSON")
  })
})

describe('zarr-python', () => {
  const env = zarrPython()

  test.skipIf(env === undefined)('opens arrays of every type, with their fill values and attributes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperslab-documents-'))
    try {
      const fills: Record<string, ScalarOf<DType>[]> = {
        bool: [true, false],
        string: ['', 'é"\n'],
        binary: [new Uint8Array(0), Uint8Array.of(0, 255)],
        timestamp_ns: [0n, -(2n ** 63n), 2n ** 62n + 1n],
        int64: [2n ** 62n + 1n, -(2n ** 63n)],
        uint64: [2n ** 64n - 1n],
        float32: [-0, Number.NaN, Infinity, -Infinity, Math.fround(0.1)],
        float64: [-0, Number.NaN, -Infinity, 1e300],
      }
      const made = DTYPES.flatMap((dtype) =>
        [undefined, ...(fills[dtype] ?? [1])].map((fillValue, i) => ({ name: `${dtype}${i}`, dtype, fillValue })),
      )
      const members = made.map(({ name, dtype, fillValue }) => {
        const type = toStoredType(dtype)
        const codecs = [
          shardingCodec([2, 3], [elementCodec(type), { name: 'zstd', configuration: { level: 0, checksum: false } }]),
        ]
        const attributes = attributesDocument(new Map([['units', 'K']]), dtype)
        const facts = { shape: [5, 7], type, chunkShape: [4, 6], codecs, fillValue, attributes, dimensionNames: ['y', ''] }
        return [name, arrayDocument(facts)] as const
      })
      for (const [name, document] of members) {
        mkdirSync(join(folder, name))
        writeFileSync(join(folder, name, 'zarr.json'), encodeDocument(document))
      }
      writeFileSync(join(folder, 'zarr.json'), encodeDocument(groupDocument({ title: 'all' }, Object.fromEntries(members))))
      const script = fileURLToPath(new URL('./documents.py', import.meta.url))
      const { attrs, arrays } = JSON.parse(execFileSync('python3', [script, folder], { env, encoding: 'utf8' }))
      expect(attrs).toEqual({ title: 'all' })
      expect(Object.keys(arrays).sort()).toEqual(made.map(({ name }) => name).sort())
      for (const { name, dtype, fillValue } of made) {
        const named =
          dtype === 'timestamp_ns'
            ? 'datetime64[ns]'
            : dtype === 'string'
              ? 'StringDType()'
              : dtype === 'binary'
                ? 'object'
                : dtype
        const filled = fillValue ?? (dtype === 'string' ? '' : dtype === 'binary' ? new Uint8Array(0) : isBigInt(dtype) ? 0n : 0)
        const fill = isFixed(dtype)
          ? [...toBytes(allocate(dtype, 1).fill(fillElement(dtype, filled as never) as never) as never)]
          : typeof filled === 'string'
            ? filled
            : [...(filled as Uint8Array)]
        expect(arrays[name], name).toEqual({
          dtype: named,
          fill,
          shape: [5, 7],
          chunks: [2, 3],
          shards: [4, 6],
          dims: ['y', null],
          attrs: { units: 'K' },
        })
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
