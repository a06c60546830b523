import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import * as dataset from '../src/runtime/dataset.ts'
import * as hyperslab from '../src/runtime/index.ts'
import { zipBlocks } from '../src/runtime/plan.ts'
import { parseS3Url } from '../src/runtime/store.ts'
import * as zarr from '../src/runtime/zarr.ts'
import { some } from './support/budget.ts'
import { methodsOf } from './support/methods.ts'

const { create, DiskArray, MemoryStore, slice } = hyperslab

const cyclic = (): object => {
  const object: Record<string, unknown> = { x: 1 }
  object['self'] = object
  return object
}

const cyclicList = (): unknown[] => {
  const list: unknown[] = [1]
  list.push(list)
  return list
}

const bare = (entries: object): object => Object.assign(Object.create(null), entries)

/** Values that callers pass by mistake, each made anew, since a call may keep it. */
const MISFITS: Record<string, () => unknown> = {
  undefined: () => undefined,
  null: () => null,
  'an empty object': () => ({}),
  'an empty list': () => [],
  'a list of null': () => [null],
  'a list of undefined': () => [undefined],
  'a list of a symbol': () => [Symbol('x')],
  'a list of objects': () => [{}, bare({})],
  'a sparse list': () => new Array(3),
  'a list of lists': () => [[], [[]]],
  NaN: () => Number.NaN,
  'a negative fraction': () => -0.5,
  'a huge number': () => 1e300,
  true: () => true,
  'an empty text': () => '',
  'a very long text': () => 'x'.repeat(2 ** 20),
  'a symbol': () => Symbol('x'),
  'a BigInt': () => 2n ** 70n,
  'a cyclic object': cyclic,
  'a cyclic list': cyclicList,
  'an object without prototype': () => bare({}),
  'an object without prototype, with names': () => bare({ x: bare({}), time: bare({}), data: bare({}), shape: bare({}) }),
  'an object of nulls': () => ({ x: null, time: null, store: null, path: null, data: null, dims: null, shape: null }),
  'an object of symbols': () => ({ x: Symbol('x'), time: Symbol('x'), dtype: Symbol('x'), axis: Symbol('x') }),
  'an object with names that are symbols': () => ({ [Symbol('x')]: 1 }),
  'a function': () => () => undefined,
  'a proxy of an object': () => new Proxy({}, {}),
  'a proxy of a list': () => new Proxy([null], {}),
  'a proxy of a function': () => new Proxy(() => undefined, {}),
  'a map': () => new Map([[null, null]]),
  'an invalid date': () => new Date(Number.NaN),
  'a regular expression': () => /x/,
  'a buffer': () => new ArrayBuffer(8),
  'a view': () => new DataView(new ArrayBuffer(8)),
}

/** Arguments that calls receive besides the misfit. `call` may reach what they return. */
type Method = readonly unknown[]

/** Methods that are not offered to callers, or inherited from maps. */
const INTERNAL = ['changeShape', 'reduce', 'typed', 'listedNode', 'keys', 'values', 'entries', 'forEach', 'clear']

interface Kind {
  readonly make: () => unknown
  readonly methods: Record<string, Method>
}

const array = () => {
  const data = Float64Array.from({ length: 12 }, (_, i) => i)
  return new DiskArray({
    dtype: 'float64',
    shape: [4, 3],
    chunks: [2, 3],
    dimensionNames: ['time', 'x'],
    readBlock: (ranges, out) => {
      const [rows, columns] = ranges as unknown as [{ start: number; stop: number }, { start: number; stop: number }]
      for (let i = rows.start; i < rows.stop; i++)
        for (let k = columns.start; k < columns.stop; k++)
          out.data[out.offset + (i - rows.start) * out.stride[0]! + (k - columns.start) * out.stride[1]!] = data[3 * i + k]!
    },
    writeBlock: () => undefined,
  })
}

const file = () => create({ store: new MemoryStore(), path: 'x.af' })
const stored = async () => {
  const opened = await file()
  const defined = opened.createArray('x', { dtype: 'float64', shape: [4, 3], dimensionNames: ['time', 'x'] })
  await defined.set(null, 1)
  return defined
}
const written = async () => {
  const opened = await file()
  await opened.createArray('x', { dtype: 'float64', shape: [4, 3] }).set(null, 1)
  opened.attrs.set('title', 'x')
  return opened
}
const group = () => zarr.createZarr({ store: new MemoryStore(), path: 'x.zarr' })
const zarrArray = async () => {
  const made = await (await group()).createArray('x', {
    dtype: 'float64',
    shape: [4, 3],
    chunks: [2, 3],
    dimensionNames: ['time', 'x'],
  })
  await made.set(null, 1)
  return made
}
const filled = async () => {
  const made = await group()
  await made.createArray('x', { dtype: 'float64', shape: [4, 3], chunks: [2, 3] })
  await made.createGroup('below')
  return made
}

const times = ['2000-01-01', '2000-01-15', '2000-02-01', '2000-03-01'].map((text) => new Date(text))
const labelled = () =>
  new dataset.Dataset(
    { t: { dims: ['time', 'x'], data: { data: Float64Array.from({ length: 12 }, (_, i) => i), shape: [4, 3] } } },
    { coords: { time: times, x: [10, 20, 30], lon: { dims: ['x'], data: [1, 2, 3] } }, attrs: { title: 'x' } },
  )
const variable = () => labelled().get('t')

const one = () => 1
const REDUCTION = [{}]
const ARRAY: Record<string, Method> = {
  is: ['float64', 2],
  plan: [null, {}],
  get: [[0, slice(1)], {}],
  set: [[0], 1, {}],
  blocks: [{}],
  elements: [{}],
  values: [{}],
  toTensor: [{}],
  equals: [array(), {}],
  copyFrom: [array(), {}],
  copyTo: [array(), {}],
  fill: [1, {}],
  view: [[0]],
  transpose: [['x', 'time']],
  reshape: [[12]],
  squeeze: [[]],
  expandDims: [0, 'name'],
  flip: ['x'],
  pad: [1, {}],
  rechunk: [[4, 3]],
  cache: [{}],
  astype: ['float32'],
  map: [one, {}],
  rechunkTo: [array(), {}],
  ...Object.fromEntries(['sum', 'min', 'max', 'extrema', 'mean', 'prod', 'variance', 'std'].map((name) => [name, REDUCTION])),
  ...Object.fromEntries(
    ['count', 'countNonzero', 'any', 'all', 'argMin', 'argMax', 'unique', 'histogram', 'median', 'describe'].map((name) => [
      name,
      REDUCTION,
    ]),
  ),
  quantile: [0.5, {}],
  reduce: [one, 0, {}],
  mapReduce: [one, one, 0, {}],
  weightedMean: [{ x: [1, 2, 3] }, {}],
  cumsum: ['time', {}],
  groupBy: ['time', [1, 1, 2, 2], 'mean', {}],
  toString: [],
}
const REDUCTIONS = Object.fromEntries(
  ['sum', 'mean', 'min', 'max', 'prod', 'count', 'countNonzero', 'variance', 'std', 'median'].map((name) => [
    name,
    [{ dim: 'time' }],
  ]),
)
const TRUTHS = Object.fromEntries(['any', 'all'].map((name) => [name, [{ axis: 'time' }]]))
const ARITHMETIC = Object.fromEntries(
  ['add', 'sub', 'mul', 'div', 'lt', 'le', 'gt', 'ge', 'eq', 'ne'].map((name) => [name, [variable(), {}]]),
)

const KINDS: Record<string, Kind> = {
  DiskArray: { make: array, methods: ARRAY },
  'array of a container': {
    make: stored,
    methods: { ...ARRAY, resize: [[5, 3]], append: ['time', [1, 2, 3], {}], storage: [] },
  },
  'array of a Zarr store': {
    make: zarrArray,
    methods: {
      ...ARRAY,
      resize: [[5, 3]],
      append: ['time', [1, 2, 3], {}],
      updateAttributes: [{ a: 1 }],
      refresh: [],
      close: [],
    },
  },
  container: {
    make: written,
    methods: {
      array: ['x', 'float64', 2],
      arrays: [],
      createArray: ['y', { dtype: 'float64', shape: [2] }],
      delete: ['x'],
      attributeIndex: ['title'],
      layers: [],
      stats: ['x'],
      warnings: [],
      verify: [{}],
      flush: [],
      refresh: [{}],
      compact: [{}],
      close: [],
      toString: [],
    },
  },
  'attributes of a container': {
    make: async () => (await written()).attrs,
    methods: { get: ['title'], set: ['title', 1], has: ['title'], delete: ['title'] },
  },
  'group of a Zarr store': {
    make: filled,
    methods: {
      arrays: [],
      groups: [],
      unreadable: [],
      array: ['x', 'float64', 2],
      group: ['below'],
      levels: [],
      createArray: ['y', { dtype: 'float64', shape: [2] }],
      createGroup: ['y', { attributes: { a: 1 } }],
      delete: ['x'],
      updateAttributes: [{ a: 1 }],
      consolidate: [],
      refresh: [],
      close: [],
      toString: [],
    },
  },
  findWhere: { make: () => hyperslab.findWhere(array(), { min: 0 }), methods: { count: [], all: [{}] } },
  Dataset: {
    make: labelled,
    methods: {
      get: ['t'],
      sel: [{ x: 10 }, {}],
      isel: [{ x: 1 }, {}],
      selPoints: [[{ x: 10 }], {}],
      interp: [{ x: 12 }, {}],
      describe: [{}],
      version: [],
      omittedGroups: [],
      assign: [{ u: { dims: ['x'], data: [1, 2, 3], attrs: {} } }],
      merge: [new dataset.Dataset({})],
      rename: [{ t: 'u' }],
      swapDims: [{ x: 'lon' }],
      setCoords: ['t'],
      drop: ['t'],
      ...REDUCTIONS,
      ...TRUTHS,
      quantile: [0.5, { axis: 'x' }],
      groupBy: ['time.month'],
      resample: [{ time: 'MS' }],
      rolling: [{ time: 2 }, {}],
      coarsen: [{ time: 2 }, {}],
      where: [(value: number) => value > 1, {}],
      fillna: [0],
      write: [{ store: new MemoryStore(), path: 'y.af' }, { overwrite: true }],
      toCSV: [{}],
      toTable: [{}],
      close: [],
      toString: [],
    },
  },
  DataArray: {
    make: variable,
    methods: {
      ...REDUCTIONS,
      ...ARITHMETIC,
      sel: [{ x: 10 }, {}],
      isel: [{ x: 1 }, {}],
      selPoints: [[{ x: 10 }], {}],
      interp: [{ x: 12 }, {}],
      get: [{}],
      values: [{}],
      dates: [],
      quantile: [0.5, { dim: 'x' }],
      histogram: [{}],
      describe: [{}],
      climatology: ['month', {}],
      anomaly: ['month', {}],
      groupBy: ['time.month'],
      resample: [{ time: 'MS' }],
      rolling: [{ time: 2 }, {}],
      coarsen: [{ time: 2 }, {}],
      weighted: [labelled().get('x')],
      toCSV: [{}],
      toTable: [{}],
      toPython: [],
      ...TRUTHS,
      ...Object.fromEntries(['argMin', 'argMax', 'idxMin', 'idxMax'].map((name) => [name, [{ axis: 'time' }]])),
      cumsum: ['time', {}],
      ...Object.fromEntries(['and', 'or'].map((name) => [name, [variable().gt(0), {}]])),
      ...Object.fromEntries(['not', 'abs', 'sqrt', 'log', 'exp'].map((name) => [name, []])),
      map: [Math.abs, {}],
      fillna: [0, {}],
      isnull: [],
      notnull: [],
      clip: [0, 1],
      round: [1],
      astype: ['float32'],
      transpose: [['x', 'time']],
      squeeze: [[]],
      expandDims: ['member', 0],
      sortBy: ['x', {}],
      diff: ['time', {}],
      shift: [{ time: 1 }, {}],
      where: [(value: number) => value > 1, {}],
      rename: ['u'],
      assignAttrs: [{ a: 1 }],
      toString: [],
    },
  },
  'groups of a DataArray': {
    make: () => variable().groupBy('time.month'),
    methods: { ...REDUCTIONS, quantile: [0.5, {}] },
  },
  'groups of a Dataset': {
    make: () => labelled().groupBy('time.month'),
    methods: { ...REDUCTIONS, quantile: [0.5, {}] },
  },
  'windows of a Dataset': { make: () => labelled().coarsen({ time: 2 }), methods: windows() },
  'windows of a DataArray': { make: () => variable().rolling({ time: 2 }), methods: windows() },
  'weights of a DataArray': { make: () => variable().weighted(labelled().get('x')), methods: { mean: [{}], sum: [{}] } },
}

function windows(): Record<string, Method> {
  return { ...Object.fromEntries(Object.keys(REDUCTIONS).map((name) => [name, [{}]])), quantile: [0.5, {}] }
}

const BUILDERS: Record<string, readonly [(...args: never[]) => unknown, ...unknown[]]> = {
  open: [hyperslab.open, { store: new MemoryStore(), path: 'x.af' }, {}],
  create: [hyperslab.create, { store: new MemoryStore(), path: 'x.af' }, { overwrite: true }],
  verify: [hyperslab.verify, { store: new MemoryStore(), path: 'x.af' }, {}],
  DiskArray: [((source: never, options: never) => new DiskArray(source, options)) as never, array().source, {}],
  broadcast: [hyperslab.broadcast, one, array(), array()],
  concat: [hyperslab.concat, [array(), array()], {}],
  stack: [hyperslab.stack, [array(), array()], {}],
  mosaic: [hyperslab.mosaic, [{ origin: [0, 0], array: array() }], {}],
  scaled: [hyperslab.scaled, array(), {}],
  generate: [hyperslab.generate, () => 1, { dtype: 'float64', shape: [2] }],
  coarsen: [hyperslab.coarsen, array(), { time: 2 }, 'mean', {}],
  slidingWindows: [hyperslab.slidingWindows, array(), { time: 2 }, 'mean', {}],
  roll: [hyperslab.roll, array(), 1],
  findWhere: [hyperslab.findWhere, array(), { min: 0 }, {}],
  zip: [hyperslab.zip, array(), array()],
  zipBlocks: [zipBlocks, [array()], {}],
  slice: [slice, 0, 2, 1],
  chunk: [hyperslab.chunk, 0],
  points: [hyperslab.points, ['time'], [0]],
  toDate: [hyperslab.toDate, 1n],
  toISO: [hyperslab.toISO, 1n],
  toTimestamp: [hyperslab.toTimestamp, '2000-01-01'],
  parseS3Url: [parseS3Url, 's3://a/b'],
  isHyperslabError: [hyperslab.isHyperslabError as never, new Error('x'), 'FormatError'],
  openZarr: [zarr.openZarr, { store: new MemoryStore(), path: 'x.zarr' }, {}],
  createZarr: [zarr.createZarr, { store: new MemoryStore(), path: 'x.zarr' }, { overwrite: true }],
  importZarr: [zarr.importZarr, { store: new MemoryStore(), path: 'x.zarr' }, { store: new MemoryStore(), path: 'x.af' }, {}],
  asZarrStore: [zarr.asZarrStore, { x: array() }, {}],
  verifyZarr: [zarr.verifyZarr, { store: new MemoryStore(), path: 'x.zarr' }, {}],
  Dataset: [
    ((variables: never, options: never) => new dataset.Dataset(variables, options)) as never,
    { t: { dims: ['x'], data: [1] } },
    { coords: { x: [1] } },
  ],
  openDataset: [dataset.openDataset, { store: new MemoryStore(), path: 'x.af' }, {}],
  openDatasets: [dataset.openDatasets, [{ store: new MemoryStore(), path: 'x.af' }], {}],
  concatDatasets: [dataset.concatDatasets, [labelled(), labelled()], 'time', {}],
  between: [dataset.between, 1, 2],
  cos: [dataset.cos, variable()],
}

/** Reads what a call returns, so that lazy arrays compute. */
async function use(result: unknown): Promise<void> {
  const value = (await result) as Record<string, unknown>
  if (Object(value) !== value) return
  if (value instanceof DiskArray || value instanceof dataset.DataArray) {
    String(value)
    await (value as dataset.DataArray).get()
  } else if (value instanceof dataset.Dataset) {
    String(value)
    for (const each of [...Object.values(value.variables), ...Object.values(value.coords)]) await each.get()
  } else if (typeof value['next'] === 'function') await (value as unknown as AsyncGenerator).next()
  else if (typeof value['mean'] === 'function') await use((value['mean'] as () => unknown)())
}

async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await use(call())
  } catch (error) {
    return error ?? 'nothing'
  }
}

/** Name of a call in messages, and its arguments. */
type GivenTo = readonly [string, () => unknown[]]

/** Calls with a misfit in the place of each argument, and in that of an option or member of it. */
function* callsWith(args: Method): Generator<GivenTo> {
  for (const [name, misfit] of Object.entries(MISFITS))
    for (let i = 0; i < Math.max(args.length, 1); i++) {
      yield [`${name} at ${i}`, () => [...args.slice(0, i), misfit(), ...args.slice(i + 1)]]
      const arg = args[i]
      if (typeof arg !== 'object' || arg === null || Object.getPrototypeOf(arg) !== Object.prototype) continue
      for (const key of Object.keys(arg))
        yield [`${name} as ${key} of ${i}`, () => [...args.slice(0, i), { ...arg, [key]: misfit() }, ...args.slice(i + 1)]]
      yield [`${name} as a name of ${i}`, () => [...args.slice(0, i), { ...arg, speling: misfit() }, ...args.slice(i + 1)]]
    }
}

async function rawErrors(callWith: (args: readonly unknown[]) => Promise<() => unknown>, args: Method): Promise<string[]> {
  const raw: string[] = []
  for (const [what, argsOf] of some([...callsWith(args)])) {
    const call = await callWith(argsOf())
    const error = await errorOf(call)
    if (error !== undefined && !hyperslab.isHyperslabError(error)) raw.push(`${what}: ${firstLines(error)}`)
  }
  return raw
}

const firstLines = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message).split('\n').slice(0, 4).join(' | ').slice(0, 500) : inspect(error)

describe.each(Object.entries(KINDS))('%s', (_, { make, methods }) => {
  test('has every method here', async () => {
    const object = (await make()) as object
    const known = new Set([...Object.keys(methods), ...INTERNAL])
    expect(methodsOf(object).filter((name) => !known.has(name))).toEqual([])
  })

  test.each(Object.entries(methods))('%s refuses arguments that make no sense by an error with a tag', async (name, args) => {
    const raw = await rawErrors(async (given) => {
      const object = (await make()) as Record<string, (...args: readonly unknown[]) => unknown>
      return () => object[name]!(...given)
    }, args)
    expect(raw).toEqual([])
  })
})

test.each(Object.entries(BUILDERS))(
  '%s refuses arguments that make no sense by an error with a tag',
  async (_, [make, ...args]) => {
    const call = make as (...args: readonly unknown[]) => unknown
    expect(await rawErrors(async (given) => () => call(...given), args)).toEqual([])
  },
)
