import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // Property tests run hundreds of cases, on machines of any speed.
    testTimeout: 120_000,
    expect: { requireAssertions: true },
    // The default leaves a core to vitest itself, which of two is half of them.
    maxWorkers: availableParallelism(),
    // In the order of their names: while the others run, the set-up of the last one compiles the Rust crate.
    projects: [
      {
        extends: true,
        test: { name: 'all but interop', include: ['test/**/*.test.ts'], exclude: ['test/interop/**'] },
      },
      {
        extends: true,
        test: { name: 'interop', include: ['test/interop/**/*.test.ts'], globalSetup: 'test/interop/setup.ts' },
      },
    ],
  },
})
