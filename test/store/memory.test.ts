import { describe } from 'vitest'
import { MemoryStore } from '../../src/store/memory.js'
import { storeConformance } from './conformance.js'

describe('memory store', () => {
  storeConformance(async () => {
    const store = new MemoryStore()
    return { store, prefix: 'data/' }
  })
})
