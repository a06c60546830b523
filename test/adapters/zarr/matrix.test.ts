import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Hierarchy } from '../../../src/adapters/zarr/hierarchy.ts'
import { dtypeOf, type MatrixFill, writeMatrix } from './matrix.ts'

/** More cases and another seed, for long runs. */
const COUNT = Number(process.env['HYPERSLAB_ZARR_CASES'] ?? 60)
const SEED = Number(process.env['HYPERSLAB_ZARR_SEED'] ?? 20261122)

const matrix = writeMatrix(COUNT, SEED)
afterAll(() => matrix?.remove())

const readerOf = (folder: string): { get(key: string): Promise<Uint8Array | undefined> } => ({
  get: async (key) => {
    try {
      return new Uint8Array(readFileSync(join(folder, key)))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  },
})

function scalarOf(fill: MatrixFill | null, dtype: string): unknown {
  if (fill === null) return undefined
  if ('int' in fill) return /64|_ns/.test(dtype) ? BigInt(fill.int) : Number(fill.int)
  if ('float' in fill) return Buffer.from(fill.float, 'hex').readDoubleLE()
  return 'bool' in fill ? fill.bool : 'text' in fill ? fill.text : Uint8Array.from(fill.bytes)
}

test.skipIf(matrix === undefined)('metadata that zarr-python writes say here what they say there', async () => {
  expect(matrix!.cases.length).toBe(COUNT)
  for (const one of matrix!.cases) {
    const node = await new Hierarchy(readerOf(join(matrix!.folder, one.path)), { file: one.path }).node('')
    if (node?.kind !== 'array') throw new Error(`${one.path} is no array`)
    const { metadata } = node
    const dtype = dtypeOf(one.name)
    const [coords, key] = one.sample
    expect({ ...one, ...metadata, codecs: metadata.codecs.map(({ name }) => name) }).toMatchObject({
      version: one.version,
      shape: one.shape,
      chunks: one.shards ?? one.chunks,
      type: { dtype },
      codecs: expect.arrayContaining(one.codecs.map((name) => name.replace('numcodecs.', ''))),
      fillValue: scalarOf(one.fill, dtype),
    })
    expect(metadata.chunkKey(coords)).toBe(key)
    expect(metadata.attrs['_ARRAY_DIMENSIONS'] ?? metadata.dimensionNames).toEqual(metadata.dimensionNames)
  }
})
