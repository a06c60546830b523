import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseLevels } from '../../../src/adapters/zarr/levels.ts'
import { isHyperslabError } from '../../../src/core/errors.ts'
import { openZarr } from '../../../src/runtime/zarr.ts'
import { MemoryStore } from '../../../src/store/memory.ts'
import { byBudget } from '../../support/budget.ts'

/** More runs, for longer. */
const RUNS = byBudget({ quick: 2000, full: 2000, soak: 50_000 })

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const V2: Json = {
  zarr_format: 2,
  shape: [6, 4],
  chunks: [4, 3],
  dtype: '<i4',
  compressor: { id: 'blosc', cname: 'lz4', clevel: 5, shuffle: 1, blocksize: 0 },
  fill_value: 7,
  order: 'F',
  filters: [{ id: 'delta', dtype: '<i4' }],
  dimension_separator: '.',
}
const ATTRIBUTES: Json = { _ARRAY_DIMENSIONS: ['y', 'x'], missing_value: [1, 2], _FillValue: 3, units: 'K' }
const V3: Json = {
  zarr_format: 3,
  node_type: 'array',
  shape: [6, 4],
  data_type: 'float32',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [4, 4] } },
  chunk_key_encoding: { name: 'default', configuration: { separator: '/' } },
  fill_value: 'NaN',
  codecs: [
    {
      name: 'sharding_indexed',
      configuration: {
        chunk_shape: [2, 2],
        codecs: [
          { name: 'bytes', configuration: { endian: 'little' } },
          { name: 'gzip', configuration: { level: 1 } },
        ],
        index_codecs: [{ name: 'bytes', configuration: { endian: 'little' } }, { name: 'crc32c' }],
        index_location: 'end',
      },
    },
  ],
  attributes: { ...ATTRIBUTES, _FillValue: 'AAAAAAAA+D8=' },
  dimension_names: ['y', null],
}
const RECTILINEAR: Json = {
  ...V3,
  data_type: { name: 'numpy.datetime64', configuration: { unit: 's', scale_factor: 10 } },
  fill_value: 'NaT',
  chunk_grid: { name: 'rectilinear', configuration: { kind: 'inline', chunk_shapes: [[[2, 2], 2], 3] } },
  chunk_key_encoding: { name: 'suffix', configuration: { suffix: '.bin', base_encoding: { name: 'v2' } } },
  codecs: ['bytes', { name: 'numcodecs.zlib', configuration: { level: 1 } }],
}
const MULTISCALES: Json = [
  {
    axes: [{ name: 'y' }, { name: 'x' }],
    datasets: [{ path: 'x', coordinateTransformations: [{ type: 'scale', scale: [1, 2] }] }],
  },
]

const REFERENCES: Json = {
  version: 1,
  templates: { u: 'all.bin' },
  refs: {
    'x/.zarray': { ...V2, filters: null, compressor: null },
    'x/.zattrs': ATTRIBUTES,
    '.zgroup': '{"zarr_format": 2}',
    'x/0.0': ['{{u}}', 0, 48],
  },
}

/** Stores of metadata; each run changes one object of one of them. */
const STORES: readonly Record<string, Json>[] = [
  { '.zarray': V2, '.zattrs': ATTRIBUTES },
  { 'zarr.json': V3 },
  { 'zarr.json': RECTILINEAR },
  { 'refs.json': REFERENCES },
  {
    '.zmetadata': {
      zarr_consolidated_format: 1,
      metadata: {
        '.zgroup': { zarr_format: 2 },
        '.zattrs': { multiscales: MULTISCALES },
        'g/x/.zarray': V2,
        'x/.zarray': V2,
        'x/.zattrs': ATTRIBUTES,
      },
    },
  },
  {
    'zarr.json': {
      zarr_format: 3,
      node_type: 'group',
      attributes: { ome: { multiscales: MULTISCALES } },
      consolidated_metadata: { kind: 'inline', must_understand: false, metadata: { x: V3, 'g/y': RECTILINEAR } },
    },
  },
]

/** Values that are often wrong where they stand, and names that are right elsewhere. */
const VALUES = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    -1,
    0,
    1,
    0.5,
    3,
    2 ** 31,
    2 ** 32 + 1,
    2 ** 53,
    -(2 ** 53),
    1e308,
    '',
    '/',
    '..',
    '\0',
    'x'.repeat(300),
  ),
  fc.constantFrom<Json>(
    'NaN',
    'NaT',
    '0x7fc00000',
    '9'.repeat(30),
    'AAAA',
    'string',
    'bytes',
    'complex64',
    '|O',
    '>f2',
    '<M8[10ms]',
    '|S3',
    '<U2',
  ),
  fc.constantFrom<Json>(
    'vlen-utf8',
    'transpose',
    'packbits',
    'shuffle',
    'zstd',
    'crc32c',
    'F',
    'big',
    'start',
    'rectilinear',
    '__proto__',
  ),
  fc.constantFrom<Json>(
    [],
    {},
    [[]],
    [[2, 3]],
    [1, 2, 3],
    [0, 0],
    [2 ** 31, 2 ** 31],
    Array(100).fill(1),
    { name: 'bytes' },
    { id: 'zlib' },
  ),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
)

interface Change {
  readonly kind: 'replace' | 'delete' | 'rename' | 'repeat' | 'byte' | 'cut'
  readonly place: number
  readonly value: Json
}

const CHANGES: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('replace', 'replace', 'replace', 'delete', 'rename', 'repeat', 'byte', 'cut'),
  place: fc.nat(),
  value: VALUES,
})

/** Every place in a document: the list or object it is in, and its index or name. */
function placesOf(json: Json): { parent: Json[] | { [name: string]: Json }; key: string }[] {
  if (typeof json !== 'object' || json === null) return []
  return Object.entries(json).flatMap(([key, value]) => [{ parent: json, key }, ...placesOf(value)])
}

function changed(json: Json, { kind, place, value }: Change): Uint8Array {
  const copy = structuredClone(json)
  const places = placesOf(copy)
  const { parent, key } = places[place % places.length]!
  const list = parent as { [name: string]: Json }
  if (kind === 'replace') list[key] = value
  if (kind === 'delete') Array.isArray(parent) ? parent.splice(Number(key), 1) : delete parent[key]
  if (kind === 'rename' && !Array.isArray(parent)) parent[typeof value === 'string' ? value : 'name'] = parent[key]!
  if (kind === 'repeat' && Array.isArray(parent)) parent.push(structuredClone(parent[Number(key)]!))
  const bytes = new TextEncoder().encode(JSON.stringify(copy))
  if (kind === 'byte') bytes[place % bytes.length]! ^= 1 << (place % 8)
  return kind === 'cut' ? bytes.subarray(0, place % bytes.length) : bytes
}

/** Tags of the errors that invalid metadata may cause. */
const TAGS = ['FormatError', 'UnsupportedError', 'CodecError', 'TooLargeError', 'UnknownArrayError', 'NotFoundError'] as const
const isTold = (error: unknown): boolean => isHyperslabError(error, ...TAGS)

test(`changed metadata end in an array or in an error that says what is wrong`, { timeout: 600_000 }, async () => {
  let opened = 0
  let refused = 0
  const told = (error: unknown): void => {
    if (!isTold(error)) throw error
    refused++
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...STORES),
      fc.nat(),
      fc.array(CHANGES, { minLength: 1, maxLength: 2 }),
      async (objects, which, changes) => {
        const store = new MemoryStore()
        const keys = Object.keys(objects)
        for (const [i, [key, json]] of Object.entries(objects).entries()) {
          let bytes: Uint8Array = new TextEncoder().encode(JSON.stringify(json))
          if (i === which % keys.length) {
            bytes = changed(json, changes[0]!)
            // A second change needs what the first one has left whole.
            if (changes.length === 2 && /replace|delete|rename|repeat/.test(changes[0]!.kind))
              bytes = changed(JSON.parse(new TextDecoder().decode(bytes)), changes[1]!)
          }
          await store.put(key, bytes)
        }
        try {
          const limits = { metadataBytes: 2 ** 16, blockBytes: 2 ** 16, elements: 2 ** 16 }
          const node = await openZarr({ store, path: 'refs.json' in objects ? 'refs.json' : '' }, { limits })
          const arrays = []
          if (node.kind === 'array') arrays.push(node)
          else {
            const attrs = Object.fromEntries(node.attrs)
            try {
              parseLevels(attrs)
            } catch (error) {
              told(error)
            }
            for (const name of await node.arrays()) {
              try {
                arrays.push(await node.array(name))
              } catch (error) {
                told(error)
              }
            }
          }
          for (const array of arrays) {
            opened++
            // The store has no chunks, so that reads return the fill value. An array without elements has
            // nothing to read.
            if (array.shape.includes(0)) continue
            await array.get(array.shape.map(() => 0)).catch(told)
          }
        } catch (error) {
          told(error)
        }
      },
    ),
    { numRuns: RUNS },
  )
  // Both come often.
  expect(opened).toBeGreaterThan(RUNS / 10)
  expect(refused).toBeGreaterThan(RUNS / 10)
})

test.each(['__proto__', 'toString', 'constructor'])(
  'blosc with a compressor called %s opens as with any that frames may not have',
  async (cname) => {
    const store = new MemoryStore()
    const metadata = { ...V2, compressor: { id: 'blosc', cname }, filters: null }
    await store.put('.zarray', new TextEncoder().encode(JSON.stringify(metadata)))
    await using array = await openZarr({ store, path: '' }, { kind: 'array' })
    expect(await array.get([0, 0])).toBe(7)
  },
)
