import { expect, test } from 'vitest'
import { chunkStatsTable, encodeChunkStats } from '../../src/af/format/chunk-stats-table.ts'
import type { ArrayMeta } from '../../src/af/format/footer.ts'
import { ArrayState } from '../../src/af/layers/array-state.ts'
import type { LayerChunks } from '../../src/af/layers/layer-chunks.ts'
import { loadStats } from '../../src/af/layers/load-stats.ts'
import type { LayerEntry } from '../../src/af/layers/stack.ts'
import { NO_NANS } from '../../src/engine/chunk-stats.ts'

const COUNT = 100_000
const dtype = { kind: 'float64' } as const

/**
 * Two layers of many chunks: the newer has those of even numbers. The sum of a chunk tells the layer and the
 * chunk.
 */
function many(): ArrayState {
  const definition = { name: 'x', dtype, shape: [COUNT], dimensionNames: ['x'], chunkShape: [1], fillValue: null }
  const state = new ArrayState(definition)
  const layers = [2, 1].map((step) => {
    const numbers = Array.from({ length: COUNT / step }, (_, i) => i * step)
    const meta = { dtype, chunks: { length: numbers.length } } as ArrayMeta
    const rows = numbers.map((number) => ({
      min: 0,
      max: 0,
      sum: step * number,
      count: 1,
      nullCount: 0,
      nanCount: 0,
      nans: NO_NANS,
    }))
    const bytes = encodeChunkStats(new Map([[0, chunkStatsTable(meta, rows)!]]))
    const block = { fileOffset: 0, compressedBytes: bytes.length }
    const layer = { file: 'a.af', footer: { arrays: [meta] }, extensionBlock: () => block, read: async () => bytes }
    const chunks = { length: numbers.length, numbers: () => numbers, row: (n: number) => (n % step === 0 ? n / step : undefined) }
    return { entry: { layer, meta } as unknown as LayerEntry, chunks: chunks as unknown as LayerChunks }
  })
  return Object.assign(state, { entries: layers.map(({ entry }) => entry), stored: layers.map(({ chunks }) => chunks) })
}

const expectedSum = (number: number): number => (number % 2 === 0 ? 2 : 1) * number

function expectNewest({ chunkStats }: ArrayState): void {
  expect(chunkStats.size).toBe(COUNT)
  expect([...chunkStats].filter(([number, { sum }]) => sum !== expectedSum(number))).toEqual([])
}

test('the newest version of each chunk is what statistics are of', async () => {
  const state = many()
  await loadStats(state)
  expectNewest(state)
})

test('what a layer without statistics has covered is not known, whatever older layers say of it', async () => {
  const state = many()
  Object.assign(state.entries[0]!.layer, { extensionBlock: () => undefined })
  await loadStats(state)
  expect(state.chunkStats.size).toBe(COUNT / 2)
  expect([...state.chunkStats.keys()].filter((number) => number % 2 === 0)).toEqual([])
})

test('statistics of many chunks give way, and are given up when their signal is aborted', async () => {
  const controller = new AbortController()
  const loading = loadStats(many(), controller.signal)
  // Two steps of the module that is loaded, then one among the chunks.
  const abort = (left: number): void =>
    void setImmediate(() => (left > 0 ? abort(left - 1) : controller.abort(new Error('enough'))))
  abort(3)
  await expect(loading).rejects.toThrow('enough')
})

test('what is forgotten while statistics are loaded is loaded anew', async () => {
  const state = many()
  await loadStats(state)
  state.forgetStats()
  const loading = loadStats(state)
  let [turns, forgotten] = [0, false]
  const forget = (): void => {
    if (state.chunkStats.size > 0) {
      state.forgetStats()
      forgotten = true
    } else if (++turns < 1000) setImmediate(forget)
  }
  setImmediate(forget)
  await loading
  expect(forgotten).toBe(true)
  expectNewest(state)
})
