import { afterEach, describe, expect, test, vi } from 'vitest'
import { attempt, decodeWith } from '../../src/codec/codec.ts'
import { zstdOnDemand } from '../../src/codec/registry.ts'
import { contentChecksum } from '../../src/codec/xxh64.ts'
import { decodeUnsized } from '../../src/codec/zstd.ts'
import { nativeEncoder, zstdEncoder } from '../../src/codec/zstd-encode.ts'
import { parseFrames, toFrame, toUnsizedFrame } from '../../src/codec/zstd-frames.ts'
import { expectSameBytes, randoms } from '../kernels/support.ts'
import { contents, skipZstd, zstdProgram } from './support.ts'

const native = nativeEncoder()
const zstd = (level?: number) => zstdOnDemand(level)
const decode = (bytes: Uint8Array, decodedBytes: number): Promise<Uint8Array> => decodeWith(zstd(), bytes, decodedBytes)
const concat = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))
const skippable = (bytes: number): Uint8Array =>
  Uint8Array.of(0x53, 0x2a, 0x4d, 0x18, bytes, 0, 0, 0, ...new Uint8Array(bytes).fill(9))
/** A frame that says nothing of its size, with a window of 1 GiB: blocks of so many times a byte. */
const silentFrame = (counts: readonly number[]): Uint8Array =>
  Uint8Array.of(
    ...[0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3],
    ...counts.flatMap((count, i) => {
      const header = (count << 3) | 2 | Number(i === counts.length - 1)
      return [header & 255, (header >> 8) & 255, header >> 16, 7]
    }),
  )
/** A frame of 5 bytes that says it has others. */
const claiming = (bytes: number): Uint8Array => {
  const out = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0, (5 << 3) | 3, 0, 0, 7)
  new DataView(out.buffer).setUint32(5, bytes, true)
  return out
}
const failure = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => expect.fail('expected a CodecError'),
    (error) => {
      expect(error).toMatchObject({ tag: 'CodecError' })
      return error.message
    },
  )

afterEach(() => {
  vi.restoreAllMocks()
  vi.doUnmock('../../src/codec/zstd-wasm.ts')
})

describe.each([...(native === undefined ? [] : ['native']), 'module', 'fzstd'])('%s', (which) => {
  const choose = (): void => {
    if (which === 'fzstd')
      vi.doMock('../../src/codec/zstd-wasm.js', () => ({
        hasZstdKernels: () => false,
        decodeFrame: undefined,
        measureFrame: undefined,
      }))
    if (which !== 'native') vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
  }

  describe.skipIf(skipZstd)('against the reference implementation', () => {
    test.each(contents())('%s', async (_, bytes) => {
      choose()
      for (const args of [['-1'], ['-3', '--no-check'], ['-19', '--long=27'], ['--no-content-size', '--no-check']]) {
        const reference = zstdProgram(args, bytes)
        expectSameBytes(await decode(reference, bytes.length), bytes)
        if (bytes.length > 0) await failure(decode(reference, bytes.length - 1))
        await failure(decode(reference, bytes.length + 1))
      }
      for (const level of [1, 3, 12]) {
        const encoded = await zstd(level).encode(bytes)
        expectSameBytes(zstdProgram(['-d'], encoded), bytes)
        expectSameBytes(await decode(encoded, bytes.length), bytes)
      }
    })
  })

  test('frames say their size and nothing that readers of the format do not expect', async () => {
    choose()
    for (const [name, bytes] of contents()) {
      const encoded = await zstd().encode(bytes)
      expect(new DataView(encoded.buffer, encoded.byteOffset).getUint32(0, true), name).toBe(0xfd2fb528)
      const descriptor = encoded[4]!
      // no checksum, no dictionary
      expect(descriptor & 0b111, name).toBe(0)
      const sizeBytes = descriptor >> 6 === 0 ? (descriptor >> 5) & 1 : 1 << (descriptor >> 6)
      const at = 5 + (descriptor & 32 ? 0 : 1)
      let size = sizeBytes === 2 ? 256 : 0
      for (let i = 0; i < sizeBytes; i++) size += encoded[at + i]! * 256 ** i
      expect([sizeBytes > 0, size], name).toEqual([true, bytes.length])
    }
  })

  test('several frames, frames to skip', async () => {
    choose()
    const [a, b] = [contents()[4]![1], contents()[5]![1]]
    const [x, y] = [await zstd().encode(a), await zstd(9).encode(b)]
    expectSameBytes(await decode(concat(skippable(3), x, skippable(0), y, skippable(200)), a.length + b.length), concat(a, b))
    expect(await failure(decode(concat(x, y), a.length))).toContain(`${a.length + b.length} bytes instead of ${a.length}`)
    expect(await failure(decode(skippable(3), 1))).toContain('0 bytes instead of 1')
    expect(await decode(skippable(3), 0)).toHaveLength(0)
  })

  test('bytes that are no frame, or not all of it', async () => {
    choose()
    const [, bytes] = contents()[5]!
    const whole = await zstd().encode(bytes)
    expect(await failure(decode(Uint8Array.of(1, 2, 3, 4, 5), 5))).toContain('no zstd frame at byte 0')
    expect(await failure(decode(concat(whole, Uint8Array.of(1, 2, 3, 4)), bytes.length))).toContain(`byte ${whole.length} of`)
    for (const cut of [1, 3, 5, 8, 100, whole.length - 1])
      expect(await failure(decode(whole.subarray(0, cut), bytes.length))).toContain('ends in the middle')
    const dictionary = whole.slice()
    dictionary[4]! |= 1
    expect(await failure(decode(dictionary, bytes.length))).toContain('dictionary')
  })

  test('a frame that names the dictionary 0 needs none', async () => {
    choose()
    // A single segment of 5 bytes, and a raw block, the last one.
    const content = Uint8Array.of(9, 8, 7, 6, 5)
    for (const [code, number] of [
      [1, [0]],
      [2, [0, 0]],
      [3, [0, 0, 0, 0]],
    ] as const) {
      const header = [0x28, 0xb5, 0x2f, 0xfd, 0x20 | code, ...number, content.length]
      expect(await decode(Uint8Array.of(...header, (content.length << 3) | 1, 0, 0, ...content), 5)).toEqual(content)
    }
  })

  test('a frame that lies about its size is found out', async () => {
    choose()
    const encoded = await zstd().encode(new Uint8Array(70_000).fill(1))
    expect(encoded[4]! >> 6).toBe(2)
    for (const claimed of [69_999, 70_001, 70_007, 70_008, 200_000, 1]) {
      const lying = encoded.slice()
      new DataView(lying.buffer).setUint32(5, claimed, true)
      await failure(decode(lying, claimed))
      expect(await failure(decode(lying, 70_000))).toContain(`${claimed} bytes instead of 70000`)
    }
  })

  test('a window of 1 GiB costs no memory', async () => {
    choose()
    const bytes = new Uint8Array(1000).fill(3)
    const single = await zstd().encode(bytes)
    const blocks = single.subarray(single.length - 4)
    // Without a size, and with the window descriptor of 2^30 bytes: one block of 1000 times the byte 3.
    const huge = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, ((1000 << 3) & 255) | 3, 1000 >> 5, 0, 3)
    expect(blocks.length).toBe(4)
    const before = process.memoryUsage().arrayBuffers
    expectSameBytes(await decode(huge, 1000), bytes)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 22)
  })

  test('frames of unknown sizes decode to no more bytes than the limit', async () => {
    choose()
    const bytes = contents()[5]![1].subarray(0, 20_000)
    const telling = await zstd().encode(bytes)
    // The same blocks behind a header with a window of 1 GiB and no size; 20 blocks of 100 000 times a byte.
    const silent = concat(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3), parseFrames(telling)[0]!.blocks)
    const bomb = silentFrame(Array(20).fill(100_000))
    expectSameBytes(await decodeUnsized(concat(telling, skippable(3), silent, telling), 60_000), concat(bytes, bytes, bytes))
    expectSameBytes(await decodeUnsized(silent, 20_000), bytes)
    expect((await decodeUnsized(bomb, 2_000_000)).length).toBe(2_000_000)
    expect(await decodeUnsized(silentFrame([0]), 0)).toHaveLength(0)
    for (const [frames, most] of [[silent, 19_999], [bomb, 1_999_999], [concat(telling, silent), 39_999]] as const) // biome-ignore format: one line
      expect(await failure(decodeUnsized(frames, most))).toContain(`more than \`limits.blockBytes\`, ${most}`)
    expect(await failure(decodeUnsized(concat(telling, telling), 39_999))).toContain('40000 bytes, more than `limits.blockBytes`')
    expect(await failure(decodeUnsized(claiming(2 ** 28), 2 ** 30))).toContain('cannot have more than 131072 bytes')
    const before = process.memoryUsage().arrayBuffers
    await failure(decodeUnsized(silentFrame(Array(5000).fill(100_000)), 1_000_000))
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24)
  })

  test('several frames that do not say their size decode to what they have, and no more than there is room for', async () => {
    choose()
    const bytes = contents()[5]![1].subarray(0, 20_000)
    const telling = await zstd().encode(bytes)
    const silent = concat(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3), parseFrames(telling)[0]!.blocks)
    const sevens = (count: number): Uint8Array => new Uint8Array(count).fill(7)
    const frames = concat(silent, skippable(2), silentFrame([5, 70_000]), telling, silentFrame([0]), silent, silentFrame([300]))
    const decoded = concat(bytes, sevens(70_005), bytes, bytes, sevens(300))
    expectSameBytes(await decode(frames, decoded.length), decoded)
    await failure(decode(frames, decoded.length - 1))
    await failure(decode(frames, decoded.length + 1))
    // The first frame has more than the chunk.
    const bomb = silentFrame(Array(5000).fill(100_000))
    const before = process.memoryUsage().arrayBuffers
    await failure(decode(concat(bomb, silentFrame([1])), 1_000_000))
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24)
    expect(await failure(decode(concat(...Array(1025).fill(silentFrame([1]))), 1025))).toContain('1025 of its 1025 frames')
  })

  test('a zstd frame whose content differs from its checksum is a CodecError', async () => {
    choose()
    const next = randoms(11)
    const [, text] = contents()[5]!
    for (const bytes of [text.subarray(0, 20_000), text.subarray(0, 9), new Uint8Array(300).fill(7), new Uint8Array(0)]) {
      const [frame] = parseFrames(await zstd(3).encode(bytes))
      const checksum = new Uint8Array(Uint32Array.of(contentChecksum(bytes)).buffer)
      const telling = toFrame({ ...frame!, checksum }, bytes.length)
      const silent = toUnsizedFrame({ ...frame!, checksum }, bytes.length)
      for (const [encoded, header] of [
        [telling, 9],
        [silent, 6],
      ] as const) {
        // biome-ignore format: one line
        expectSameBytes(await decode(encoded, bytes.length), bytes)
        expectSameBytes(await decodeUnsized(encoded, bytes.length), bytes)
        expectSameBytes(await decode(concat(encoded, skippable(1), encoded), 2 * bytes.length), concat(bytes, bytes))
        for (let i = 0; i < 60; i++) {
          const damaged = encoded.slice()
          // The last bytes are the checksum; those in front of `header` may be a size.
          const at = i < 4 ? damaged.length - 1 - i : header + (next() % (damaged.length - header))
          damaged[at]! ^= 1 << (next() % 8)
          // Decoders ignore bits of some literals that they do not need, so the bytes may be right.
          for (const result of [
            await decode(damaged, bytes.length).catch((error) => error),
            await attempt('zstd does not decode', () => decodeUnsized(damaged, bytes.length)).catch((error) => error),
            await decode(concat(damaged, encoded), 2 * bytes.length).then(
              (both) => both.subarray(bytes.length),
              (error) => error,
            ),
          ])
            if (result instanceof Uint8Array && i >= 4) expectSameBytes(result, bytes)
            else expect(result).toMatchObject({ tag: 'CodecError' })
        }
      }
    }
  })

  test('damage gives a CodecError or bytes of the right length, and never hangs', async () => {
    choose()
    const next = randoms(3)
    const [, text] = contents()[5]!
    const encoded = await zstd().encode(text.subarray(0, 20_000))
    for (let i = 0; i < 300; i++) {
      const damaged = encoded.slice()
      for (let k = next() % 4; k >= 0; k--) damaged[next() % damaged.length] = next()
      const result = await decode(damaged, 20_000).catch((error) => error)
      if (result instanceof Uint8Array) expect(result).toHaveLength(20_000)
      else expect(result).toMatchObject({ tag: 'CodecError' })
    }
  })
})

test('levels', () => {
  for (const level of [0, 23, 1.5, NaN, -1, '3' as never]) expect(() => zstdEncoder(level)).toThrow('from 1 to 22')
})
