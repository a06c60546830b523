// Program of a worker: bundled into one file, dist/worker.js, and embedded as text by
// scripts/embed-worker.mjs.
import { openTileSpec, type SharedTileSpec } from '../adapters/geotiff/tile-codec.ts'
import { type FilterSpec, openFilterSpec } from '../adapters/hdf5/filters/index.ts'
import { type ChunkSpec, chunkCodec } from '../adapters/zarr/chunk-codec.ts'
import { ELEMENT_CODEC } from '../adapters/zarr/elements.ts'
import { answerTasks } from '../pool/worker.ts'

answerTasks(async (spec) => {
  if ('filters' in spec) return openFilterSpec(spec as FilterSpec)
  if ('tile' in spec) return openTileSpec(spec as SharedTileSpec)
  return chunkCodec('chunk', spec as ChunkSpec, [], ELEMENT_CODEC)
})
