import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Most of these make as many rounds as they are told to: in `.ci/run` they take minutes. */
const LONGEST = [
  'af/bit-flips',
  'af/history',
  'af/container-race',
  'package',
  'dataset/xarray',
  'adapters/zarr/write/histories',
  'array/arg',
  'array/lazy/compositions',
  'kernels/lz4-native',
  'af/race',
  'codec/zstd-wasm',
  'af/limit-costs',
  'interop/history',
  'interop/mutated',
  'interop/killed',
]

/** A stage of its own in `.ci/run`: starting the server and racing on it take longer than `npm test` may. */
const CEPH = 'test/store/s3.test.ts'

/**
 * Has the longest begin first: where no earlier run has told which these are, files of most bytes would, and cores wait for the last one at
 * the end.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const found = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
      return found < 0 ? LONGEST.length : found
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

/** Servers of queues, with workers that end and wait: they take longer than `npm test` may, and run where these are named. */
const QUEUES = process.env['HYPERSLAB_QUEUES'] === undefined ? ['test/cluster/queue*.test.ts'] : []

export default defineConfig({
  test: {
    // Property tests run hundreds of cases, on machines of any speed.
    testTimeout: process.env['HYPERSLAB_BUDGET'] === 'soak' ? 86_400_000 : 120_000,
    expect: { requireAssertions: true },
    setupFiles: 'test/support/seeds.ts',
    // The default leaves a core to vitest itself, which of two is half of them.
    maxWorkers: availableParallelism(),
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'library', include: ['test/**/*.test.ts'], exclude: ['test/interop/**', CEPH, ...QUEUES] },
      },
      {
        extends: true,
        test: { name: 'Ceph', include: [CEPH] },
      },
      {
        extends: true,
        test: { name: 'interop', include: ['test/interop/**/*.test.ts'], globalSetup: 'test/interop/setup.ts' },
      },
    ],
  },
})
