import { describe, expect, test } from 'vitest'
import { Hierarchy } from '../src/adapters/zarr/hierarchy.ts'
import { ReferenceStore } from '../src/adapters/zarr/references.ts'
import { ArrayStore } from '../src/adapters/zarr/write/array-store.ts'
import { nodesBelow } from '../src/array/walk.ts'
import { parseAxes, parseSelection, protectNegatives } from '../src/cli/commands/options.ts'
import { UsageError } from '../src/cli/show/failure.ts'
import { isHyperslabError } from '../src/core/errors.ts'
import { parseJson } from '../src/core/json.ts'
import { JsonMembers } from '../src/core/json-members.ts'
import { withoutEndings, withoutSlashes } from '../src/core/text.ts'
import { attributeText } from '../src/dataset/attributes.ts'
import { Dataset } from '../src/dataset/dataset.ts'
import { LabelIndex } from '../src/dataset/label-index.ts'
import { timeComponent } from '../src/dataset/time/components.ts'
import { toDates } from '../src/dataset/time/dates.ts'
import { parseFrequency, resampleBins } from '../src/dataset/time/frequency.ts'
import { parseTimeLabel } from '../src/dataset/time/labels.ts'
import { decodeTimes, parseTimeUnits } from '../src/dataset/time/units.ts'
import { openDataset } from '../src/runtime/dataset.ts'
import { type ArrayFile, create, open } from '../src/runtime/index.ts'
import { openZarr } from '../src/runtime/zarr.ts'
import { MemoryStore } from '../src/store/memory.ts'
import { Transient } from '../src/store/retry.ts'
import { parsePage } from '../src/store/s3/answers.ts'
import type { Store } from '../src/store/store.ts'
import { targetKeys } from '../src/store/target-keys.ts'
import { some } from './support/budget.ts'
import { localFiles } from './support/local-files.ts'
import { type WriterFile, writeNetcdf } from './support/netcdf-writer.ts'
import { plainZip } from './support/plain-zip.ts'

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
  await nodesBelow(await openZarr({ store, path: '' }))
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

/** Opens an archive of a group, with groups at some keys. */
async function zipIn(keys: readonly string[], root: readonly string[] = ['zarr.json']): Promise<void> {
  const store = new MemoryStore()
  const node = encode(JSON.stringify(group()))
  await store.put('x.zip', plainZip([...root, ...keys].map((key) => [key, node] as const)))
  await nodesBelow(await openZarr({ store, path: 'x.zip' }))
}

/** A place that treats names as equal that differ by case. */
const foldingStore = (): Store =>
  Object.assign(new MemoryStore(), { files: localFiles({ foldedNames: async () => ({ case: true, unicode: true }) }) })

async function netcdfIn(file: WriterFile): Promise<void> {
  await openDataset(writeNetcdf({ ...file, dimensions: [['x', 1], ...(file.dimensions ?? [])] }))
}

/** Writes a container and opens it. */
async function footerIn(fill: (file: ArrayFile) => unknown): Promise<void> {
  const place = { store: new MemoryStore(), path: 'x.af' }
  const file = await create(place)
  await fill(file)
  await file.flush()
  const opened = await open(place)
  for (const name of opened.arrays()) opened.array(name)
}

/** Selects labels in no order by a list of all of them. */
function selectIn(labels: readonly number[] | readonly string[], method?: 'nearest'): void {
  const data = new Float64Array(labels.length)
  const ds = new Dataset({ t: { dims: ['x'], data } }, { coords: { x: { dims: ['x'], data: labels as number[] } } })
  ds.get('t').sel({ x: [...labels].reverse() as number[] }, method === undefined ? {} : { method })
}
/** Numbers from 0 in no order, each once. */
const shuffled = (n: number): number[] => range(n, (i) => (i % 2 === 0 ? i : n - (n % 2) - i))

function refused(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
  }
}

/** Steps of each kind of input, by its size: its least size, and its work. Errors are as good as answers. */
const KINDS: readonly (readonly [name: string, size: number, work: (size: number) => unknown])[] = [
  ['texts that end with NULs, and a letter', 2e6, (n) => attributeText({ units: `${'\0'.repeat(n)}a` }, 'units')],
  ['units of NULs', 2e5, (n) => datasetIn({ units: `${'\0'.repeat(n)}a` })],
  ['units of spaces', 2e5, (n) => datasetIn({ units: `days${' '.repeat(n)}since${' '.repeat(n)}x` })],
  ['units of digits', 2e5, (n) => datasetIn({ units: `days since ${'1'.repeat(n)}x` })],
  ['values that are missing', 2e4, (n) => datasetIn({ missing_value: range(n, (i) => i % 100) })],
  ['fill values', 1e4, (n) => datasetIn({ _FillValue: range(n, (i) => i) })],
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
  [
    'keys of S3',
    1e5,
    (n) => parsePage(`<ListBucketResult>${range(n, (i) => `<Key>k${i}</Key>`).join('')}</ListBucketResult>`, 'x'),
  ],
  ['tags of S3 that do not end', 1e5, (n) => parsePage(`<ListBucketResult>${'<Key '.repeat(n)}</ListBucketResult>`, 'x')],
  [
    'folders of S3 that do not end',
    1e5,
    (n) => parsePage(`<ListBucketResult>${'<CommonPrefixes>'.repeat(n)}${' '.repeat(n)}</ListBucketResult>`, 'x'),
  ],
  ['entries of zip archives', 12_000, (n) => zipIn(range(n, (i) => `g${i}/zarr.json`))],
  ['folders of zip archives', 500, (n) => zipIn(range(n, (i) => `${'a/'.repeat(i % 50)}g${i}/zarr.json`))],
  ['folders in folders of zip archives', 1000, (n) => zipIn([`${'a/'.repeat(n)}zarr.json`])],
  [
    'folders around the contents of zip archives',
    1000,
    (n) =>
      zipIn(
        range(50, (i) => `${'a/'.repeat(n)}${i}`),
        [],
      ),
  ],
  [
    'folders in folders of a copy',
    1000,
    (n) =>
      targetKeys(
        foldingStore(),
        'x',
        range(50, (i) => `${i}/${'a/'.repeat(n)}zarr.json`),
      ),
  ],
  ['folders of a request to arrays', 8000, (n) => new ArrayStore({}, {}).get('a/'.repeat(n))],
  [
    'parts of an inline object of references',
    2000,
    async (n) => {
      const json = JSON.stringify({ a: `base64:${'AAAA'.repeat(30 * n)}` })
      const place = {
        file: 'x',
        home: { store: new MemoryStore(), path: '' },
        isLocal: false,
        openHttp: async () => new MemoryStore(),
      }
      const store = await ReferenceStore.open(encode(json), place)
      for (let at = 0; at < n; at++) await store.getRange('a', 90 * at, 90)
    },
  ],
  [
    'variables of NetCDF headers',
    1500,
    (n) => netcdfIn({ variables: range(n, (i) => ({ name: `v${i}`, type: 'int', dimensions: ['x'], values: [i] })) }),
  ],
  [
    'attributes of NetCDF headers',
    5000,
    (n) => netcdfIn({ attributes: range(n, (i) => ({ name: `a${i}`, type: 'int', value: [i] })) }),
  ],
  ['dimensions of NetCDF headers', 5000, (n) => netcdfIn({ dimensions: range(n, (i) => [`d${i}`, 1] as const) })],
  [
    'values of attributes of NetCDF headers',
    2e5,
    (n) =>
      netcdfIn({
        attributes: [
          { name: 'a', type: 'int', value: range(n, (i) => i) },
          { name: 'text', type: 'char', value: ' '.repeat(n) },
        ],
      }),
  ],
  [
    'arrays of footers',
    800,
    (n) => footerIn((file) => range(n, (i) => file.createArray(`a${i}`, { dtype: 'int8', shape: [1] }))),
  ],
  ['attributes of footers', 5000, (n) => footerIn((file) => range(n, (i) => file.attrs.set(`a${i}`, i)))],
  [
    'attributes of arrays of footers',
    1000,
    (n) =>
      footerIn((file) =>
        range(n, (i) => file.createArray(`a${i}`, { dtype: 'int8', shape: [1] }).attrs.set(`a${i}`, `text ${i}`)),
      ),
  ],
  [
    'chunks of footers',
    1500,
    (n) =>
      footerIn((file) =>
        file.createArray('a', { dtype: 'int8', shape: [n], chunks: [1] }).set(
          null,
          range(n, (i) => i % 100),
        ),
      ),
  ],
  ['selections of the command', 2e5, (n) => parseSelection(range(n, () => '1:2').join(','), n)],
  ['colons of a selection', 1e6, (n) => refused(() => parseSelection(':'.repeat(n), 1))],
  ['spaces of a selection', 1e6, (n) => parseSelection(`${' '.repeat(n)}1${' '.repeat(n)}:${' '.repeat(n)}2`, 1)],
  ['digits of a selection', 1e6, (n) => refused(() => parseSelection('1'.repeat(n), 1))],
  ['arguments of the command', 1e6, (n) => protectNegatives([`-1${','.repeat(n)}x`, `-1${' '.repeat(n)}x`])],
  ['labels that are selected in no order', 5000, (n) => selectIn(shuffled(n))],
  ['texts that are selected in no order', 5000, (n) => selectIn(shuffled(n).map((i) => `s${i}`))],
  ['nearest labels in no order', 5000, (n) => selectIn(shuffled(n), 'nearest')],
  [
    'longitudes in no order',
    5000,
    (n) => {
      const labels = shuffled(n).map((i) => (i / n) * 300)
      const index = new LabelIndex('lon', labels, { dtype: 'float64', period: 360 })
      for (const label of labels) index.find(label + 360, 'nearest', undefined)
    },
  ],
  ['axes of the command', 2e5, (n) => parseAxes(range(n, (i) => `a${i}`).join())],
  ['digits of a date', 1e6, (n) => parseTimeLabel(`2000-01-01T00:00:00.${'0'.repeat(n)}x`, 'standard')],
  ['years of a date', 2e5, (n) => parseTimeLabel(`${'1'.repeat(n)}-01-01`, 'standard')],
  ['spaces of a date', 1e6, (n) => parseTimeLabel(`2000-01-01${' '.repeat(n)}x`, 'standard')],
  ['digits of a frequency', 1e6, (n) => parseFrequency(`${'1'.repeat(n)}D`)],
  [
    'times',
    1e5,
    (n) =>
      decodeTimes(
        range(n, (i) => i),
        parseTimeUnits('days since 2000-01-01', 'noleap')!,
      ),
  ],
  ['dates', 5e4, (n) => toDates(BigInt64Array.from(range(n, (i) => BigInt(i) * 86_400_000_000_000n)), 'noleap', undefined)],
  [
    'months of dates',
    5e4,
    (n) => timeComponent(BigInt64Array.from(range(n, (i) => BigInt(i) * 86_400_000_000_000n)), 'standard', 'month'),
  ],
  [
    'periods of times',
    2e4,
    (n) => resampleBins(BigInt64Array.from(range(n, (i) => BigInt(i) * 86_400_000_000_000n)), parseFrequency('MS'), 'standard'),
  ],
  ['spaces behind an answer of S3', 1e6, (n) => parsePage(`<ListBucketResult></ListBucketResult>${' '.repeat(n)}`, 'x')],
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

/** Returns how much longer twice the size takes, by the least times of up to five runs of each size. */
async function quotientOf(work: (size: number) => unknown, size: number): Promise<number> {
  let [once, twice] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let run = 0; run < 5; run++) {
    once = Math.min(once, await timeOf(work, size))
    twice = Math.min(twice, await timeOf(work, 2 * size))
    if (run > 0 && twice < 2.5 * once) break
  }
  return twice / once
}

/** Milliseconds below which a run of twice the size is fast enough, and a quotient says nothing. */
const SHORT = 50

describe('twice the input takes less than three times as long', () => {
  test.each(some(KINDS))('%s', { timeout: 300_000, retry: 2 }, async (_, size, work) => {
    // The first run imports and compiles code, so that it does not count.
    await timeOf(work, Math.ceil(size / 100))
    const first = await timeOf(work, 2 * size)
    expect(first < SHORT ? 0 : await quotientOf(work, size)).toBeLessThan(3)
  })
})
