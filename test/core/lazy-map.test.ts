import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LazyMap } from '../../src/core/lazy-map.ts'

const key: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const step = fc.record({ do: fc.constantFrom('get', 'set', 'delete', 'all'), key })

test('a lazy map is the map of its keys, whatever is changed, and makes each value once', () => {
  fc.assert(
    fc.property(fc.uniqueArray(key), fc.array(step), (keys, steps) => {
      const made: string[] = []
      const given = new Set(keys)
      const lazy = new LazyMap({ has: (k) => given.has(k), keys: () => given.keys(), size: given.size }, (k) => {
        made.push(k)
        return { text: k }
      })
      const model = new Map(keys.map((k) => [k, { text: k }]))
      for (const { do: what, key } of steps) {
        if (what === 'get') expect(lazy.get(key)).toEqual(model.get(key))
        if (what === 'set') for (const map of [lazy, model]) map.set(key, { text: `new ${key}` })
        if (what === 'delete') expect(lazy.delete(key)).toBe(model.delete(key))
        if (what === 'all') expect([...lazy]).toEqual([...model])
        expect([lazy.size, [...lazy.keys()], lazy.has(key)]).toEqual([model.size, [...model.keys()], model.has(key)])
      }
      const values: unknown[] = []
      lazy.forEach((value) => void values.push(value))
      expect(values).toEqual([...model.values()])
      expect([...lazy.values()]).toEqual(values)
      expect(new Set(lazy.made()).size).toBe(model.size)
      expect(new Set(made).size).toBe(made.length)
      expect([...given]).toEqual(keys)
    }),
  )
})
