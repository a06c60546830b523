import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteCache } from '../../src/core/byte-cache.js'

/** The same, slowly: all uses in order, the newest last. */
class Model {
  entries: [number, Uint8Array][] = []
  constructor(readonly maxBytes: number) {}

  get(key: number): Uint8Array | undefined {
    const found = this.entries.find(([each]) => each === key)
    if (found !== undefined) this.entries = [...this.entries.filter((each) => each !== found), found]
    return found?.[1]
  }

  set(key: number, value: Uint8Array): void {
    this.entries = this.entries.filter(([each]) => each !== key)
    if (value.length > this.maxBytes) return
    this.entries.push([key, value])
    while (this.entries.reduce((sum, [, { length }]) => sum + length, 0) > this.maxBytes) this.entries.shift()
  }
}

test('keeps what was used last, up to its bytes', () => {
  const use = fc.record({ key: fc.nat(6), bytes: fc.option(fc.nat(12)) })
  fc.assert(
    fc.property(fc.nat(20), fc.array(use, { maxLength: 60 }), (maxBytes, uses) => {
      const [cache, model] = [new ByteCache<number, Uint8Array>(maxBytes), new Model(maxBytes)]
      for (const { key, bytes } of uses) {
        if (bytes === null) expect(cache.get(key)).toBe(model.get(key))
        else {
          const value = new Uint8Array(bytes)
          cache.set(key, value)
          model.set(key, value)
        }
        for (let each = 0; each <= 6; each++) expect(cache.has(each)).toBe(model.entries.some(([known]) => known === each))
      }
      cache.clear()
      expect(cache.has(0)).toBe(false)
      cache.set(0, new Uint8Array(maxBytes))
      expect(cache.get(0)!.length).toBe(maxBytes)
    }),
  )
})
