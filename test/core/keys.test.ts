import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyIndex } from '../../src/core/keys.ts'
import { runs } from '../support/budget.ts'

const key = fc
  .array(fc.constantFrom('a', 'b', '.', '/', '0', 'ä', '\ud83d\ude00'), { maxLength: 6 })
  .map((parts) => parts.join(''))

test('keys below a prefix are those that a look at all of them finds', () => {
  fc.assert(
    fc.property(fc.uniqueArray(key, { maxLength: 30 }), key, fc.boolean(), (keys, prefix, shallow) => {
      const below = keys.filter((each) => each.startsWith(prefix))
      const expected = below.map((each) => {
        const slash = shallow ? each.indexOf('/', prefix.length) : -1
        return slash < 0 ? each : each.slice(0, slash + 1)
      })
      expect(new KeyIndex(keys).below(prefix, shallow).sort()).toEqual([...new Set(expected)].sort())
    }),
    { numRuns: runs(1000) },
  )
})
