import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeFooter, FOOTER_MAGIC } from '../../src/af/format/footer.ts'
import { decodeSegmentTable, decodeVarints, encodeVarints } from '../../src/af/format/segment-tables.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { buildFooter } from '../../src/af/write/build-footer.ts'
import type { Segment } from '../../src/codec/lz4-segments.ts'
import { joinBytes } from '../../src/core/bytes.ts'
import type { BlockRef } from '../../src/engine/block.ts'
import { crc32cOf } from '../../src/kernels/crc32c.ts'
import { MemoryStore, open, slice, verify } from '../../src/runtime/index.ts'
import { runs } from '../support/budget.ts'
import { createWithBase as create, marksOf } from '../support/containers.ts'

const path = 'a.af'

const bytesOf = async (store: MemoryStore): Promise<Uint8Array> =>
  (await store.getRange(path, 0, (await store.stat(path))!.size))!
const footerOf = (bytes: Uint8Array) => decodeFooter(splitFile(bytes, FOOTER_MAGIC).payload)
const tableOf = (bytes: Uint8Array) => footerOf(bytes).blocks.find(({ codec }) => codec === 'hyperslab.segments.1')

const small = Int16Array.from({ length: 240 }, (_, i) =>
  i % 100 < 30 ? 7 : i % 100 < 60 ? i % 3 : Math.imul(i, 0x9e3779b9) >> 8,
)
const SMALL = 20
/** Twelve chunks in two blocks, of segments of which some are all noise. */
async function file(): Promise<Uint8Array> {
  const store = new MemoryStore()
  await using file = await create({ store, path }, { blockBytes: 240, segmentBytes: 30 })
  const array = file.createArray('x', { dtype: 'int16', shape: [small.length], chunks: [SMALL] })
  await array.set(null, small)
  await file.compact()
  return bytesOf(store)
}

/** Reads each chunk and the whole array; returns values or errors. */
async function readAll(bytes: Uint8Array): Promise<unknown[]> {
  const store = new MemoryStore()
  await store.put(path, bytes)
  await using file = await open({ store, path }, { cacheBytes: 0 })
  const ranges = [
    ...Array.from({ length: small.length / SMALL }, (_, i) => [SMALL * i, SMALL * (i + 1)] as const),
    [0, small.length],
  ]
  return await Promise.all(
    ranges.map(async ([start, stop]) => {
      const read = file.array('x', 'int16').get([slice(start!, stop!)])
      const outcome = await read.then(({ data }) => data).catch((error: unknown) => error)
      return outcome instanceof Error
        ? outcome
        : Buffer.compare(new Uint8Array((outcome as Int16Array).buffer), new Uint8Array(small.slice(start, stop).buffer)) === 0
    }),
  )
}

const findingsOf = async (bytes: Uint8Array, deep: boolean): Promise<string[]> => {
  const store = new MemoryStore()
  await store.put(path, bytes)
  return (await verify({ store, path }, { deep })).findings.map(({ block, text }) => `block ${block}: ${text}`)
}

test('damage to any byte of a block or of the table: an error or the right values, and a finding', async () => {
  const whole = await file()
  expect(await readAll(whole)).toEqual(Array.from({ length: 13 }, () => true))
  expect(await findingsOf(whole, true)).toEqual([])
  const { blocks } = footerOf(whole)
  const table = tableOf(whole)!
  for (const { fileOffset, compressedBytes } of [...blocks.slice(0, 2), table]) {
    for (let at = fileOffset; at < fileOffset + compressedBytes; at++) {
      const damaged = whole.slice()
      damaged[at]! ^= 1 << (at % 8)
      const outcomes = await readAll(damaged)
      expect(outcomes).not.toContain(false)
      const errors = outcomes.filter((outcome) => outcome !== true)
      for (const error of errors) {
        expect(error).toMatchObject({
          tag: 'IntegrityError',
          message: expect.stringMatching(
            /^memory:a\.af: array 'x': block \d: (segment \d: )?the bytes as stored: the checksum is/,
          ),
        })
      }
      // Only the segment is lost, and what is read at once with it.
      if (fileOffset < table.fileOffset) expect(errors.length).toBeLessThanOrEqual(4)
      else expect(errors.length).toBe(0)
      expect(await findingsOf(damaged, false)).toEqual([expect.stringContaining('the checksum is')])
    }
  }
})

/** Other segments under checksums that are right. */
function resealed(bytes: Uint8Array, change: (segments: Map<number, Segment[]>) => void): Uint8Array {
  const footer = footerOf(bytes)
  const blocks = footer.blocks.filter(({ codec }) => !codec?.startsWith('hyperslab.'))
  const refs = new Map(
    blocks.map((block) => [block.id, { ...block, codec: 'lz4', crc: undefined, origin: undefined as never } satisfies BlockRef]),
  )
  const { fileOffset, compressedBytes } = tableOf(bytes)!
  const decoded = decodeSegmentTable(bytes.subarray(fileOffset, fileOffset + compressedBytes), refs)
  const segments = new Map([...decoded].map(([{ id }, own]) => [id, own.refs.map((ref) => ({ ...ref }) as Segment)]))
  change(segments)
  const crcs = blocks.map((block) => crc32cOf(bytes.subarray(block.fileOffset, block.fileOffset + block.compressedBytes)))
  const extensionBlocks = { tables: new Map(), segments, checkedSegments: new Map(), crcs }
  const { tail } = buildFooter({ ...footer, blocks }, extensionBlocks, marksOf(footer))
  const { fileOffset: start, compressedBytes: length } = blocks.at(-1)!
  return joinBytes([bytes.subarray(0, start + length), tail])
}

const FIELDS = ['compressedBytes', 'uncompressedBytes', 'head', 'match', 'tail', 'crc'] as const
const edit = fc.record({
  block: fc.nat(1),
  at: fc.nat(5),
  field: fc.constantFrom(...FIELDS),
  by: fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(-(2 ** 40), 15, 2 ** 32, 2 ** 45)),
  neighbour: fc.boolean(),
})

test('a table under a right checksum: errors or the right values, and deep findings of all that reads wrong', async () => {
  const whole = await file()
  let [refused, found] = [0, 0]
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), fc.option(fc.nat(5)), async (edits, dropped) => {
      const damaged = resealed(whole, (segments) => {
        for (const { block, at, field, by, neighbour } of edits) {
          const own = segments.get(block)!
          const change = (i: number, by: number): void => {
            const segment = own[i % own.length]! as { -readonly [K in keyof Segment]: Segment[K] }
            segment[field] = field === 'match' ? (segment.match + 16 + (by % 16)) % 16 : Math.max(0, segment[field] + by)
          }
          change(at, by)
          // If the neighbour gains the bytes that this segment loses, the sums stay right.
          if (neighbour) change(at + 1, -by)
        }
        if (dropped !== null) segments.get(0)!.splice(dropped, 1)
      })
      const outcomes = await readAll(damaged)
      for (const outcome of outcomes)
        if (typeof outcome !== 'boolean')
          expect(outcome).toMatchObject({
            tag: expect.stringMatching(/^(Format|Integrity|Codec)Error$/),
            details: { file: 'memory:a.af' },
          })
      const findings = await findingsOf(damaged, true)
      if (outcomes.some((outcome) => outcome !== true)) expect(findings).not.toEqual([])
      if (findings.length > 0) found++
      if (findings.some((text) => text.includes('do not go with it'))) refused++
    }),
    { numRuns: runs(400) },
  )
  expect(found).toBeGreaterThan(refused)
  expect(refused).toBeGreaterThan(50)
})

test('a table that names no block, or ends too early', async () => {
  const whole = await file()
  const other = resealed(whole, (segments) => {
    segments.set(9, segments.get(0)!)
  })
  expect(await readAll(other)).toEqual(Array.from({ length: 13 }, () => true))
  expect(await findingsOf(other, false)).toEqual([expect.stringContaining('names block 9, but there is no such block')])
  const { fileOffset } = tableOf(whole)!
  const numbers = [...decodeVarints(whole.subarray(fileOffset, fileOffset + tableOf(whole)!.compressedBytes))]
  for (let length = 1; length < 2 + 5 * numbers[1]!; length++)
    expect(() => decodeSegmentTable(encodeVarints(numbers.slice(0, length)), new Map([[0, {} as BlockRef]]))).toThrow(
      'ends too early',
    )
})

test('numbers of variable length', () => {
  const number = fc.oneof(fc.nat(300), fc.maxSafeNat())
  fc.assert(
    fc.property(fc.array(number), (numbers) => {
      const bytes = encodeVarints(numbers)
      expect([...decodeVarints(bytes)]).toEqual(numbers)
      if (numbers.length > 0) expect([...decodeVarints(bytes.subarray(0, -1))]).toEqual(numbers.slice(0, -1))
    }),
  )
  expect([...decodeVarints(new Uint8Array(100).fill(255))]).toEqual([])
})
