import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Hierarchy, type HierarchyOptions, type MetadataReader } from '../../../src/adapters/zarr/hierarchy.ts'
import { HyperslabError, isHyperslabError } from '../../../src/core/errors.ts'
import { zarrPython } from '../../support/python.ts'
import { readerOf } from './matrix.ts'

const ARRAY2 = {
  zarr_format: 2,
  shape: [4],
  chunks: [2],
  dtype: '<i2',
  compressor: null,
  fill_value: 0,
  order: 'C',
  filters: null,
}
const GROUP2 = { zarr_format: 2 }
const ARRAY3 = {
  zarr_format: 3,
  node_type: 'array',
  shape: [4],
  data_type: 'int16',
  chunk_grid: { name: 'regular', configuration: { chunk_shape: [2] } },
  chunk_key_encoding: { name: 'default' },
  fill_value: 0,
  codecs: ['bytes'],
}
const GROUP3 = { zarr_format: 3, node_type: 'group', attributes: { title: 'three' } }

interface Place extends MetadataReader {
  /** Keys that were asked for, since this was last looked at. */
  asked(): string[]
}

/** Objects in memory, by key; an error is thrown when it is read. */
function placeOf(objects: Record<string, unknown>, listed: 'all' | 'folders' | 'never' = 'all'): Place {
  let asked: string[] = []
  return {
    get: async (key) => {
      asked.push(key)
      const value = objects[key]
      if (value instanceof Error) throw value
      return value === undefined ? undefined : new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
    },
    ...(listed !== 'never' && {
      list: async (prefix: string) => {
        const keys = Object.keys(objects).filter((key) => key.startsWith(prefix))
        return listed === 'all' ? keys : [...new Set(keys.map((key) => prefix + key.slice(prefix.length).split('/')[0]))]
      },
    }),
    asked: () => {
      const keys = asked.sort()
      asked = []
      return keys
    },
  }
}

const open = (place: MetadataReader, options: Partial<HierarchyOptions> = {}): Hierarchy =>
  new Hierarchy(place, { file: 'a.zarr', ...options })

/** Lists the contents of a group, one line for each node. */
const shown = async (hierarchy: Hierarchy, path = ''): Promise<string[]> =>
  (await hierarchy.children(path)).map((node) =>
    node.kind === 'unreadable' ? `${node.path}: ${node.error.tag}: ${node.error.message}` : `${node.path}: ${node.kind}`,
  )

const failure = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error) => (isHyperslabError(error) ? `${error.tag}: ${error.message}` : String(error)),
  )

const TREE2 = {
  '.zgroup': GROUP2,
  '.zattrs': { title: 'two' },
  'x/.zarray': ARRAY2,
  'x/.zattrs': { units: 'm' },
  'x/0': 'ab',
  'g/.zgroup': GROUP2,
  'g/y/.zarray': ARRAY2,
}
const TREE3 = { 'zarr.json': GROUP3, 'x/zarr.json': ARRAY3, 'x/c/0': 'ab', 'g/zarr.json': GROUP3, 'g/y/zarr.json': ARRAY3 }

test.each(['all', 'folders'] as const)('groups and arrays of both versions are found by listing %s', async (listed) => {
  for (const [tree, version] of [
    [TREE2, 2],
    [TREE3, 3],
  ] as const) {
    const hierarchy = open(placeOf(tree, listed))
    expect(await hierarchy.node('')).toMatchObject({ kind: 'group', version, attrs: { title: version === 2 ? 'two' : 'three' } })
    expect(await shown(hierarchy)).toEqual(['g: group', 'x: array'])
    expect(await shown(hierarchy, 'g')).toEqual(['g/y: array'])
    expect(await hierarchy.node('g/y')).toMatchObject({ kind: 'array', metadata: { version, shape: [4], chunks: [2] } })
    expect(await hierarchy.node('g/z')).toBeUndefined()
  }
})

test('the place itself is asked for everything at once, what is below only for its own version', async () => {
  const three = placeOf(TREE3)
  const hierarchy3 = open(three)
  await hierarchy3.node('')
  expect(three.asked()).toEqual(['.zarray', '.zmetadata', 'zarr.json'])
  await hierarchy3.node('x')
  expect(three.asked()).toEqual(['x/zarr.json'])
  const two = placeOf(TREE2)
  const hierarchy2 = open(two)
  await hierarchy2.node('')
  expect(two.asked()).toEqual(['.zarray', '.zattrs', '.zgroup', '.zmetadata', 'zarr.json'])
  await hierarchy2.node('x')
  expect(two.asked()).toEqual(['x/.zarray', 'x/.zattrs'])
})

const CONSOLIDATED2 = {
  '.zmetadata': {
    zarr_consolidated_format: 1,
    metadata: {
      '.zgroup': GROUP2,
      '.zattrs': { title: 'two' },
      'x/.zarray': ARRAY2,
      'x/.zattrs': { _ARRAY_DIMENSIONS: ['t'] },
      'g/y/.zarray': ARRAY2,
    },
  },
}
const CONSOLIDATED3 = {
  'zarr.json': {
    ...GROUP3,
    consolidated_metadata: {
      kind: 'inline',
      must_understand: false,
      metadata: { x: { ...ARRAY3, dimension_names: ['t'] }, g: GROUP3, 'g/y': ARRAY3 },
    },
  },
}

test.each([
  [2, CONSOLIDATED2],
  [3, CONSOLIDATED3],
])('consolidated metadata of version %i are all that is read', async (version, objects) => {
  const place = placeOf(objects, 'never')
  const hierarchy = open(place)
  expect(await hierarchy.node('')).toMatchObject({ kind: 'group', version })
  // A place that cannot be listed is asked for no object that is certainly absent.
  expect(place.asked()).toEqual(version === 2 ? ['.zmetadata', 'zarr.json'] : ['zarr.json'])
  expect(await shown(hierarchy)).toEqual(['g: group', 'x: array'])
  expect(await shown(hierarchy, 'g')).toEqual(['g/y: array'])
  expect(await hierarchy.node('x')).toMatchObject({ metadata: { dimensionNames: ['t'] } })
  expect(await hierarchy.node('z')).toBeUndefined()
  expect(place.asked()).toEqual([])
})

test('consolidated metadata are left alone on request', async () => {
  const stale = { ...TREE2, ...CONSOLIDATED2, 'new/.zarray': ARRAY2 }
  const hierarchy = open(placeOf(stale), { consolidated: false })
  await hierarchy.node('')
  expect(await shown(hierarchy)).toEqual(['g: group', 'new: array', 'x: array'])
})

test('a place of one array', async () => {
  const two = { '.zarray': ARRAY2, '.zattrs': { a: 1 }, '0': 'ab' }
  expect(await open(placeOf(two, 'never')).node('')).toMatchObject({ kind: 'array', metadata: { version: 2, attrs: { a: 1 } } })
  expect(await open(placeOf({ 'zarr.json': ARRAY3 }, 'never')).node('')).toMatchObject({
    kind: 'array',
    metadata: { version: 3 },
  })
  expect(await open(placeOf({ '0': 'ab' })).node('')).toBeUndefined()
})

test('without a listing names are those of the user, and each must be there', async () => {
  const bare = open(placeOf(TREE3, 'never'))
  await bare.node('')
  expect(await failure(bare.children(''))).toBe(
    'UnsupportedError: a.zarr: the place cannot be listed, and the group has no consolidated metadata; `names` gives the paths of its arrays',
  )
  const named = open(placeOf(TREE3, 'never'), { names: ['x', 'g/y', 'typo'] })
  await named.node('')
  expect(await shown(named)).toEqual([
    'g: group',
    "typo: UnknownArrayError: a.zarr: array 'typo': there is neither an array nor a group",
    'x: array',
  ])
  expect(await shown(named, 'g')).toEqual(['g/y: array'])
})

test('what cannot be read is listed with the reason, and the others open', async () => {
  const hierarchy = open(
    placeOf({
      'zarr.json': GROUP3,
      'x/zarr.json': ARRAY3,
      'small/zarr.json': { ...ARRAY3, data_type: 'int4' },
      'torn/zarr.json': '{"zarr_format": 3, "node_',
      'readme.txt': 'text',
    }),
  )
  await hierarchy.node('')
  const [small, torn, x, ...rest] = await shown(hierarchy)
  expect(small).toBe("small: UnsupportedError: a.zarr: array 'small': the data type 'int4' cannot be read")
  expect(torn).toMatch(/^torn: FormatError: a.zarr: array 'torn': torn\/zarr.json is not JSON: /)
  expect([x, ...rest]).toEqual(['x: array'])
  expect(await failure(hierarchy.node('small'))).toMatch(/^UnsupportedError/)
})

test('files among the folders of a group are no nodes', async () => {
  const inFile = new HyperslabError('NotFoundError', 'a part of the path is a file')
  const hierarchy = open(placeOf({ ...TREE3, 'readme.txt': 'text', 'readme.txt/zarr.json': inFile }, 'folders'))
  await hierarchy.node('')
  expect(await shown(hierarchy)).toEqual(['g: group', 'x: array'])
})

test('what fails to be read is not taken for missing, but does not matter beside version 3', async () => {
  const refused = new Error('403')
  expect(await failure(open(placeOf({ 'zarr.json': refused, '.zarray': ARRAY2 })).node(''))).toBe('Error: 403')
  expect(await failure(open(placeOf({ '.zarray': refused, '.zgroup': GROUP2 })).node(''))).toBe('Error: 403')
  expect(await open(placeOf({ ...TREE3, '.zarray': refused, '.zmetadata': refused })).node('')).toMatchObject({ version: 3 })
})

test('names cannot lead out of the hierarchy', async () => {
  const metadata = {
    '.zgroup': GROUP2,
    '../secret/.zarray': ARRAY2,
    '/etc/.zarray': ARRAY2,
    'a//b/.zarray': ARRAY2,
    'x/.zarray': ARRAY2,
  }
  const hierarchy = open(placeOf({ '.zmetadata': { metadata } }))
  await hierarchy.node('')
  expect(await shown(hierarchy)).toEqual([
    `..: FormatError: a.zarr: array '..': ".." is not a path of names: '..' leads to another folder`,
    'a: group',
    'x: array',
  ])
  for (const path of ['..', 'a/../b', 'a//b', '/a', 'a/', '.', 'a\0', 'a/'.repeat(3000)])
    expect(await failure(hierarchy.node(path))).toMatch(/^FormatError/)
})

test('metadata of more bytes than allowed are not parsed', async () => {
  const large = { 'zarr.json': { ...GROUP3, attributes: { text: 'x'.repeat(2000) } } }
  expect(await failure(open(placeOf(large), { metadataBytes: 1000 }).node(''))).toMatch(
    /^TooLargeError: a.zarr: zarr.json has 2\d+ bytes; metadata of up to 1000 are read/,
  )
})

test('unknown members of a group are refused unless they need not be understood', async () => {
  const group = (more: object): Promise<unknown> => open(placeOf({ 'zarr.json': { ...GROUP3, ...more } })).node('')
  expect(await failure(group({ crypto: { key: 1 } }))).toMatch(/^UnsupportedError: a.zarr: .* 'crypto'/)
  expect(await failure(group({ crypto: { key: 1, must_understand: false }, consolidated_metadata: null }))).toBe('no error')
})

const env = zarrPython()

test.skipIf(env === undefined)('what zarr-python and xarray write is found, consolidated or not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperslab-hierarchy-'))
  try {
    const script = fileURLToPath(new URL('hierarchy.py', import.meta.url))
    execFileSync('python3', [script, folder], { env, stdio: ['ignore', 'inherit', 'inherit'] })
    for (const version of [2, 3]) {
      for (const kind of ['plain', 'consolidated']) {
        const asked: string[] = []
        const { get } = readerOf(join(folder, `${version}-${kind}`))
        const reader: MetadataReader = {
          get: (key) => {
            asked.push(key)
            return get(key)
          },
          ...(kind === 'plain' && {
            list: async (prefix) => readdirSync(join(folder, `${version}-${kind}`, prefix)).map((name) => prefix + name),
          }),
        }
        const hierarchy = open(reader)
        expect(await hierarchy.node('')).toMatchObject({
          kind: 'group',
          version,
          attrs: { title: 'ö', big: 2n ** 62n, hole: Number.NaN },
        })
        const before = asked.length
        expect(await shown(hierarchy)).toEqual(['g: group', 'x: array'])
        expect(await shown(hierarchy, 'g')).toEqual(['g/empty: group', 'g/h: group'])
        expect(await shown(hierarchy, 'g/empty')).toEqual([])
        expect(await shown(hierarchy, 'g/h')).toEqual(['g/h/y: array'])
        expect(await hierarchy.node('g')).toMatchObject({ attrs: { level: 1 } })
        expect(await hierarchy.node('x')).toMatchObject({
          metadata: { shape: [4, 2], fillValue: 2n ** 62n + 1n, attrs: { units: 'm' } },
        })
        if (kind === 'consolidated') expect(asked.length).toBe(before)
      }
      const dataset = open(readerOf(join(folder, `${version}-xarray`)))
      expect(await dataset.node('')).toMatchObject({ kind: 'group', attrs: { title: 'xarray' } })
      expect(await shown(dataset)).toEqual(['i: array', 't: array', 'y: array'])
      const [i, t, y] = await dataset.children('')
      expect(i).toMatchObject({ metadata: { dimensionNames: ['x', 'y'], missing: { values: [5n], nan: false } } })
      expect(t).toMatchObject({ metadata: { dimensionNames: ['x', 'y'], missing: { values: [], nan: true } } })
      expect(y).toMatchObject({ metadata: { dimensionNames: ['y'] } })
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
