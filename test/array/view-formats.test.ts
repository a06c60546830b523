import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { openHdf5 } from '../../src/runtime/hdf5.ts'
import { BlockCache, concat, create, MemoryStore, open } from '../../src/runtime/index.ts'
import { openNetcdf } from '../../src/runtime/netcdf.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'
import { FORMATS, listOf } from '../adapters/hdf5/support.ts'
import { anySelections, numbered } from '../support/arbitraries.ts'
import { byBudget, seedOf } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { writeNetcdf } from '../support/netcdf-writer.ts'
import { type Plain, pick, plainGet, unravel } from '../support/oracle.ts'

const SHAPE = [5, 6, 7]
const CHUNKS = [2, 3, 4]
const PLAIN = numbered('int32', SHAPE)
const SEED = seedOf('views of formats', 38)

/** A store that counts its reads, of whole objects and of ranges. */
class CountedStore extends MemoryStore {
  reads = 0

  override get(...asked: Parameters<MemoryStore['get']>): ReturnType<MemoryStore['get']> {
    this.reads++
    return super.get(...asked)
  }

  override getRange(...asked: Parameters<MemoryStore['getRange']>): ReturnType<MemoryStore['getRange']> {
    this.reads++
    return super.getRange(...asked)
  }
}

/** An array of a format, its elements, and the requests that reads of it have made. */
interface Subject {
  readonly array: DiskArray
  readonly plain: Plain
  readonly requests: () => number
  /** Requests beside one for each chunk that a read touches. */
  readonly more?: number
}

const store = new CountedStore()
const uncached = (): BlockCache => new BlockCache({ blockBytes: 0, slabBytes: 0 })
const stored = (array: unknown, plain: Plain = PLAIN, more = 0): Subject => ({
  array: array as DiskArray,
  plain,
  requests: () => store.reads,
  more,
})
const openZarrArray = async (path: string): Promise<unknown> => openZarr({ store, path }, { kind: 'array', cache: uncached() })

/** Writes the array in version 2 of Zarr, without compression. */
async function putZarr2(path: string): Promise<void> {
  const types = { zarr_format: 2, dtype: '<i4', compressor: null, filters: null, fill_value: 0, order: 'C' }
  const meta = { ...types, shape: SHAPE, chunks: CHUNKS }
  await store.put(`${path}/.zarray`, new TextEncoder().encode(JSON.stringify(meta)))
  const grid = ChunkGrid.regular(SHAPE, CHUNKS)
  for (let number = 0; number < grid.count; number++) {
    const index = grid.index(number)
    const elements = new Int32Array(24)
    for (const i of elements.keys()) {
      const within = [Math.floor(i / 12), Math.floor(i / 4) % 3, i % 4]
      const [x, y, z] = within.map((at, axis) => index[axis]! * CHUNKS[axis]! + at) as [number, number, number]
      if (x < 5 && y < 6 && z < 7) elements[i] = PLAIN.data[(x * 6 + y) * 7 + z]!
    }
    await store.put(`${path}/${index.join('.')}`, new Uint8Array(elements.buffer))
  }
}

/** Writes rows of the array in version 3 of Zarr. */
async function putZarr3(path: string, rows: readonly [start: number, stop: number], shards?: number[]): Promise<string> {
  const group = await createZarr({ store, path })
  const shape = [rows[1] - rows[0], ...SHAPE.slice(1)]
  const array = await group.createArray('x', { dtype: 'int32', shape, chunks: CHUNKS, ...(shards && { shards }) })
  await array.set(null, PLAIN.data.slice(42 * rows[0], 42 * rows[1]))
  return `${path}/x`
}

async function openContainer(): Promise<Subject> {
  const file = await create({ store, path: 'x.af' })
  await file.createArray('x', { dtype: 'int32', shape: SHAPE, chunks: CHUNKS }).set(null, PLAIN.data)
  await file.flush()
  await file.close()
  return stored((await open({ store, path: 'x.af' }, { cache: uncached() })).array('x'))
}

async function openClassic(): Promise<Subject> {
  const dimensions = SHAPE.map((length, axis) => [`d${axis}`, length] as const)
  const x = { name: 'x', type: 'int', dimensions: dimensions.map(([name]) => name), values: [...PLAIN.data] } as const
  await store.put('x.nc', writeNetcdf({ dimensions, variables: [x] }))
  return stored((await openNetcdf({ store, path: 'x.nc' })).variables[0])
}

/** An array of a file that h5py wrote. Its elements are compared with those of h5py in the tests of HDF5. */
async function openStored(name: string, path: string): Promise<Subject> {
  // Small files are read whole, and chunks in the head of a file with it.
  const bytes = new Uint8Array(2 ** 21)
  bytes.set(readFileSync(join(FORMATS, 'hdf5', name)))
  await store.put(name, bytes)
  const root = await openHdf5({ store, path: name }, { cache: uncached(), headBytes: 512 })
  const { dtype, shape } = await root.array(path)
  const data = listOf(dtype, await (await root.array(path)).toTensor()) as never
  return stored(await root.array(path), { dtype, shape: [...shape], data })
}

const counting = (): Subject => {
  const source = new CountingSource(PLAIN, ChunkGrid.regular(SHAPE, CHUNKS))
  return { array: new DiskArray(source) as DiskArray, plain: PLAIN, requests: () => source.reads.length }
}

const OPENERS: Readonly<Record<string, () => Subject | Promise<Subject>>> = {
  'a source in memory': counting,
  'a container': openContainer,
  'Zarr 2': async () => {
    await putZarr2('2.zarr')
    return stored(await openZarrArray('2.zarr'))
  },
  'Zarr 3': async () => stored(await openZarrArray(await putZarr3('3.zarr', [0, 5]))),
  // Each of eight shards has an index.
  'sharded Zarr 3': async () => stored(await openZarrArray(await putZarr3('s.zarr', [0, 5], [4, 3, 4])), PLAIN, 8),
  'classic NetCDF': openClassic,
  'contiguous HDF5': () => openStored('test_ds_be.h5', 'dset_al'),
  'chunked HDF5': () => openStored('test_chunked_datasets_earliest.hdf5', 'float/float32'),
  'a concatenation': async () => {
    const parts = [await putZarr3('a.zarr', [0, 2]), await putZarr3('b.zarr', [2, 5])]
    return stored(concat((await Promise.all(parts.map(openZarrArray))) as DiskArray[]))
  },
}

const NAMES = Object.keys(OPENERS)
/** Cases of all formats together: 10 000 in a soak. */
const CASES = byBudget({ quick: 270, full: 1350, soak: 10_080 })
const subjects = new Map<string, Subject>()

beforeAll(async () => {
  for (const [name, opener] of Object.entries(OPENERS)) subjects.set(name, await opener())
})

/** Chunk of each flat position. */
function chunksOf({ shape, chunks }: DiskArray, flat: readonly number[]): string[] {
  return unravel(shape, flat).map((index) => index.map((position, axis) => chunks.axes[axis]!.find(position)).join())
}

/**
 * Requests that a read of some positions of a view may make: for each chunk of the view that it touches, one
 * for each chunk of the array behind it.
 * @param flat position in the array of each element of the view
 */
function mostRequests(array: DiskArray, view: DiskArray, flat: readonly number[], part: readonly number[]): number {
  const [own, behind] = [chunksOf(view, [...flat.keys()]), chunksOf(array, flat)]
  const touched = new Set(part.map((position) => own[position]!))
  return new Set(own.flatMap((chunk, i) => (touched.has(chunk) ? [`${chunk} ${behind[i]}`] : []))).size
}

const shown = (selections: unknown): string =>
  JSON.stringify(selections, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))

test.each(NAMES)('views, and views of views, of %s read as the oracle and request each chunk once', async (name) => {
  const { array, plain, requests, more = 0 } = subjects.get(name)!
  const counted = async (read: () => Promise<unknown>) => {
    const before = requests()
    const result = await read()
    const isTensor = typeof result === 'object' && result !== null && 'shape' in result
    const values = Array.from(listOf(array.dtype, result))
    return { values, shape: isTensor ? (result.shape as number[]) : [], requests: requests() - before }
  }
  const twice = anySelections(array.chunks).chain((selection) =>
    fc.tuple(fc.constant(selection), anySelections(array.view(selection).chunks)),
  )
  let [cases, made, least] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(twice, async ([first, second]) => {
      const [outer, view] = [plainGet(plain, first, array.chunks), array.view(first)]
      const inner = plainGet(outer, second, view.chunks)
      const { flat } = pick(plain.shape, first, array.chunks)
      const part = pick(outer.shape, second, view.chunks).flat
      const [got, viewed] = [await counted(() => array.get(first)), await counted(() => view.get())]
      const [direct, nested] = [await counted(() => view.get(second)), await counted(() => view.view(second).get())]
      const text = shown([first, second])
      for (const each of [got, viewed]) expect([each.shape, each.values], text).toEqual([outer.shape, [...outer.data]])
      for (const each of [direct, nested]) expect([each.shape, each.values], text).toEqual([inner.shape, [...inner.data]])
      expect(viewed.requests, text).toBeLessThanOrEqual(got.requests)
      expect(viewed.requests, text).toBeLessThanOrEqual(new Set(chunksOf(array, flat)).size + more)
      expect(direct.requests, text).toBeLessThanOrEqual(mostRequests(array, view, flat, part) + more)
      expect(nested.requests, text).toBeLessThanOrEqual(mostRequests(array, view, flat, part) + more)
      if (part.length > 0) expect(nested.requests, text).toBeGreaterThan(0)
      cases++
      made += nested.requests
      least += new Set(
        chunksOf(
          array,
          part.map((position) => flat[position]!),
        ),
      ).size
    }),
    { numRuns: CASES / NAMES.length, seed: SEED },
  )
  expect(cases).toBe(CASES / NAMES.length)
  expect(made).toBeGreaterThan(0)
  // A chunk of a view is read as a box, in which some chunks of the array may have none of the elements.
  expect(made).toBeLessThanOrEqual(2 * least + more)
})
