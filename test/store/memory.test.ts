import { describe } from 'vitest'
import { MemoryStore } from '../../src/store/memory.js'
import { storeConformance } from '../../src/testing/index.js'
import { testAll } from '../support/conformance.js'

describe('memory store', () => {
  testAll(
    storeConformance(async () => {
      const store = new MemoryStore()
      return { store, prefix: 'data/' }
    }),
  )
})
