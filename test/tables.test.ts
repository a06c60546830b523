import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as hyperslab from '../src/runtime/index.ts'
import * as plan from '../src/runtime/plan.ts'
import { asZarrStore, openZarr } from '../src/runtime/zarr.ts'
import { countAccesses } from '../src/testing/index.ts'

const { loadPeer } = await import(new URL('../bench/peers.mjs', import.meta.url).href)
const zarr = await loadPeer('zarrita')
if (zarr === undefined && process.env['CI'] === 'true') throw new Error('tests need zarrita')

/** The rows of the table of a page, their code without its quotes. */
const rowsOf = (page: string): string[][] =>
  readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('`'))
    .map((line) =>
      line
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.replace(/^`(.*)`$/, '$1')),
    )

const evaluate = (code: string, names: Record<string, unknown>): Promise<unknown> => {
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor
  return new AsyncFunction(...Object.keys(names), `return ${code}`)(...Object.values(names))
}

/** Shape and elements of whatever a cell gives. */
function plain(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return [result]
  if (!('data' in result)) return [...(result as Iterable<unknown>)]
  const { data, shape } = result as { data: Iterable<number>; shape: Iterable<number> }
  return { shape: [...shape], data: [...data] }
}

test.skipIf(zarr === undefined)('what zarrita gives is what the code beside it gives', async () => {
  const file = await hyperslab.create({ store: new hyperslab.MemoryStore(), path: 'x.af' })
  const tas = file.createArray('tas', { dtype: 'float32', shape: [2, 3, 4], chunks: [1, 3, 2] })
  tas.attrs.set('units', 'K')
  await tas.set(
    null,
    Float32Array.from({ length: 24 }, (_, i) => i / 2),
  )
  const store = asZarrStore({ tas }, { attributes: { title: 'Warm' } })
  const root = zarr.root(store)
  const theirs = { zarr, store, root, array: await zarr.open(root.resolve('tas'), { kind: 'array' }) }
  const group = await openZarr(store, { kind: 'group' })
  const ours = { ...hyperslab, openZarr, store, group, array: await group.array('tas') }
  const rows = rowsOf('zarrita.md')
  expect(rows.length).toBeGreaterThan(8)
  for (const [what, left, right] of rows) {
    const expected = plain(await evaluate(left!, theirs))
    expect([what, plain(await evaluate(right!, ours))]).toEqual([what, expected])
  }
})

test('the code beside that of DiskArrays.jl gives what its table says', async () => {
  const values = Array.from({ length: 12 }, (_, i) => i)
  const file = await hyperslab.create({ store: new hyperslab.MemoryStore(), path: 'a.af' })
  const arrayOf = async (name: string) => {
    const array = file.createArray(name, { dtype: 'float64', shape: [3, 4], chunks: [2, 2] })
    await array.set(null, values)
    return array
  }
  const [a, writable] = [await arrayOf('a'), await arrayOf('writable')]
  const rows = rowsOf('diskarrays.md')
  expect(rows.length).toBeGreaterThan(10)
  for (const [julia, code, gives] of rows) {
    let result = plain(await evaluate(code!, { ...hyperslab, ...plan, countAccesses, a, writable }))
    if (code!.includes('.set(')) result = plain(await writable.get([0]))
    const elements = Array.isArray(result) ? result : (result as { data: number[] }).data
    expect([julia, elements]).toEqual([julia, JSON.parse(gives!)])
  }
})

/** Names that DiskArrays.jl 0.4.22 documents or exports. */
const DISKARRAYS = `AbstractDiskArray eachchunk ChunkIndex ChunkIndices AllowStepRange BatchStrategy NoBatch SubRanges ChunkRead
  ChunkTiledDiskArray CachedDiskArray cache ConcatDiskArray ChunkVector RegularChunks IrregularChunks GridChunks
  arraysize_from_chunksize approx_chunksize grid_offset max_chunksize fallback_element_size default_chunk_size
  ChunkedTrait Chunked Unchunked ChunkIndexType element_size estimate_chunksize isdisk readblock! writeblock!
  haschunks DiskIndex merge_index process_index splitchunks output_aliasing DiskGenerator MultiReadArray
  getindex_disk setindex_disk! create_outputarray transfer_results_read! transfer_results_write! need_batch
  maybeshrink BlockedIndices MockChunkedDiskArray mockchunks PaddedDiskArray pad AbstractPermutedDiskArray
  PermutedDiskArray AbstractReshapedDiskArray ReshapedDiskArray allowscalar canscalar AbstractSubDiskArray
  SubDiskArray AccessCountDiskArray ChunkedDiskArray UnchunkedDiskArray DiskZip getindex_count setindex_count
  getindex_log setindex_log trueparent subsetchunks cat_disk chunktype_from_chunksizes resolve_indices
  BroadcastDiskArray @implement_diskarray batchstrategy density_threshold allow_steprange`.split(/\s+/)

/** Public names of the versions 0.12 and 0.15 of the crate array-format. */
const ARRAY_FORMAT = `ArrayFile::create ArrayFile::create_memory ArrayFile::open FileConfig::new block_target_size cache_capacity
  io_cache_capacity get_array list_arrays array_stats stats num_layers get_attribute attribute_index set_attribute
  define_array delete write_array read_array flush compact MergedArrayMeta StatsFile DeltaCache ArrayWriter::new
  WriterConfig copy_array finish ReadConfig arrays array keys attributes attribute_column written_chunks ArrayInfo
  BlockCache ArrayElement CompressionCodec Lz4Codec NoCompression ZstdCodec::new DType element_size
  is_variable_length Error FillValue ArrayStats StatValue AttributeValue TimestampNs EcoString
  DEFAULT_BLOCK_TARGET_SIZE DEFAULT_CACHE_CAPACITY DEFAULT_IO_CACHE_CAPACITY`.split(/\s+/)

test.each([
  ['diskarrays.md', DISKARRAYS],
  ['array-format.md', ARRAY_FORMAT],
])('%s names every function and type of its peer', (page, names) => {
  const code = [...readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8').matchAll(/`([^`]+)`/g)].map(
    ([, each]) => each!,
  )
  const isNamed = (name: string): boolean => {
    const at = new RegExp(`(?<![\\w@!])${name.replace('.', '\\.')}(?![\\w!])`)
    return code.some((each) => at.test(each))
  }
  expect(names.filter((name) => !isNamed(name))).toEqual([])
})

test('the code beside that of the crate array-format gives what its table says', async () => {
  const store = new hyperslab.MemoryStore()
  const file = await hyperslab.create({ store, path: 'a.af' })
  const a = file.createArray('a', { dtype: 'float64', shape: [3, 4], chunks: [2, 2] })
  await a.set(
    null,
    Array.from({ length: 12 }, (_, i) => i),
  )
  a.attrs.set('units', 'K')
  await file.flush()
  const rows = rowsOf('array-format.md')
  expect(rows.length).toBeGreaterThan(20)
  // In their order, because rows build on those above.
  for (const [rust, code, gives] of rows) {
    const result = plain(await evaluate(code!, { ...hyperslab, store, file }))
    expect([rust, Array.isArray(result) ? result : (result as { data: number[] }).data]).toEqual([rust, JSON.parse(gives!)])
  }
})
