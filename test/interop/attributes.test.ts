import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AttributeValue } from '../../src/af/format/footer.ts'
import { ATTRIBUTE_TYPES } from '../../src/af/format/footer-attributes.ts'
import { create, MemoryStore, open, type TypedAttribute } from '../../src/runtime/index.ts'
import { havePeer, Peer } from './peer.ts'
import { wireAttribute } from './wire.ts'

const bytes = (...values: number[]) => Uint8Array.from(values)

/**
 * One row a variant: the value, and as what it may be given: plain ones of which it is the natural variant,
 * typed ones that force it.
 */
const TABLE: [AttributeValue, ...unknown[]][] = [
  [{ type: 'bool', value: true }, true, { type: 'bool', value: 1 }],
  [{ type: 'int8', value: -128 }],
  [{ type: 'int16', value: -32768 }],
  [{ type: 'int32', value: -(2 ** 31) }],
  [{ type: 'int64', value: -(2n ** 63n) }, -(2n ** 63n)],
  [{ type: 'uint8', value: 255 }],
  [{ type: 'uint16', value: 65535 }],
  [{ type: 'uint32', value: 2 ** 32 - 1 }],
  [{ type: 'uint64', value: 2n ** 64n - 1n }, 2n ** 64n - 1n],
  [
    { type: 'float32', value: Math.fround(0.1) },
    { type: 'float32', value: 0.1 },
  ],
  [{ type: 'float64', value: -0 }, -0],
  [{ type: 'string', value: 'é漢😀, longer than 16 bytes' }, 'é漢😀, longer than 16 bytes'],
  [{ type: 'binary', value: bytes(0, 255) }, bytes(0, 255), Buffer.of(0, 255)],
  [{ type: 'bool[]', value: [true, false] }, [true, false]],
  [{ type: 'int8[]', value: Int8Array.of(-128, 127) }, Int8Array.of(-128, 127), { type: 'int8[]', value: [-128, 127] }],
  [{ type: 'int16[]', value: Int16Array.of(-5) }, Int16Array.of(-5), { type: 'int16[]', value: [-5] }],
  [{ type: 'int32[]', value: Int32Array.of(-5) }, Int32Array.of(-5), { type: 'int32[]', value: [-5] }],
  [{ type: 'int64[]', value: BigInt64Array.of(-5n) }, BigInt64Array.of(-5n), [-5n], { type: 'int64[]', value: [-5] }],
  [
    { type: 'uint8[]', value: bytes(1, 2) },
    { type: 'uint8[]', value: [1, 2] },
  ],
  [{ type: 'uint16[]', value: Uint16Array.of(65535) }, Uint16Array.of(65535)],
  [{ type: 'uint32[]', value: Uint32Array.of(5) }, Uint32Array.of(5)],
  [{ type: 'uint64[]', value: BigUint64Array.of(2n ** 63n) }, BigUint64Array.of(2n ** 63n), [2n ** 63n]],
  [{ type: 'float32[]', value: Float32Array.of(0.1, Number.NaN) }, Float32Array.of(0.1, Number.NaN)],
  [{ type: 'float64[]', value: Float64Array.of(0.1, -0) }, Float64Array.of(0.1, -0), [0.1, -0]],
  [{ type: 'string[]', value: ['', 'é漢😀'] }, ['', 'é漢😀']],
  [{ type: 'binary[]', value: [bytes(), bytes(1)] }, [bytes(), bytes(1)]],
]

describe('attributes', () => {
  test('the table has every variant', () => expect(TABLE.map(([{ type }]) => type)).toEqual(ATTRIBUTE_TYPES))

  describe.skipIf(!havePeer)('with the Rust crate array-format 0.12', () => {
    let peer: Peer
    let folder: string
    beforeAll(async () => {
      peer = await Peer.start()
      folder = await mkdtemp(join(tmpdir(), 'hyperslab-interop-'))
    }, 1_800_000)
    afterAll(async () => {
      await peer?.stop()
      await rm(folder, { recursive: true })
    })

    test.each(TABLE.map((row) => [row[0].type, ...row] as const))('%s', async (type, value, ...forms) => {
      const file = `${type.replace('[]', '-list')}.af`
      await peer.do('create', { folder, file })
      await peer.do('define', { name: 'a', dtype: 'int8', shape: [], chunkShape: [], dimensionNames: [], fillValue: null })
      await peer.do('attribute', { name: 'a', key: 'theirs', value: wireAttribute(value) })
      await peer.do('flush')
      const all = [value, ...forms].map((form, i) => [`ours ${i}`, form] as const)
      {
        await using ours = await open(join(folder, file))
        const { attrs } = ours.array('a')
        expect(attrs.typed('theirs')).toEqual(value)
        expect(attrs.get('theirs')).toEqual(value.value)
        for (const [key, form] of all) expect(attrs.set(key, form as TypedAttribute).typed(key)).toEqual(value)
        await ours.flush()
      }
      await peer.do('open', { folder, file })
      const { arrays } = await peer.dump(['theirs', ...all.map(([key]) => key)])
      const expected = wireAttribute(value)
      expect(arrays[0]!.attributes).toEqual(
        Object.fromEntries(['theirs', ...all.map(([key]) => key)].map((key) => [key, expected])),
      )
    })
  })

  test.each<[string, unknown]>([
    ['a number out of range', { type: 'int8', value: 128 }],
    ['a fraction', { type: 'int32', value: 0.5 }],
    ['a number out of range in a list', { type: 'uint8[]', value: [256] }],
    ['a list of another type', { type: 'int16[]', value: Int8Array.of(1) }],
    ['text for a number', { type: 'float64', value: '5' }],
    ['a number for text', { type: 'string', value: 5 }],
    ['text for bytes', { type: 'binary', value: 'abc' }],
    ['no list', { type: 'bool[]', value: true }],
    ['an integer beyond 64 bits', 2n ** 64n],
    ['one below them', -(2n ** 63n) - 1n],
    ['one beyond them in a list', [1n, 2n ** 64n]],
    ['signs that fit no list', [-1n, 2n ** 63n]],
    ['half a character', '\ud800'],
    ['a date', new Date()],
    ['a mixed list', [1, 'a']],
    ['a list with holes', [1, undefined]],
  ])('refuses %s, and keeps what there was', async (_, value) => {
    await using file = await create({ store: new MemoryStore(), path: 'a.af' })
    const { attrs } = file.createArray('a', { dtype: 'int8', shape: [] })
    attrs.set('key', 1)
    const refusal = expect.objectContaining({ tag: 'InvalidArgumentError', message: expect.stringContaining("'key'") })
    expect(() => attrs.set('key', value as number)).toThrow(refusal)
    expect(attrs.get('key')).toBe(1)
    await file.flush()
  })

  test('are copies', async () => {
    await using file = await create({ store: new MemoryStore(), path: 'a.af' })
    const { attrs } = file.createArray('a', { dtype: 'int8', shape: [] })
    const [list, words] = [Int8Array.of(1), ['a']]
    attrs.set('list', list).set('words', words)
    list[0] = 2
    words[0] = 'b'
    expect([attrs.get('list'), attrs.get('words')]).toEqual([Int8Array.of(1), ['a']])
  })
})
