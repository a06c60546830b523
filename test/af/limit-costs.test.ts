import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { type AfDType, decodeFooter, encodeFooter } from '../../src/af/format/footer.ts'
import { DEFAULT_LIMITS } from '../../src/af/format/limits.ts'
import { footerOf, metaOf } from '../support/containers.ts'

const program = fileURLToPath(new URL('costly-footer.mjs', import.meta.url))
const MIB = 2 ** 20

async function opened(kind: string, bytes: number) {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, kind, `${bytes}`])
  return JSON.parse(stdout) as { outcome: string; kept: number; peak: number; arrays: number }
}

/** What a footer of so many bytes may take, and a process for its code and its garbage. */
function expectWithin({ kept, peak }: { kept: number; peak: number }, bytes: number): void {
  expect(kept).toBeLessThan(13 * bytes)
  expect(peak).toBeLessThan(16 * bytes + 32 * MIB)
}

test.each([
  ['chunks', 1],
  ['blocks', 0],
  ['arrays', 49931],
  ['arrays with a chunk', 41942],
  ['keys', 0],
  ['values', 0],
  ['dimension names', undefined],
  ['attribute indices', 1],
  ['truths', 0],
  ['texts', 0],
  ['binaries', 0],
] as const)(
  'a footer full of %s keeps at most 13 times its bytes, and takes 16 times while it is opened',
  async (kind, arrays) => {
    const found = await opened(kind, 8 * MIB)
    expect(found.outcome).toBe(arrays === undefined ? 'FormatError' : 'opened')
    expect(found.arrays).toBe(arrays ?? 0)
    expectWithin(found, 8 * MIB)
  },
)

test('a footer of the default limit has a million chunks, and opens within half a GiB', async () => {
  expect(Math.floor(DEFAULT_LIMITS.footerBytes / (32 + 4 * 4))).toBeGreaterThan(1_000_000)
  const found = await opened('chunks', DEFAULT_LIMITS.footerBytes)
  expect(found.outcome).toBe('opened')
  expect(found.peak).toBeLessThan(512 * MIB)
})

test('types as deep as the deepest limit do not exhaust the stack', () => {
  const list = (depth: number): AfDType => (depth === 0 ? { kind: 'int8' } : { kind: 'list', child: list(depth - 1) })
  const payload = (depth: number) => encodeFooter(footerOf([metaOf('x', list(depth), [])]))
  expect(decodeFooter(payload(256), 256).arrays[0]!.dtype).toEqual(list(256))
  expect(() => decodeFooter(payload(256), 255)).toThrow(/nested more than 255 deep/)
  expect(() => decodeFooter(payload(DEFAULT_LIMITS.typeDepth + 1), DEFAULT_LIMITS.typeDepth)).toThrow(/nested more than 64 deep/)
})
