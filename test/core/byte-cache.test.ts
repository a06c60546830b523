import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteCache } from '../../src/core/byte-cache.ts'

/** Weighs what it is told to, and may grow. */
interface Weight {
  byteLength: number
}

/** Slow model of the cache: all uses in order, the newest last. */
class Model {
  entries: { key: number; value: Weight; bytes: number }[] = []
  hits = 0
  misses = 0
  evictions = 0
  constructor(readonly maxBytes: number) {}

  get bytes(): number {
    return this.entries.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  again(key: number): Weight | undefined {
    const found = this.entries.find((entry) => entry.key === key)
    if (found !== undefined) this.entries = [...this.entries.filter((entry) => entry !== found), found]
    return found?.value
  }

  set(key: number, value: Weight): void {
    this.entries = this.entries.filter((entry) => entry.key !== key)
    if (value.byteLength > this.maxBytes) return
    this.entries.push({ key, value, bytes: value.byteLength })
    while (this.bytes > this.maxBytes) {
      this.entries.shift()
      this.evictions++
    }
  }
}

interface Pair {
  cache: ByteCache<number, Weight>
}

const key = fc.nat(6)
const commands = [
  key.map((k) => ({
    check: () => true,
    run: (model: Model, { cache }: Pair) => {
      const expected = model.again(k)
      if (expected === undefined) model.misses++
      else model.hits++
      expect(cache.get(k)).toBe(expected)
    },
    toString: () => `get ${k}`,
  })),
  key.map((k) => ({
    check: () => true,
    run: (model: Model, { cache }: Pair) => expect(cache.again(k)).toBe(model.again(k)),
    toString: () => `again ${k}`,
  })),
  fc.tuple(key, fc.nat(12)).map(([k, byteLength]) => ({
    check: () => true,
    run: (model: Model, { cache }: Pair) => {
      const value = { byteLength }
      model.set(k, value)
      cache.set(k, value)
    },
    toString: () => `set ${k} to ${byteLength} bytes`,
  })),
  fc.tuple(key, fc.integer({ min: -3, max: 5 })).map(([k, more]) => ({
    check: (model: Model) => model.entries.some((entry) => entry.key === k),
    run: (model: Model, { cache }: Pair) => {
      const value = model.again(k)!
      value.byteLength = Math.max(value.byteLength + more, 0)
      model.set(k, value)
      cache.set(k, value)
    },
    toString: () => `grow ${k} by ${more}`,
  })),
  fc.constant({
    check: () => true,
    run: (model: Model, { cache }: Pair) => {
      model.entries = []
      cache.clear()
    },
    toString: () => 'clear',
  }),
]

test('keeps what was used last, up to its bytes, and counts', () => {
  const checked = commands.map((arbitrary) =>
    arbitrary.map((command) => ({
      ...command,
      run: (model: Model, pair: Pair) => {
        command.run(model, pair)
        const { bytes, hits, misses, evictions } = model
        expect(pair.cache.figures).toEqual({ bytes, hits, misses, evictions })
        for (let each = 0; each <= 6; each++) expect(pair.cache.has(each)).toBe(model.entries.some(({ key: k }) => k === each))
      },
    })),
  )
  fc.assert(
    fc.property(fc.nat(20), fc.commands(checked, { maxCommands: 60, size: 'max' }), (maxBytes, history) => {
      fc.modelRun(() => ({ model: new Model(maxBytes), real: { cache: new ByteCache<number, Weight>(maxBytes) } }), history)
    }),
  )
})
