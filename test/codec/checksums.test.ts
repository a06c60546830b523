import { crc32 as judge } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { crc32 } from '../../src/codec/checksums.ts'

test('the CRC-32 of any bytes is that of zlib, also when it goes on from the bytes in front', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat(100), (bytes, cut) => {
      expect(crc32(bytes)).toBe(judge(bytes))
      expect(crc32(bytes.subarray(cut), crc32(bytes.subarray(0, cut)))).toBe(judge(bytes))
    }),
  )
})
