import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Property tests run hundreds of cases, on machines of any speed.
    testTimeout: 120_000,
  },
})
