import { describe, expect, test } from 'vitest'
import { Hierarchy } from '../src/adapters/zarr/hierarchy.ts'
import { treeOf } from '../src/adapters/zarr/tree.ts'
import { isHyperslabError } from '../src/core/errors.ts'
import { parseJson } from '../src/core/json.ts'
import { JsonMembers } from '../src/core/json-members.ts'
import { withoutEndings, withoutSlashes } from '../src/core/text.ts'
import { attributeText } from '../src/dataset/attributes.ts'
import { openDataset } from '../src/runtime/dataset.ts'
import { openZarr } from '../src/runtime/zarr.ts'
import { MemoryStore } from '../src/store/memory.ts'
import { Transient } from '../src/store/retry.ts'
import { pageOf } from '../src/store/s3/answers.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const range = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

async function storeOf(documents: Record<string, unknown>): Promise<MemoryStore> {
  const store = new MemoryStore()
  for (const [key, value] of Object.entries(documents)) await store.put(key, encode(JSON.stringify(value)))
  return store
}

const array = (more: object = {}) => ({
  zarr_format: 3,
  node_type: 'array',
  shape: [1],
  data_type: 'int8',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [1] } },
  chunk_key_encoding: { name: 'default' },
  fill_value: 0,
  codecs: [{ name: 'bytes' }],
  ...more,
})
const group = (more: object = {}) => ({ zarr_format: 3, node_type: 'group', ...more })
const consolidated = (metadata: object) => group({ consolidated_metadata: { kind: 'inline', must_understand: false, metadata } })

async function treeIn(documents: Record<string, unknown>): Promise<void> {
  const store = await storeOf(documents)
  await treeOf(await openZarr({ store, path: '' }))
}
const datasetIn = async (attributes: object, dimensions: readonly string[] = ['x']): Promise<void> => {
  const x = array({
    attributes,
    dimension_names: dimensions,
    shape: dimensions.map(() => 1),
    chunk_grid: { name: 'regular', configuration: { chunk_shape: dimensions.map(() => 1) } },
  })
  await openDataset({ store: await storeOf({ 'zarr.json': consolidated({ x }) }), path: '' })
}

/** Steps of each kind of input, by its size: its least size, and its work. Errors are as good as answers. */
const KINDS: readonly (readonly [name: string, size: number, work: (size: number) => unknown])[] = [
  ['texts that end with NULs, and a letter', 2e6, (n) => attributeText({ units: `${'\0'.repeat(n)}a` }, 'units')],
  ['units of NULs', 2e5, (n) => datasetIn({ units: `${'\0'.repeat(n)}a` })],
  ['units of spaces', 2e5, (n) => datasetIn({ units: `days${' '.repeat(n)}since${' '.repeat(n)}x` })],
  ['units of digits', 2e5, (n) => datasetIn({ units: `days since ${'1'.repeat(n)}x` })],
  ['coordinates of one attribute', 5e4, (n) => datasetIn({ coordinates: range(n, (i) => `c${i}`).join(' ') })],
  [
    'flags of one attribute',
    5e4,
    (n) => datasetIn({ flag_values: range(n, (i) => i), flag_meanings: range(n, (i) => `c${i}`).join(' ') }),
  ],
  ['attributes', 2e4, (n) => datasetIn(Object.fromEntries(range(n, (i) => [`a${i}`, i])))],
  [
    'axes',
    2e4,
    (n) =>
      datasetIn(
        {},
        range(n, (i) => `d${i}`),
      ),
  ],
  [
    'paths with slashes',
    2e6,
    (n) => withoutSlashes(`${'/'.repeat(n)}a${'/'.repeat(n)}`) + withoutEndings(`${': '.repeat(n)}a`, ': ', '/'),
  ],
  [
    'arrays of consolidated metadata',
    4000,
    (n) => treeIn({ 'zarr.json': consolidated(Object.fromEntries(range(n, (i) => [`a${i}`, array()]))) }),
  ],
  [
    'groups of consolidated metadata',
    8000,
    (n) => treeIn({ 'zarr.json': consolidated(Object.fromEntries(range(n, (i) => [`g${i}`, group()]))) }),
  ],
  [
    'groups of version 2',
    8000,
    (n) =>
      treeIn({
        '.zmetadata': {
          zarr_consolidated_format: 1,
          metadata: Object.fromEntries([
            ['.zgroup', { zarr_format: 2 }],
            ...range(n, (i) => [`g${i}/.zgroup`, { zarr_format: 2 }]),
          ]),
        },
      }),
  ],
  [
    'groups without metadata',
    4000,
    (n) =>
      treeIn({
        '.zmetadata': {
          zarr_consolidated_format: 1,
          metadata: Object.fromEntries([
            ['.zgroup', { zarr_format: 2 }],
            ...range(n, (i) => [`a${i}/b/c/.zgroup`, { zarr_format: 2 }]),
          ]),
        },
      }),
  ],
  [
    'groups that are listed',
    4000,
    (n) => treeIn({ 'zarr.json': group(), ...Object.fromEntries(range(n, (i) => [`g${i}/zarr.json`, group()])) }),
  ],
  [
    'names that are given',
    8000,
    async (n) => {
      const names = range(n, (i) => `g${i}`)
      const hierarchy = new Hierarchy(
        { get: async (key) => encode(JSON.stringify(key === '' ? {} : group())) },
        { file: 'x', names, consolidated: false },
      )
      for (const name of ['', ...names]) await hierarchy.children(name).catch(() => undefined)
    },
  ],
  ['codecs', 1e5, (n) => treeIn({ 'zarr.json': array({ codecs: range(n, () => ({ name: 'bytes' })) }) })],
  [
    'codecs of groups of arrays',
    500,
    (n) =>
      treeIn({
        'zarr.json': consolidated(
          Object.fromEntries(range(n, (i) => [`a${i}`, array({ codecs: range(60, () => ({ name: 'bitround' })) })])),
        ),
      }),
  ],
  [
    'lengths of chunks',
    1e5,
    (n) =>
      treeIn({
        'zarr.json': array({
          shape: [n],
          chunk_grid: { name: 'rectilinear', configuration: { kind: 'inline', chunk_shapes: [range(n, () => 1)] } },
        }),
      }),
  ],
  ['lists in lists', 1e6, (n) => treeIn({ 'zarr.json': group() }).then(() => parseJson('['.repeat(n), 'it'))],
  ['lists of JSON', 4e5, (n) => parseJson(`[${'{},'.repeat(n)}0]`, 'it')],
  ['integers of JSON beyond 2^53', 1e5, (n) => parseJson(`[${'12345678901234567890,'.repeat(n)}NaN]`, 'it')],
  ['escapes of JSON', 1e6, (n) => parseJson(`[NaN,"${'\\\\\\"'.repeat(n)}"]`, 'it')],
  [
    'references',
    1e5,
    (n) => JsonMembers.read(encode(`{${range(n, (i) => `"k${i}":["a",${i},1]`).join()}}`), 'it', { most: 1e9 }),
  ],
  ['references that escape', 1e6, (n) => JsonMembers.read(encode(`{"${'\\\\\\"'.repeat(n)}":1}`), 'it', { most: 1e9 })],
  ['keys of S3', 1e5, (n) => pageOf(`<ListBucketResult>${range(n, (i) => `<Key>k${i}</Key>`).join('')}</ListBucketResult>`, 'x')],
  ['tags of S3 that do not end', 1e5, (n) => pageOf(`<ListBucketResult>${'<Key '.repeat(n)}</ListBucketResult>`, 'x')],
  [
    'folders of S3 that do not end',
    1e5,
    (n) => pageOf(`<ListBucketResult>${'<CommonPrefixes>'.repeat(n)}${' '.repeat(n)}</ListBucketResult>`, 'x'),
  ],
  ['spaces behind an answer of S3', 1e6, (n) => pageOf(`<ListBucketResult></ListBucketResult>${' '.repeat(n)}`, 'x')],
]

/** Milliseconds of the processor that a run takes; what is refused ends earlier. */
async function timeOf(work: (size: number) => unknown, size: number): Promise<number> {
  const start = process.cpuUsage()
  try {
    await work(size)
  } catch (error) {
    if (!isHyperslabError(error) && !(error instanceof Transient)) throw error
  }
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

async function least(work: (size: number) => unknown, size: number): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 5; run++) best = Math.min(best, await timeOf(work, size))
  return best
}

/** Milliseconds below which a run of twice the size is fast enough, and a quotient says nothing. */
const SHORT = 50

describe('twice the input takes less than three times as long', () => {
  test.each(KINDS)('%s', { timeout: 300_000 }, async (_, size, work) => {
    // What is imported and compiled with the first run does not count.
    await timeOf(work, Math.ceil(size / 100))
    const first = await timeOf(work, 2 * size)
    const quotient = first < SHORT ? 0 : (await least(work, 2 * size)) / (await least(work, size))
    expect(quotient).toBeLessThan(3)
  })
})
