import fc from 'fast-check'
import { grids, selections, shapes } from '../support/arbitraries.ts'

/** Layouts of containers and ways to read them. */
export const containers = shapes.chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    grid: grids(shape, false),
    selection: selections(shape),
    codec: fc.constantFrom('lz4', 'lz4', 'none'),
    blockBytes: fc.constantFrom(1, 64, 1 << 20),
    segmentBytes: fc.constantFrom(1, 40, 1 << 18),
    cacheBytes: fc.constantFrom(1, 1 << 20),
  }),
)
