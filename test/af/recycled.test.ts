import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BlockCache, create, type FileArray, MemoryStore, open, slice } from '../../src/runtime/index.ts'
import type { RangeOptions, Store } from '../../src/store/store.ts'
import { runs } from '../support/budget.ts'
import { localFiles } from '../support/local-files.ts'

const CHUNK = 64
/** Few, so that some want the same blocks, others parts of them. */
const CHUNKS = 12

/**
 * Fills what it is given back with rubbish, as other bytes would; refuses what it has not given, or has got
 * back.
 */
class RecyclingStore implements Store {
  recycled = 0
  readonly #inner: MemoryStore
  readonly #lent = new Set<Uint8Array>()

  readonly getRanges?: NonNullable<Store['getRanges']>

  /** @param takesMany whether many ranges are read at once: then nothing is to come back */
  constructor(inner: MemoryStore, takesMany: boolean) {
    this.#inner = inner
    if (takesMany)
      this.getRanges = (key, ranges, options) =>
        Promise.all(ranges.map(async ({ offset, length }) => (await this.getRange(key, offset, length, options))!))
  }

  describe = (key: string): string => this.#inner.describe(key)
  stat = (key: string) => this.#inner.stat(key)
  identify = (key: string, etag: string): string => `${key} ${etag}`

  async getRange(key: string, offset: number, length: number, options?: RangeOptions): Promise<Uint8Array | undefined> {
    const found = await this.#inner.getRange(key, offset, length, options)
    // Others come meanwhile, and join or abort.
    await new Promise((resolve) => setTimeout(resolve))
    const bytes = found?.slice()
    if (bytes !== undefined) this.#lent.add(bytes)
    return bytes
  }

  readonly files = localFiles({
    recycle: (bytes) => {
      expect(this.#lent.delete(bytes)).toBe(true)
      bytes.fill(0xaa)
      this.recycled++
    },
  })
}

interface Wanted {
  readonly file: number
  readonly from: number
  readonly chunks: number
  readonly how: string
}

/** Rounds of reads: those of a round run at the same time, the rounds one after another. */
const rounds: fc.Arbitrary<Wanted[][]> = fc.array(
  fc.array(
    fc.record({
      file: fc.nat({ max: 1 }),
      from: fc.oneof(fc.nat({ max: CHUNKS - 1 }), fc.constantFrom(0, 3, 6, 9)),
      chunks: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(3, 6, 9)),
      how: fc.constantFrom('get', 'sum', 'iterated', 'aborted'),
    }),
    { minLength: 1, maxLength: 12 },
  ),
  { minLength: 1, maxLength: 3 },
)

/**
 * Blocks wanted whole, while one waits for a table of checksums to want a part of one that is no less than
 * all of it.
 */
const examples: [Wanted[][], boolean, number][] = [
  [
    [
      [
        { file: 0, from: 8, chunks: 2, how: 'sum' },
        { file: 0, from: 7, chunks: 5, how: 'iterated' },
        { file: 0, from: 3, chunks: 9, how: 'get' },
        { file: 0, from: 9, chunks: 1, how: 'get' },
      ],
    ],
    false,
    1,
  ],
]

test.each(['lz4', 'none'] as const)('what was given back for others to read into is read by nobody: %s', async (codec) => {
  const store = new MemoryStore()
  const values = Float64Array.from({ length: CHUNK * CHUNKS }, (_, i) => Math.round(1000 * Math.sin(i)))
  const made = await create({ store, path: 'x.af' }, { codec, blockBytes: 3 * CHUNK * 8 })
  await made
    .createArray('x', { dtype: 'float64', shape: [values.length], chunks: [CHUNK] })
    .set([], { data: values, shape: [values.length] })
  await made.flush()
  await made.close()
  let recycled = 0
  await fc.assert(
    fc.asyncProperty(rounds, fc.boolean(), fc.nat({ max: 4 }), async (reads, isShared, kind) => {
      const takesMany = kind === 0
      const recycling = new RecyclingStore(store, takesMany)
      const options = isShared ? { cache: new BlockCache() } : {}
      const files = [0, 1].map(() => open({ store: recycling, path: 'x.af' }, options))
      const arrays = (await Promise.all(files)).map((file) => file.array('x', 'float64'))
      for (const wanted of reads)
        await Promise.all(
          wanted.map(async ({ file, from, chunks, how }) => {
            const part = slice(from * CHUNK, Math.min(CHUNKS, from + chunks) * CHUNK - 3)
            const expected = values.subarray(part.start!, part.stop!)
            expect(await readBy(how, arrays[file]!, part)).toEqual(
              how === 'sum' ? expected.reduce((a, b) => a + b) : how === 'aborted' ? 'aborted' : expected,
            )
          }),
        )
      if (takesMany) expect(recycling.recycled).toBe(0)
      recycled += recycling.recycled
    }),
    { numRuns: runs(100), examples },
  )
  expect(recycled).toBeGreaterThan(runs(100) / 5)
})

async function readBy(how: string, array: FileArray<'float64'>, part: ReturnType<typeof slice>): Promise<unknown> {
  if (how === 'sum') return array.view([part]).sum()
  if (how === 'get') return (await array.get([part])).data
  if (how === 'aborted') {
    const controller = new AbortController()
    const read = array.get([part], { signal: controller.signal }).then(
      () => 'read',
      () => 'aborted',
    )
    controller.abort()
    return read
  }
  const found: number[] = []
  for await (const value of array.view([part])) found.push(value)
  return Float64Array.from(found)
}
