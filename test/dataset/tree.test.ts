import { describe, expect, test } from 'vitest'
import { treeSource } from '../../src/runtime/cluster.ts'
import { Dataset } from '../../src/runtime/dataset.ts'
import { create, generate, MemoryStore, open, openTree, slice } from '../../src/runtime/index.ts'
import {
  diffTrees,
  elementFormat,
  findTree,
  LabelledTree,
  listReferences,
  type MethodCall,
  positionText,
  readExcerpt,
  rechunkTree,
  reduceWith,
  runsUpwards,
  selectInWords,
  writeNewFile,
} from '../../src/runtime/tree.ts'
import { createZarr, openZarr } from '../../src/runtime/zarr.ts'

/** A container `tas(time, lat, lon)` with coordinates, one element missing. */
async function container(store = new MemoryStore(), path = 'x.af'): Promise<MemoryStore> {
  await using file = await create({ store, path }, { codec: 'none' })
  const dimensionNames = ['time', 'lat', 'lon']
  const tas = file.createArray('tas', { dtype: 'float32', shape: [4, 3, 6], chunks: [1, 3, 6], dimensionNames, fillValue: -1 })
  await tas.set(
    null,
    Float32Array.from({ length: 72 }, (_, i) => (i === 5 ? -1 : i)),
  )
  const axis = async (name: string, values: number[], attributes: Record<string, string>): Promise<void> => {
    const array = file.createArray(name, { dtype: 'float64', shape: [values.length], dimensionNames: [name] })
    for (const [key, value] of Object.entries(attributes)) array.attrs.set(key, value)
    await array.set(null, values)
  }
  await axis('time', [0, 1, 2, 35], { units: 'days since 1998-01-01' })
  await axis('lat', [-30, 0, 30], { units: 'degrees_north' })
  await axis('lon', [0, 60, 120, 180, 240, 300], { units: 'degrees_east' })
  await file.flush()
  return store
}

const labelledOf = async (store: MemoryStore, path = 'x.af', group?: string): Promise<LabelledTree> =>
  new LabelledTree(await openTree({ store, path }), group)

const tasOf = async (tree: LabelledTree) => tree.dataArray(await tree.array('tas'), { coordinates: 'own' })

describe('selections in words', () => {
  test.each<[Record<string, string>, number[]]>([
    [{ time: '1998-01' }, [3, 3, 6]],
    [{ time: '1998-01-02:' }, [3, 3, 6]],
    [{ lat: '-30:0' }, [4, 2, 6]],
    [{ lat: ':0', lon: '60,300' }, [4, 2, 2]],
    [{ lat: '30' }, [4, 6]],
    [{ time: '1998-01-02T00:00:1998-01-03T00:00' }, [2, 3, 6]],
  ])('%j has shape %j', async (labels, shape) => {
    await using tree = await labelledOf(await container())
    expect(selectInWords(await tasOf(tree), { labels }).variable.shape).toEqual(shape)
  })

  test('by position and label select what sel and isel select', async () => {
    await using tree = await labelledOf(await container())
    const tas = await tasOf(tree)
    const { variable, taken } = selectInWords(tas, { positions: [slice(1, 3)], labels: { lon: '100' }, method: 'nearest' })
    const expected = tas.isel({ time: slice(1, 3) }).sel({ lon: 120 })
    expect(await variable.values()).toEqual(await expected.values())
    expect(taken.get('lon')).toEqual({ position: 2 })
  })

  test.each([
    [{ labels: { lat: 'north' } }, "lat: 'north' is no number, as labels along lat are, nor a range of two"],
    [{ positions: [null, 0], labels: { lat: '0' } }, 'lat is selected twice: by labels, and by position'],
    [{ labels: { depth: '0' } }, 'there is no dimension'],
    [{ labels: { lat: '1' } }, 'lat'],
    [{ positions: [[0, 1]] as never }, 'an excerpt is of integers and slices'],
  ])('%j is refused', async (options, message) => {
    await using tree = await labelledOf(await container())
    const tas = await tasOf(tree)
    expect(() => selectInWords(tas, options)).toThrow(message)
  })

  test('names that objects inherit are no dimensions', async () => {
    await using tree = await labelledOf(await container())
    const tas = await tasOf(tree)
    expect(() => selectInWords(tas, { labels: { constructor: '0' } })).toThrow('there is no dimension "constructor"')
  })
})

describe('words for positions and elements', () => {
  test('name directions, times and missing elements', async () => {
    await using tree = await labelledOf(await container())
    const tas = await tree.array('tas')
    const { time, lat, lon } = await tree.coordinates(tas)
    expect([positionText(time!, 3), positionText(lat!, 0), positionText(lon!, 4)]).toEqual(['1998-02-05 00:00', '30S', '240E'])
    expect([runsUpwards(lat!), runsUpwards(lon!)]).toEqual([true, false])
    const { isMissing, dates } = elementFormat(await tree.dataArray(tas))
    expect([isMissing?.(Number.NaN), isMissing?.(5), dates]).toEqual([true, false, undefined])
  })

  test('of a selected position are those of its label', async () => {
    await using tree = await labelledOf(await container())
    const tas = await tree.array('tas')
    const { taken } = selectInWords(await tasOf(tree), { labels: { lat: '30' } })
    const { lat } = await tree.coordinates(tas, { taken })
    expect(positionText(lat!)).toBe('30N')
  })
})

describe('arrays below a group', () => {
  test('have the coordinates of their own group, by names and by paths', async () => {
    const store = new MemoryStore()
    const root = await createZarr({ store, path: 'x.zarr' })
    for (const [path, first] of [['', 0] as const, ['sub', 10] as const]) {
      const group = path === '' ? root : await root.createGroup(path)
      const x = await group.createArray('x', { dtype: 'float64', shape: [3], dimensionNames: ['x'] })
      await x.set(null, [first, first + 1, first + 2])
      const v = await group.createArray('v', { dtype: 'float64', shape: [3], dimensionNames: ['x'] })
      await v.set(null, [1, 2, 3])
    }
    await using tree = await labelledOf(store, 'x.zarr', 'sub')
    const listed = (await tree.contents()).arrays.find(({ name }) => name === 'v')!
    for (const array of [listed, await tree.array('v')]) {
      expect(array.path).toBe('sub/v')
      const { x } = await tree.coordinates(array)
      expect(positionText(x!, 0)).toBe('10')
    }
    expect(Object.keys((await treeSource(tree, 'x.zarr')).arrays)).toEqual(['v', 'x'].sort())
    expect((await treeSource(tree, 'x.zarr')).arrays['v']).toEqual({ location: 'x.zarr', array: 'sub/v' })
  })
})

describe('differences', () => {
  test('of equal trees of two formats are none', async () => {
    const store = await container()
    await using first = await labelledOf(store)
    await rechunkTree(first, { store, path: 'copy.zarr' }, { chunks: { time: 4, lat: 1 } })
    await using second = await labelledOf(store, 'copy.zarr')
    expect(await diffTrees(first, second)).toEqual([])
  })

  test('name the largest one, and how many there are', async () => {
    const store = await container(await container(), 'y.af')
    await using file = await open({ store, path: 'y.af' })
    await file.array('tas').set([0, 0, 0], 0.25)
    await file.array('tas').set([3, 2, 5], 100)
    await file.array('tas').set([0, 0, 5], 7)
    file.array('lat').attrs.set('units', 'degree_north')
    await file.flush()
    await using a = await labelledOf(store)
    await using b = await labelledOf(store, 'y.af')
    const found = await diffTrees(a, b)
    expect(found.map(({ array, what }) => [array, what])).toEqual([
      ['tas', 'values'],
      ['lat', 'attribute units'],
    ])
    // A missing element has no distance to another, which counts as the largest.
    expect(found[0]!.values).toMatchObject({ different: 3, of: 72, at: [0, 0, 5], second: { element: 7 } })
    expect(found[0]!.values).not.toHaveProperty('distance')
    const near = await diffTrees(a, b, { variables: ['tas'], tolerance: 1 })
    expect(near[0]!.values).toMatchObject({ different: 2 })
    await expect(diffTrees(a, b, { variables: ['none'] })).rejects.toMatchObject({ tag: 'UnknownArrayError' })
  })
})

describe('excerpts', () => {
  test('compute the corners alone', async () => {
    let computed = 0
    const at = (i: number, j: number): number => {
      computed++
      return 1000 * i + j
    }
    const array = generate(at, { dtype: 'int32', shape: [2000, 1000] })
    const { tensor, cut } = await readExcerpt(array)
    expect([tensor.shape, cut, tensor.data[0], tensor.data[35]]).toEqual([[6, 6], [true, true], 0, 1_999_999])
    expect(computed).toBe(36)
  })

  test('are not of lists, of which no corner is known', async () => {
    const array = generate((i) => i, { dtype: 'int32', shape: [5] })
    for (const selection of [[[1, 2]], [[true, false, true, true, false]], ['...']])
      await expect(readExcerpt(array, selection as never)).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  })
})

describe('files to serve', () => {
  test('of a container are its base, its sidecars and its statistics', async () => {
    const store = await container(await container(), 'x.y.af')
    await using file = await open({ store, path: 'x.af' })
    await file.array('tas').set([0, 0, 0], 1)
    await file.flush()
    await store.put!('x.1.af.secret', new Uint8Array(1))
    const found = await findTree({ store, path: 'x.af' })
    const { name, keyOf } = await found.files()
    expect(name).toBe('x.af')
    expect(await Promise.all(['x.af', 'x.1.af', 'x.stats'].map(keyOf))).toEqual(['x.af', 'x.1.af', 'x.stats'])
    for (const other of ['x.y.af', 'x.01.af', 'x.1.af.secret', 'y/x.1.af', '../x.af', '', 'x.af/'])
      expect(await keyOf(other), other).toBeUndefined()
  })

  test('of a folder are below it', async () => {
    const store = new MemoryStore()
    await createZarr({ store, path: 'a/x.zarr' })
    for (const path of ['a/x.zarr', 'a/x.zarr/', 'a/x.zarr/zarr.json']) {
      const { name, keyOf } = await (await findTree({ store, path })).files()
      expect(await keyOf(`${name}/zarr.json`)).toBe('a/x.zarr/zarr.json')
      for (const other of ['../x', './x', 'a//b', 'a\\..\\b', '..'])
        expect(await keyOf(`${name}/${other}`), other).toBeUndefined()
      expect(await keyOf('secret')).toBeUndefined()
    }
  })
})

describe('changed attributes', () => {
  test('are saved together, with the types of the format', async () => {
    const store = await container()
    await createZarr({ store, path: 'x.zarr' }, { attributes: { title: 'Rain', numbers: [1, 2] } })
    const inContainer = await findTree({ store, path: 'x.af' })
    {
      await using editor = await inContainer.editAttributes({ array: 'tas' })
      editor.set('valid_range', { type: 'float32[]', value: [1, 2] })
      editor.set('units', { type: 'string', value: 'K' })
      await editor.save()
    }
    await using file = await open({ store, path: 'x.af' })
    expect(file.array('tas').attrs.typed('valid_range')).toMatchObject({ type: 'float32[]' })
    const inZarr = await findTree({ store, path: 'x.zarr' })
    {
      await using editor = await inZarr.editAttributes()
      expect([editor.names(), editor.typeOf('title'), editor.typeOf('numbers'), editor.typeOf('none')]).toEqual([
        ['title', 'numbers'],
        'string',
        'float64',
        undefined,
      ])
      editor.set('big', { type: 'json', value: '{"id": 9007199254740993}' })
      editor.delete('title')
      await editor.save()
    }
    const group = await openZarr({ store, path: 'x.zarr' }, { kind: 'group' })
    expect([group.attrs.has('title'), group.attrs.get('big')]).toEqual([false, { id: 9007199254740993n }])
  })

  test('are refused by formats that are only read', async () => {
    const store = new MemoryStore()
    await store.put!('x.nc', new TextEncoder().encode('CDF\x01 and more'))
    const found = await findTree({ store, path: 'x.nc' })
    await expect(found.editAttributes()).rejects.toMatchObject({ tag: 'UnsupportedError' })
  })
})

describe('confined places', () => {
  test('refuse references that lead out of their folder', async () => {
    const store = new MemoryStore()
    const refs = { '.zgroup': '{"zarr_format":2}', 'v/0': ['https://elsewhere.org/x', 0, 8] }
    await store.put!('x.json', new TextEncoder().encode(JSON.stringify({ version: 1, refs })))
    const open = async (confined?: 'links' | 'names') =>
      (await findTree({ store, path: 'x.json' }, { ...(confined && { confined }) })).open()
    await (await open()).close()
    await (await open('names')).close()
    await expect(open('links')).rejects.toMatchObject({ tag: 'UnsupportedError' })
  })
})

describe('copies', () => {
  test('of arrays into Zarr name what is complete already', async () => {
    const store = await container()
    await using tree = await labelledOf(store)
    const target = { store, path: 'out.zarr' }
    expect(await rechunkTree(tree, target, { variables: ['tas'] })).toEqual({ arrays: ['tas'], unchanged: false })
    expect(await rechunkTree(tree, target, { variables: ['tas'] })).toEqual({ arrays: ['tas'], unchanged: true })
    await expect(rechunkTree(tree, target, { variables: ['none'] })).rejects.toMatchObject({ tag: 'UnknownArrayError' })
  })

  test('of tables replace tables alone', async () => {
    const store = await container()
    const write = (path: string, overwrite: boolean) =>
      writeNewFile({ store, path }, [new TextEncoder().encode('a,b\n')], { kind: 'text', overwrite })
    expect(await write('t.csv', false)).toBe(4)
    await expect(write('t.csv', false)).rejects.toMatchObject({ tag: 'AlreadyExistsError' })
    for (const path of ['x.af', 'x.1.af']) await expect(write(path, true), path).rejects.toMatchObject({ tag: /Error$/ as never })
    expect((await open({ store, path: 'x.af' })).arrays()).toContain('tas')
  })
})

test('references list the chunks of a container', async () => {
  await using tree = await labelledOf(await container())
  const warnings: string[] = []
  const { text, arrays } = await listReferences([tree], {
    inlineBytes: 0,
    urlOf: () => 'https://a.org/x.af',
    onWarning: (each) => warnings.push(each),
  })
  expect([arrays > 0, JSON.parse(text).version, text.includes('https://a.org/x.af'), warnings]).toEqual([true, 1, true, []])
  await expect(listReferences([])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
  await expect(listReferences([tree, tree])).rejects.toMatchObject({ tag: 'InvalidArgumentError' })
})

test('a reduction that runs elsewhere is a method call with its options as data', async () => {
  const ds = new Dataset({ t: { dims: ['x'], data: generate((i) => i, { dtype: 'float64', shape: [8] }) } })
  const calls: string[] = []
  const perform = async (call: MethodCall) => {
    calls.push(JSON.stringify(call))
    return ds.get('t').array.max({ axis: [0] })
  }
  const result = await reduceWith(ds.get('t'), 'max', { axis: 'x' }, perform)
  expect([await result.get(), calls]).toEqual([
    7,
    ['{"method":"max","args":[],"options":{"axis":[0],"skipMissing":true,"skipNaN":true}}'],
  ])
})
