import { describe } from 'vitest'
import { MemoryStore } from '../../src/store/memory.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { testAll } from '../support/conformance.ts'

describe('memory store', () => {
  testAll(
    storeConformance(async () => {
      const store = new MemoryStore()
      return { store, prefix: 'data/' }
    }),
  )
})
