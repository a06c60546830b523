import { deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { inflateStep, loadInflateSync } from '../../src/codec/inflate.ts'
import { expectSameBytes, noise } from '../kernels/support.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Data that compresses, and some that does not. */
const SAMPLES = [new Uint8Array(300_000).map((_, i) => (i >> 9) & 255), noise(70_000, 1), Uint8Array.of(1)]
const ENCODERS = { gzip: gzipSync, zlib: deflateSync }

describe.each(['the platform', 'streams'])('by %s', (way) => {
  const hideZlib = (): void => {
    if (way === 'streams') vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
  }

  test.each(['gzip', 'zlib'] as const)('%s', async (name) => {
    hideZlib()
    const { decode } = inflateStep(name)
    for (const data of SAMPLES) {
      const stored = new Uint8Array(ENCODERS[name](data))
      expectSameBytes(await decode!(stored, data.length, 0), data)
      expectSameBytes(await decode!(stored, undefined, data.length), data)
      const refused = { tag: 'CodecError', message: expect.stringContaining(`malformed ${name} stream`) }
      if (data.length > 1)
        await expect(decode!(stored, data.length >> 1, 0)).rejects.toMatchObject({
          tag: 'CodecError',
          message: expect.stringContaining('more than'),
        })
      await expect(decode!(stored.subarray(0, -1), data.length, 0)).rejects.toMatchObject(refused)
      await expect(decode!(stored.subarray(0, stored.length >> 1), data.length, 0)).rejects.toMatchObject(refused)
      const damaged = stored.slice()
      // Within the checksum.
      damaged[stored.length - (name === 'gzip' ? 6 : 2)]! ^= 1
      await expect(decode!(damaged, data.length, 0)).rejects.toMatchObject(refused)
      await expect(decode!(Uint8Array.of(1, 2, 3), 3, 0)).rejects.toMatchObject(refused)
    }
  })

  test('no more is inflated than is wanted, and a little', async () => {
    hideZlib()
    const huge = new Uint8Array(gzipSync(new Uint8Array(2 ** 28)))
    const before = process.memoryUsage().arrayBuffers
    await expect(inflateStep('gzip').decode!(huge, 1000, 0)).rejects.toThrow(/more than 1000 bytes/)
    await expect(inflateStep('gzip').decode!(huge, undefined, 1000)).rejects.toThrow(/more than `limits.blockBytes`, 1000/)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 25)
  })

  test('zlib streams at once', async () => {
    hideZlib()
    const inflate = await loadInflateSync()
    const decode = (bytes: Uint8Array, decodedBytes: number): Uint8Array => {
      const into = new Uint8Array(decodedBytes)
      inflate(bytes, into)
      return into
    }
    for (const data of SAMPLES) {
      const stored = new Uint8Array(deflateSync(data))
      expectSameBytes(decode(stored, data.length), data)
      expect(() => decode(stored, data.length + 1)).toThrow(expect.objectContaining({ tag: 'CodecError' }))
      expect(() => decode(stored, data.length - 1)).toThrow(expect.objectContaining({ tag: 'CodecError' }))
      const damaged = stored.slice()
      damaged[stored.length - 2]! ^= 1
      expect(() => decode(damaged, data.length)).toThrow(expect.objectContaining({ tag: 'CodecError' }))
      expect(() => decode(stored.subarray(0, stored.length >> 1), data.length)).toThrow(
        expect.objectContaining({ tag: 'CodecError' }),
      )
      expect(() => decode(new Uint8Array(0), data.length)).toThrow(expect.objectContaining({ tag: 'CodecError' }))
    }
  })
})
