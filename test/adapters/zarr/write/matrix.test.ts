import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { ZarrArray } from '../../../../src/adapters/zarr/group.ts'
import type { NewZarrArray, ZarrCodec } from '../../../../src/adapters/zarr/write/new-array.ts'
import type { Values } from '../../../../src/array/values.ts'
import { allocate, DTYPES, type DType, isFixed, readElement } from '../../../../src/core/dtype.ts'
import { eachIndex, sizeOf } from '../../../../src/core/shape.ts'
import { createZarr, openZarr, verifyZarr } from '../../../../src/runtime/zarr.ts'
import { byBudget, seedOf } from '../../../support/budget.ts'
import { zarrPython } from '../../../support/python.ts'
import { asRead, elementFor, lengthOf, Model, Random, readBack, someSlices } from './support.ts'

const { loadPeer } = await import(new URL('../../../../bench/peers.mjs', import.meta.url).href)
const zarrita = await loadPeer('zarrita')
if (zarrita === undefined && process.env['CI'] === 'true') throw new Error('tests need zarrita')

/** More cases and another seed, for long runs. */
const COUNT = byBudget({ quick: 80, full: 80, soak: 1000 })
const SEED = seedOf('written matrix', 20261123)

const env = zarrPython()
const folder = mkdtempSync(join(tmpdir(), 'hyperslab-written-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Case {
  readonly name: string
  readonly options: NewZarrArray
  readonly model: Model
}

const codecsFor = (random: Random, dtype: DType, rank: number): Pick<NewZarrArray, 'codec' | 'codecs'> => {
  if (random.chance(60)) {
    const codec = random.pick<NewZarrArray['codec']>([undefined, 'none', 'zstd', 'gzip', 'zlib', 'lz4', 'blosc', { name: 'blosc', configuration: { cname: 'lz4', shuffle: 'bitshuffle' } }, { name: 'zstd', configuration: { level: 7 } }]) // biome-ignore format: one line
    return { codec }
  }
  const order = Array.from({ length: rank }, (_, axis) => rank - 1 - axis)
  const codecs: ZarrCodec[] = random.chance(50) ? [{ name: 'transpose', configuration: { order } }] : []
  // zarr-python 3.1.6 takes axes of texts that are transposed for those of the array.
  if (!isFixed(dtype)) codecs.splice(0)
  if (dtype === 'string') codecs.push({ name: 'vlen-utf8' })
  else if (dtype === 'binary') codecs.push({ name: 'vlen-bytes' })
  else codecs.push({ name: 'bytes', configuration: { endian: random.pick(['little', 'big']) } })
  for (const name of ['gzip', 'zstd', 'crc32c', 'lz4', 'zlib', 'blosc']) if (random.chance(25)) codecs.push({ name })
  return { codecs }
}

function caseOf(random: Random, number: number): Case {
  const dtype = random.pick(DTYPES)
  const rank = random.pick([0, 1, 1, 2, 2, 3])
  const shape = Array.from({ length: rank }, () => random.between(1, [1, 60, 20, 9][rank]!))
  const chunks = shape.map((length) => random.between(1, length + 2))
  const shards = random.chance(50) && rank > 0 ? chunks.map((length) => length * random.between(1, 3)) : undefined
  const fillValue = random.chance(60) ? elementFor(random, dtype) : undefined
  const options = { dtype, shape, chunks, shards, fillValue, ...codecsFor(random, dtype, rank) } as NewZarrArray
  const zero = readElement(dtype, allocate(dtype, 1), 0)
  return { name: `g${number % 5}/a${number}`, options, model: new Model(dtype, shape, fillValue ?? zero) }
}

const labelOf = ({ options }: Case): string =>
  JSON.stringify(options, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))

/** Writes some boxes, or nothing. */
async function writeSome(random: Random, { model }: Case, array: ZarrArray): Promise<void> {
  for (let left = random.below(5); left > 0; left--) {
    const slices = someSlices(random, model.shape)
    const whole = random.chance(20) ? model.shape.map((length) => ({ ...slices[0]!, start: 0, stop: length, step: 1 })) : slices
    const count = sizeOf(whole.map(lengthOf))
    const isFill = random.chance(20)
    const values = Array.from({ length: count }, () => (isFill ? model.fill : elementFor(random, model.dtype)))
    model.set(whole, values)
    await array.set(whole, values as Values<DType>)
  }
}

const random = new Random(SEED)
const cases = Array.from({ length: COUNT }, (_, number) => caseOf(random, number))

test('what is written reads the same here', { timeout: 120_000 }, async () => {
  const group = await createZarr(join(folder, 'a.zarr'))
  for (const one of cases) {
    const array = await group.createArray(one.name, one.options)
    const label = labelOf(one)
    for (let round = 0; round < 2; round++) {
      await writeSome(random, one, array)
      expect((await array.toTensor()).data, label).toEqual(one.model.data)
    }
    const again = await openZarr(join(folder, 'a.zarr', one.name), { kind: 'array' })
    expect((await again.toTensor()).data, label).toEqual(one.model.data)
  }
})

/** Checks that another program reads the written values. */
function expectReadBack(peer: 'zarr' | 'tensorstore', some: readonly Case[]): void {
  const names = some.map(({ name }) => name)
  const answers = readBack(env!, join(folder, 'a.zarr'), peer, names)
  for (const [i, one] of some.entries()) expect(answers[i], labelOf(one)).toEqual({ path: one.name, ...asRead(one.model) })
}

test.skipIf(env === undefined)('what is written reads the same in zarr-python', { timeout: 120_000 }, () => {
  expectReadBack('zarr', cases)
})

test.each(['int32', 'string'] as const)(
  'shards in shards that others have made are written to, of %s',
  { timeout: 60_000 },
  async (dtype) => {
    const name = `nested-${dtype}`
    const options = { dtype, shape: [17, 20], chunks: [2, 3], shards: [4, 6] }
    const group = await createZarr(join(folder, `${name}.zarr`))
    await group.createArray('x', options)
    // The package creates at most two levels of shards, so that the test puts a third one around them.
    const path = join(folder, `${name}.zarr/x/zarr.json`)
    const metadata = JSON.parse(readFileSync(path, 'utf8'))
    const [inner] = metadata.codecs
    metadata.codecs = [{ ...inner, configuration: { ...inner.configuration, chunk_shape: [4, 6], codecs: [inner] } }]
    metadata.chunk_grid.configuration.chunk_shape = [8, 12]
    writeFileSync(path, JSON.stringify(metadata))
    const array = await openZarr(join(folder, `${name}.zarr/x`), { mode: 'r+', kind: 'array' })
    expect(array.chunks.chunkShape).toEqual([2, 3])
    const one: Case = { name: 'x', options, model: new Model(dtype, options.shape, dtype === 'string' ? '' : 0) }
    for (let round = 0; round < 12; round++) {
      await writeSome(random, one, array)
      expect((await array.toTensor()).data).toEqual(one.model.data)
    }
    expect((await verifyZarr(join(folder, `${name}.zarr`))).findings).toEqual([])
    if (env !== undefined)
      expect(readBack(env, join(folder, `${name}.zarr`), 'zarr', ['x'])).toEqual([{ path: 'x', ...asRead(one.model) }])
  },
)

/** Whether tensorstore has codecs and types for a case. */
const isForTensorstore = ({ options: { dtype, codec, codecs } }: Case): boolean =>
  isFixed(dtype) &&
  dtype !== 'timestamp_ns' &&
  !['zlib', 'lz4'].includes(codec as string) &&
  !codecs?.some(({ name }) => ['zlib', 'lz4'].includes(name))

test.skipIf(env === undefined)('what is written reads the same in tensorstore', { timeout: 120_000 }, () => {
  const some = cases.filter(isForTensorstore)
  expect(some.length).toBeGreaterThan(COUNT / 4)
  expectReadBack('tensorstore', some)
})

/**
 * Whether zarrita 0.7.5 reads a case correctly. It has no type for binary data and times, and swaps bools
 * that are declared big-endian. It mistakes the fill values -0 and integers beyond 2^53.
 */
const isForZarrita = ({ options: { dtype, fillValue, codecs } }: Case): boolean =>
  dtype !== 'binary' &&
  dtype !== 'timestamp_ns' &&
  !(dtype === 'bool' && codecs?.some(({ configuration }) => configuration?.['endian'] === 'big')) &&
  !Object.is(fillValue, -0) &&
  !(typeof fillValue === 'bigint' && (fillValue > 2n ** 53n || fillValue < -(2n ** 53n)))

test.skipIf(zarrita === undefined)('what is written reads the same in zarrita', { timeout: 120_000 }, async () => {
  const { default: FileSystemStore } = await loadPeer('zarrita', '@zarrita/storage/fs')
  const some = cases.filter(isForZarrita)
  expect(some.length).toBeGreaterThan(COUNT / 2)
  for (const one of some) {
    const { name, model } = one
    const opened = await zarrita.open.v3(new FileSystemStore(join(folder, 'a.zarr', name)), { kind: 'array' })
    const read = await zarrita.get(opened)
    const data: unknown[] = []
    if (model.shape.length === 0) data.push(read)
    else
      eachIndex(model.shape, (index) => {
        const at = index.reduce((sum, position, axis) => sum + position * read.stride[axis], 0)
        data.push(typeof read.data.get === 'function' ? read.data.get(at) : read.data[at])
      })
    const found = data.map((value) => (typeof value === 'boolean' ? Number(value) : value))
    expect(found, labelOf(one)).toEqual(Array.from(model.data as ArrayLike<unknown>))
  }
})
