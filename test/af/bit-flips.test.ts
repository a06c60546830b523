import { expect, test } from 'vitest'
import { decodeFooter, FOOTER_MAGIC } from '../../src/af/format/footer.ts'
import { splitFile } from '../../src/af/format/stats-file.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { type ArrayFile, create, MemoryStore, open, slice, type Tensor } from '../../src/runtime/index.ts'
import { byBudget } from '../support/budget.ts'

const path = 'a.af'
const [ROWS, COLUMNS] = [4, 6]
const values = Int16Array.from({ length: ROWS * COLUMNS }, (_, i) => (i < 8 ? 5 : (i * 7919) % 1000))

/** Two blocks of two chunks, each a segment of its own. */
async function written(codec: string): Promise<Uint8Array> {
  const store = new MemoryStore()
  await using file = await create({ store, path }, { codec, blockBytes: 2 * 2 * COLUMNS, segmentBytes: 1 })
  await file.createArray('x', { dtype: 'int16', shape: [ROWS, COLUMNS], chunks: [1, COLUMNS], fillValue: -1 }).set(null, values)
  await file.compact()
  return (await store.getRange(path, 0, (await store.stat(path))!.size))!
}

/** Whole and partial reads, reductions of the elements and from statistics of chunks. */
const READS: Record<string, (file: ArrayFile) => Promise<unknown>> = {
  get: async (file) => (await file.array('x', 'int16').get()).data,
  'a row': async (file) => ((await file.array('x', 'int16').get([1])) as unknown as Tensor<'int16'>).data,
  'parts of rows': async (file) => (await file.array('x', 'int16').get([slice(1, 3), slice(2, 4)])).data,
  'a list': async (file) => (await file.array('x', 'int16').get([[0, 3]])).data,
  'sums by rows': async (file) =>
    ((await file.array('x', 'int16').sum({ axis: 1, ignoreStats: true })) as Tensor<'float64'>).data,
  'maximum of a part': (file) => file.array('x', 'int16').view([1]).max({ ignoreStats: true }),
  'maximum, by statistics': (file) => file.array('x', 'int16').max(),
  'sum of a part, by statistics': (file) =>
    file
      .array('x', 'int16')
      .view([slice(2, 4)])
      .sum(),
}

const FOUND = 'found'
const named = (error: unknown): string =>
  isHyperslabError(error, 'IntegrityError', 'FormatError', 'UnsupportedError') ? FOUND : `not found: ${error}`

/** One bit of eleven unless asked for all: the remainders by 8 go through all positions in a byte. */
const STEP = byBudget({ quick: 11, full: 3, soak: 1 })

test.each(['none', 'lz4', 'zstd'])(
  '%s: every single flipped bit is found by each kind of read, or is harmless',
  async (codec) => {
    const whole = await written(codec)
    const { blocks } = decodeFooter(splitFile(whole, FOOTER_MAGIC).payload)
    expect(blocks.filter(({ codec }) => !codec?.startsWith('hyperslab.')).length).toBe(2)
    const store = new MemoryStore()
    const outcomes = async (bytes: Uint8Array): Promise<string[]> => {
      await store.put(path, bytes)
      await using file = await open({ store, path }, { cacheBytes: 0 })
      return await Promise.all(Object.values(READS).map((read) => read(file).then(String, named)))
    }
    const right = await outcomes(whole)
    expect(right[0]).toBe(String(values))
    const dataEnd = Math.max(...blocks.slice(0, 2).map(({ fileOffset, compressedBytes }) => fileOffset + compressedBytes))
    const found = { opening: 0, reading: 0 }
    for (let bit = 0; bit < 8 * whole.length; bit += STEP) {
      whole[bit >> 3]! ^= 1 << (bit & 7)
      const met = await outcomes(whole).catch((error: unknown) => {
        found.opening++
        return Object.keys(READS).map(() => named(error))
      })
      whole[bit >> 3]! ^= 1 << (bit & 7)
      if (met.some((outcome, i) => outcome !== right[i] && outcome !== FOUND)) expect(met, `bit ${bit}`).toEqual(right)
      // A read of all elements finds all damage to them. Damage elsewhere is found if the read needs the
      // place.
      if (bit < 8 * dataEnd) {
        if (met[0] !== FOUND) expect.fail(`bit ${bit} was not found`)
        found.reading++
      }
    }
    expect(found.reading).toBe(Math.ceil((8 * dataEnd) / STEP))
    expect(found.opening).toBeGreaterThan(1000 / STEP)
  },
)
