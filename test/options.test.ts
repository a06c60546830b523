import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type Check, checkOptions } from '../src/core/options.ts'
import * as cluster from '../src/runtime/cluster.ts'
import * as dataset from '../src/runtime/dataset.ts'
import * as hyperslab from '../src/runtime/index.ts'
import * as netcdf from '../src/runtime/netcdf.ts'
import * as plans from '../src/runtime/plan.ts'
import * as stores from '../src/runtime/store.ts'
import * as tree from '../src/runtime/tree.ts'
import * as zarr from '../src/runtime/zarr.ts'
import * as testing from '../src/testing/index.ts'
import { methodsOf } from './support/methods.ts'

const { create, DiskArray, MemoryStore } = hyperslab

type Call = (options: never) => unknown

const array = () =>
  new DiskArray({
    dtype: 'float64',
    shape: [4, 3],
    chunks: [2, 3],
    dimensionNames: ['time', 'lon'],
    readBlock: (_, out) => void out.data.fill(1),
    writeBlock: () => undefined,
  })
const place = { store: new MemoryStore(), path: 'x.af' }
const file = async () => create({ store: new MemoryStore(), path: 'x.af' })
const stored = async () => (await file()).createArray('x', { dtype: 'float64', shape: [4, 3] })
const store = { describe: String } as never
const kind = 'mean' as const

/** Every public function and constructor that takes options, called with some. */
const FUNCTIONS: Record<string, Call> = {
  open: (o) => hyperslab.open(place, o),
  create: (o) => hyperslab.create(place, o),
  verify: (o) => hyperslab.verify(place, o),
  writeImmutable: (o) => hyperslab.writeImmutable({ x: array() }, place, o),
  broadcast: (o) => hyperslab.broadcast((x) => x, array(), o),
  concat: (o) => hyperslab.concat([array()], o),
  stack: (o) => hyperslab.stack([array()], o),
  mosaic: (o) => hyperslab.mosaic([{ origin: [0, 0], array: array() }], o),
  scaled: (o) => hyperslab.scaled(array(), o),
  generate: (o) => hyperslab.generate(() => 1, Object.assign(o, { dtype: 'float64', shape: [2] })),
  coarsen: (o) => hyperslab.coarsen(array(), { time: 2 }, kind, o),
  slidingWindows: (o) => hyperslab.slidingWindows(array(), { time: 2 }, kind, o),
  findWhere: (o) => hyperslab.findWhere(array(), { min: 0 }, o),
  zipBlocks: (o) => plans.zipBlocks([array()], o).next(),
  createPool: (o) => hyperslab.createPool(o),
  plan: (o) => plans.plan(plans.resolveSelection(null, [4, 3]), array().chunks, o),
  BlockCache: (o) => new hyperslab.BlockCache(o),
  PersistentCache: (o) => new stores.PersistentCache(o),
  DiskArray: (o) => new DiskArray(array().source, o),
  HttpStore: (o) => new hyperslab.HttpStore(o),
  R2Store: (o) => new hyperslab.R2Store({ get: () => undefined } as never, o),
  S3Store: (o) => new hyperslab.S3Store(Object.assign(o, { bucket: 'x' })),
  ZipStore: (o) => new hyperslab.ZipStore(Object.assign(o, { store, path: 'x.zip' })),
  openNetcdf: (o) => netcdf.openNetcdf(new ArrayBuffer(8), o),
  importNetcdf: (o) => netcdf.importNetcdf(new ArrayBuffer(8), place, o),
  openTree: (o) => hyperslab.openTree(place, o),
  openZarr: (o) => zarr.openZarr(place, o),
  asZarrStore: (o) => zarr.asZarrStore({ x: array() }, o),
  createZarr: (o) => zarr.createZarr(place, o),
  importZarr: (o) => zarr.importZarr(place, place, o),
  verifyZarr: (o) => zarr.verifyZarr(place, o),
  openDataset: (o) => dataset.openDataset(place, o),
  openDatasets: (o) => dataset.openDatasets([place], o),
  concatDatasets: (o) => dataset.concatDatasets([labelled()], 'x', o),
  Dataset: (o) => new dataset.Dataset({}, o),
  findTree: (o) => tree.findTree(place, o),
  copyTree: (o) => tree.copyTree(place, { store: new MemoryStore(), path: 'y.af' }, o),
  importPlace: (o) => tree.importPlace(place, place, o),
  rechunkTree: async (o) => tree.rechunkTree(await opened(), { store: new MemoryStore(), path: 'y.zarr' }, o),
  diffTrees: async (o) => tree.diffTrees(await opened(), await opened(), o),
  selectInWords: (o) => tree.selectInWords(labelled().get('t'), o),
  reductionCall: (o) => tree.reductionCall(labelled().get('t'), 'mean', o),
  reduceWith: (o) => tree.reduceWith(labelled().get('t'), 'mean', o, async () => 1),
  countWith: (o) => tree.countWith(labelled().get('t'), 'unique', o, async () => ({})),
  listReferences: async (o) => tree.listReferences([await opened()], o),
  writeNewFile: (o) => tree.writeNewFile({ store: new MemoryStore(), path: 'x.csv' }, [], o),
  treeSource: async (o) => cluster.treeSource(await opened(), 'x.af', o),
  planJob: (o) => cluster.planJob({ method: 'sum', source: { location: 'nowhere/x.af', array: 'x' } }, o),
  openJob: (o) => cluster.openJob({} as never, o),
  local: (o) => cluster.local(o),
  bullmq: (o) => cluster.bullmq(o),
  openJobQueue: (o) => cluster.openJobQueue(o),
  work: (o) => cluster.work(o),
  FaultStore: (o) => new testing.FaultStore(new MemoryStore(), o),
  seededFaults: (o) => testing.seededFaults(1, o),
  raceWriters: (o) => testing.raceWriters(o),
  raceContainer: (o) => testing.raceContainer(o),
}

/** Returns a tree of one array. */
async function opened(): Promise<InstanceType<typeof tree.LabelledTree>> {
  const store = new MemoryStore()
  await using file = await create({ store, path: 'x.af' })
  file.createArray('x', { dtype: 'float64', shape: [4, 3] })
  await file.flush()
  return new tree.LabelledTree(await hyperslab.openTree({ store, path: 'x.af' }))
}

/** The same of methods. */
const METHODS: Record<string, Call> = {
  plan: (o) => array().plan(null, o),
  get: (o) => array().get(null, o),
  set: (o) => array().set(null, 1, o),
  blocks: (o) => array().blocks(o).next(),
  elements: (o) => array().elements(o).next(),
  values: (o) => array().values(o),
  toTensor: (o) => array().toTensor(o),
  equals: (o) => array().equals(array(), o),
  copyFrom: (o) => array().copyFrom(array(), o),
  copyTo: (o) => array().copyTo(array(), o),
  fill: (o) => array().fill(1, o),
  pad: (o) => array().pad(1, o),
  cache: (o) => array().cache(o),
  map: (o) => array().map((x) => x, o),
  rechunkTo: (o) => array().rechunkTo(array(), o),
  sum: (o) => array().sum(o),
  min: (o) => array().min(o),
  max: (o) => array().max(o),
  extrema: (o) => array().extrema(o),
  mean: (o) => array().mean(o),
  prod: (o) => array().prod(o),
  variance: (o) => array().variance(o),
  std: (o) => array().std(o),
  count: (o) => array().count(o),
  countNonzero: (o) => array().countNonzero(o),
  any: (o) => array().any(o),
  all: (o) => array().all(o),
  argMin: (o) => array().argMin(o),
  argMax: (o) => array().argMax(o),
  unique: (o) => array().unique(o),
  histogram: (o) => array().histogram(o),
  describe: (o) => array().describe(o),
  quantile: (o) => array().quantile(0.5, o),
  median: (o) => array().median(o),
  reduce: (o) => array().reduce((a, b) => a + b, 0, o),
  mapReduce: (o) =>
    array().mapReduce(
      (x) => x,
      (a, b) => a + b,
      0,
      o,
    ),
  weightedMean: (o) => array().weightedMean({ lon: [1, 2, 3] }, o),
  cumsum: (o) => array().cumsum('time', o),
  groupBy: (o) => array().groupBy('time', [1, 1, 2, 2], kind, o),
}
const FILE_ARRAY_METHODS: Record<string, Call> = { append: async (o) => (await stored()).append(0, [1, 2, 3], o) }
const FILE_METHODS: Record<string, Call> = {
  createArray: async (o) => (await file()).createArray('y', Object.assign(o, { dtype: 'int8', shape: [1] } as const)),
  verify: async (o) => (await file()).verify(o),
  refresh: async (o) => (await file()).refresh(o),
  compact: async (o) => (await file()).compact(o),
}
const TREE_METHODS: Record<string, Call> = {
  describe: async (o) => (await opened()).describe(o),
  dataArray: async (o) => {
    const labelled = await opened()
    return labelled.dataArray(await labelled.array('x'), o)
  },
  coordinates: async (o) => {
    const labelled = await opened()
    return labelled.coordinates(await labelled.array('x'), o)
  },
}
const WHERE_METHODS: Record<string, Call> = { all: (o) => hyperslab.findWhere(array(), { min: 0 }).all(o) }

const labelled = () => new dataset.Dataset({ t: { dims: ['x'], data: [1, 2] } }, { coords: { x: [10, 20] } })
const DATASET_METHODS: Record<string, Call> = {
  sel: (o) => labelled().sel({ x: 10 }, o),
  write: (o) => labelled().write(place, o),
  selPoints: (o) => labelled().selPoints([{ x: 10 }], o),
  isel: (o) => labelled().isel([{ x: 1 }], o),
  toCSV: (o) => labelled().toCSV(o).next(),
  toTable: (o) => labelled().toTable(o).next(),
  interp: (o) => labelled().interp({ x: 12 }, o),
  rolling: (o) => labelled().rolling({ x: 2 }, o),
  coarsen: (o) => labelled().coarsen({ x: 2 }, o),
  where: (o) => labelled().where(() => true, o),
  quantile: (o) => labelled().quantile(0.5, o),
}
const REDUCTIONS = ['sum', 'mean', 'min', 'max', 'prod', 'count', 'countNonzero', 'variance', 'std', 'median'] as const
const WHOLE_REDUCTIONS = [...REDUCTIONS, 'any', 'all'] as const
DATASET_METHODS['describe'] = (o) => labelled().describe(o)
Object.assign(DATASET_METHODS, Object.fromEntries(WHOLE_REDUCTIONS.map((name) => [name, (o: never) => labelled()[name](o)])))
const DATA_ARRAY_METHODS: Record<string, Call> = {
  values: (o) => labelled().get('t').values(o),
  get: (o) => labelled().get('t').get(o),
  rolling: (o) => labelled().get('t').rolling({ x: 2 }, o),
  toCSV: (o) => labelled().get('t').toCSV(o).next(),
  toTable: (o) => labelled().get('t').toTable(o).next(),
  coarsen: (o) => labelled().get('t').coarsen({ x: 2 }, o),
  sel: (o) => labelled().get('t').sel({ x: 10 }, o),
  interp: (o) => labelled().get('t').interp({ x: 12 }, o),
  quantile: (o) => labelled().get('t').quantile(0.5, o),
  histogram: (o) => labelled().get('t').histogram(o),
  describe: (o) => labelled().get('t').describe(o),
  climatology: (o) => labelled().get('t').climatology('month', o),
  anomaly: (o) => labelled().get('t').anomaly('month', o),
  where: (o) =>
    labelled()
      .get('t')
      .where(() => true, o),
  isel: (o) =>
    labelled()
      .get('t')
      .isel([{ x: 1 }], o),
  selPoints: (o) =>
    labelled()
      .get('t')
      .selPoints([{ x: 10 }], o),
  ...Object.fromEntries(
    ([...WHOLE_REDUCTIONS, 'argMin', 'argMax', 'idxMin', 'idxMax'] as const).map((name) => [
      name,
      (o: never) => labelled().get('t')[name](o),
    ]),
  ),
  cumsum: (o) => labelled().get('t').cumsum('x', o),
  fillna: (o) => labelled().get('t').fillna(0, o),
  sortBy: (o) => labelled().get('t').sortBy('x', o),
  diff: (o) => labelled().get('t').diff('x', o),
  shift: (o) => labelled().get('t').shift({ x: 1 }, o),
  ...Object.fromEntries(
    (['add', 'sub', 'mul', 'div', 'lt', 'le', 'gt', 'ge', 'eq', 'ne'] as const).map((name) => [
      name,
      (o: never) => labelled().get('t')[name](2, o),
    ]),
  ),
  and: (o) => labelled().get('t').gt(0).and(labelled().get('t').gt(1), o),
  or: (o) => labelled().get('t').gt(0).or(labelled().get('t').gt(1), o),
  map: (o) => labelled().get('t').map(Math.abs, o),
}
const GROUP_METHODS: Record<string, Call> = {
  ...Object.fromEntries(REDUCTIONS.map((name): [string, Call] => [name, (o) => labelled().get('t').groupBy('x')[name](o)])),
  quantile: (o) => labelled().get('t').groupBy('x').quantile(0.5, o),
}

/** Functions without options. A new function belongs here, or above. */
const WITHOUT = {
  functions: [
    ...[
      'BlobStore',
      'ChunkGrid',
      'FileStore',
      'HyperslabError',
      'IrregularChunks',
      'MemoryBudget',
      'MemoryStore',
      'OpfsStore',
      'RegularChunks',
    ],
    ...['chunk', 'toDate', 'initKernels', 'isHyperslabError', 'toISO', 'newAxis', 'parseS3Url', 'points', 'projectAxis'],
    ...['projectBox', 'resolveSelection', 'roll', 'slice', 'toTimestamp', 'zarrCodecs', 'zip'],
    ...['between', 'cos', 'DataArray', 'CFTime'],
    ...['axisChunks', 'linear'],
    ...['LabelledTree', 'readExcerpt', 'positionText', 'runsUpwards', 'elementFormat', 'isWrongWords', 'listDimensions'],
    ...['textAttribute', 'shareMemory', 'formatToWrite', 'plainAttrs', 'estimateJob', 'writeJson'],
    ...['Job', 'MERGE_FAN_IN', 'nodeCounts', 'readPlan'],
    ...['countAccesses', 'readableConformance', 'sourceConformance', 'storeConformance', 'writableConformance'],
  ],
  treeMethods: ['array', 'arraysBeside', 'contents', 'version'],
  methods: [...['is', 'view', 'transpose', 'reshape', 'squeeze', 'expandDims', 'flip', 'rechunk', 'astype', 'toString']],
  fileArrayMethods: ['resize', 'storage', 'changeShape'],
  fileMethods: ['toString', 'arrays', 'array', 'delete', 'attributeIndex', 'layers', 'stats', 'warnings', 'flush', 'close'],
  whereMethods: ['count'],
  datasetMethods: [
    ...[
      'get',
      'isel',
      'assign',
      'merge',
      'rename',
      'swapDims',
      'setCoords',
      'drop',
      'omittedGroups',
      'version',
      'close',
      'toString',
    ],
    ...['groupBy', 'resample', 'fillna'],
  ],
  dataArrayMethods: [
    ...['abs', 'sqrt', 'log', 'exp', 'not', 'isnull', 'notnull', 'clip', 'round', 'astype', 'transpose', 'squeeze', 'expandDims'],
    'assignAttrs',
    'isel',
    'dates',
    'groupBy',
    'resample',
    'weighted',
    'rename',
    'toString',
    'toPython',
  ],
}

/** Options that the calls above set themselves. */
const GIVEN: Record<string, readonly string[]> = {
  generate: ['dtype', 'shape'],
  createArray: ['dtype', 'shape'],
  S3Store: ['bucket'],
  ZipStore: ['store', 'path'],
}

/** Values that every function with an option of this name refuses. */
const WRONG: Record<string, readonly unknown[]> = {
  ...Object.fromEntries(['signal', 'pool', 'budget', 'cache', 'into', 'out'].map((name) => [name, [{}, [], 1]])),
  ...Object.fromEntries(['layer', 'prefetch', 'retries', 'concurrency'].map((name) => [name, [0.5, -1, Infinity, '1']])),
  ...Object.fromEntries(['segmentBytes', 'maxRequests', 'chunkBytes'].map((name) => [name, [1.5, 0, Infinity]])),
  ...Object.fromEntries(['maxBytes', 'retryDelay', 'maxGapBytes', 'patience'].map((name) => [name, [-1, Number.NaN, '1']])),
  ...Object.fromEntries(['names', 'dimensionNames'].map((name) => [name, ['x', [1], ['x', undefined], {}]])),
  // `openDataset` takes types by name, other functions a list of names.
  variables: ['x', [1], ['x', undefined], new Map(), 1],
  ...Object.fromEntries(['headers', 'arrays', 'credentials'].map((name) => [name, [[], new Map(), 1]])),
  codecs: [[{}], [1], { length: 0 }, [{ name: 'none', decode: Number }], Array(2).fill({ name: 'x', decode: Number })],
  blockBytes: [1.5, -1, Infinity, 2 ** 53],
  cacheBytes: [1.5, -1, 2 ** 30 + 1],
  slabBytes: [1.5, -1],
  size: [1.5, -1, 1025],
  storeFor: [1],
  flushes: [1.5, -1],
  partBytes: [2 ** 20, 5 * 2 ** 20 + 0.5, 2 ** 31],
  notFound: [404, [404.5], ['404']],
  limits: [
    [],
    { blockBytes: 1.5 },
    { blockBytes: Infinity },
    { blockBytes: 2 ** 32 },
    { elements: -1 },
    { elements: 0.5 },
    { speling: 1 },
  ],
}

const ANY = [
  null,
  {},
  [],
  [{}],
  [1],
  [1.5],
  'x',
  1.5,
  -1,
  Number.NaN,
  Infinity,
  2 ** 60,
  true,
  () => 1,
  5n,
  Symbol('x'),
  new Map(),
]

async function refusalOf(call: Call, options: unknown): Promise<unknown> {
  try {
    await call(options as never)
  } catch (error) {
    return error
  }
}

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort()

describe('every function that takes options is here', () => {
  test.each([
    [
      'functions',
      () => [hyperslab, stores, plans, netcdf, zarr, dataset, cluster, tree, testing].flatMap(Object.keys),
      FUNCTIONS,
      WITHOUT.functions,
    ],
    ['methods of arrays', () => methodsOf(array()), METHODS, WITHOUT.methods],
    [
      'methods of stored arrays',
      async () => methodsOf(await stored(), DiskArray.prototype),
      FILE_ARRAY_METHODS,
      WITHOUT.fileArrayMethods,
    ],
    ['methods of files', async () => methodsOf(await file()), FILE_METHODS, WITHOUT.fileMethods],
    ['methods of datasets', () => methodsOf(labelled()), DATASET_METHODS, [...WITHOUT.datasetMethods, 'reduce']],
    [
      'methods of labelled arrays',
      () => methodsOf(labelled().get('t')),
      DATA_ARRAY_METHODS,
      [...WITHOUT.dataArrayMethods, 'reduce'],
    ],
    ['methods of groups', () => methodsOf(labelled().get('t').groupBy('x')), GROUP_METHODS, ['reduce']],
    ['methods of trees', async () => methodsOf(await opened()), TREE_METHODS, WITHOUT.treeMethods],
    ['methods of findWhere', () => methodsOf(hyperslab.findWhere(array(), {})), WHERE_METHODS, WITHOUT.whereMethods],
  ])('%s', async (_, namesOf, calls, without) => {
    expect(sorted(await namesOf())).toEqual(sorted([...Object.keys(calls), ...without]))
  })
})

describe.each([
  ['functions', FUNCTIONS],
  ['methods of arrays', METHODS],
  ['methods of stored arrays', FILE_ARRAY_METHODS],
  ['methods of files', FILE_METHODS],
  ['methods of trees', TREE_METHODS],
  ['methods of findWhere', WHERE_METHODS],
  ['methods of datasets', DATASET_METHODS],
  ['methods of labelled arrays', DATA_ARRAY_METHODS],
  ['methods of groups', GROUP_METHODS],
])('%s', (_, calls) => {
  test.each(Object.entries(calls))('%s refuses unknown options, and options that are not an object', async (name, call) => {
    const refusal = (options: unknown) => refusalOf(call, options)
    expect(await refusal({ speling: 1 })).toMatchObject({
      tag: 'InvalidArgumentError',
      message: expect.stringMatching(`${name} has no option 'speling'`),
      details: { actual: 'speling', expected: expect.any(Array) },
    })
    // Four of these merge the options into their own. `broadcast` takes the value for its last operand.
    if (['generate', 'S3Store', 'ZipStore', 'createArray', 'broadcast'].includes(name)) return
    for (const options of [null, 1, 'axis', [0], AbortSignal.abort(), new Map()])
      expect(await refusal(options), String(options)).toMatchObject({
        tag: 'InvalidArgumentError',
        message: expect.stringContaining(`${name} takes options as an object`),
      })
  })

  test.each(Object.entries(calls))(
    '%s refuses what is no value of an option, and never otherwise than by an error with a tag',
    async (name, call) => {
      const { details } = (await refusalOf(call, { speling: 1 })) as InstanceType<typeof hyperslab.HyperslabError>
      const options = (details.expected as string[]).filter((option) => !GIVEN[name]?.includes(option))
      for (const option of options) {
        for (const value of WRONG[option] ?? [])
          expect(await refusalOf(call, { [option]: value }), `${option}: ${inspect(value)}`).toMatchObject({
            tag: 'InvalidArgumentError',
          })
        // Races are run with what they can be run with.
        for (const value of name.startsWith('race') ? [] : ANY) {
          const error = await refusalOf(call, { [option]: value })
          if (error !== undefined) expect(hyperslab.isHyperslabError(error), `${option}: ${inspect(value)}: ${error}`).toBe(true)
        }
      }
    },
  )
})

describe('what is wrong is said', () => {
  test.each<[() => unknown, string]>([
    [() => array().sum({ axes: [0] } as never), "sum has no option 'axes'; did you mean 'axis'?"],
    [() => array().mean({ skipNan: true } as never), "mean has no option 'skipNan'; did you mean 'skipNaN'?"],
    [() => array().mean({ skipfill: true } as never), "mean has no option 'skipfill'; did you mean 'skipMissing'?"],
    [() => array().max({ skipFill: true } as never), "max has no option 'skipFill'; did you mean 'skipMissing'?"],
    [() => array().sum({ keepdims: true } as never), "sum has no option 'keepdims'; did you mean 'keepDims'?"],
    [() => array().sum({ xyz: 1 } as never), "sum has no option 'xyz': there are signal, "],
    [() => array().sum({ keepDims: 1 } as never), 'sum: keepDims must be a boolean, got 1'],
    [() => array().sum({ axis: true } as never), 'sum: axis must be a number or string or list, got true'],
    [() => array().sum({ axis: null } as never), 'sum: axis must be a number or string or list, got null'],
    [() => array().variance({ ddof: Number.NaN }), 'variance: ddof must be a number, got NaN'],
    [() => array().get(null, { signal: {} } as never), 'get: signal must be an AbortSignal, got a value of type Object'],
    [() => array().get(null, { maxBytes: -1 }), 'get: maxBytes must be a number from 0, got -1'],
    [() => array().get(null, { strategy: 'chunks' } as never), 'strategy cannot be "chunks"; did you mean \'chunk\'?'],
    [() => array().groupBy(0, [1, 1, 1, 1], 'average' as never), 'groupBy: kind cannot be "average": there are sum, mean, prod'],
    [() => array().groupBy(0, [1, 1, 1, 1], undefined as never), 'groupBy: kind cannot be undefined: there are sum, mean'],
    [() => array().groupBy(0, [1, 1, 1, 1], '' as never), 'groupBy: kind cannot be "": there are sum, mean'],
    [
      () => hyperslab.coarsen(array(), { time: 2 }, 'varience' as never),
      'coarsen: kind cannot be "varience"; did you mean \'variance\'?',
    ],
    [() => hyperslab.coarsen(array(), 2 as never, 'mean'), 'expected an object by axis, got 2'],
    [() => array().pad(1, { mode: 'wrap' } as never), 'pad: mode cannot be "wrap": there are constant, edge'],
    [() => array().map(1 as never), 'map: fn must be a function, got 1'],
    [
      () => array().mapReduce(Number, Math.max, { skipNaN: true } as never),
      'mapReduce takes an initial value after the functions; { skipNaN } are its options, which come after it',
    ],
    [() => array().reduce(Math.max, undefined as never), 'reduce takes an initial value after the functions'],
    [() => array().map((x) => x, { dtype: 'float' } as never), 'map: dtype cannot be "float"'],
    [() => array().is('flaot64' as never), 'unknown dtype "flaot64"'],
    [() => hyperslab.findWhere(array(), { mix: 1 } as never), "the range of findWhere has no option 'mix'; did you mean 'min'?"],
    [() => new DiskArray({ dtype: 'int8', shape: [1] } as never), 'DiskArray: readBlock must be a function, got undefined'],
    [() => new hyperslab.S3Store({} as never), 'S3Store: bucket must be a string, got undefined'],
    [() => hyperslab.open({ store: new MemoryStore() } as never), 'path must be a string, got undefined'],
    [
      () => hyperslab.open(place, { limits: { footerbytes: 1 } } as never),
      "limits has no option 'footerbytes'; did you mean 'footerBytes'?",
    ],
    [
      async () => (await file()).createArray('y', { dtype: 'int8', shape: [2], chunkShape: [1] } as never),
      "no option 'chunkShape'",
    ],
    [async () => (await stored()).resize(5 as never), 'expected an object by axis, got 5'],
  ])('%#', async (call, message) => {
    await expect((async () => call())()).rejects.toMatchObject({
      tag: 'InvalidArgumentError',
      message: expect.stringContaining(message),
    })
  })

  test('with the file and the array it is about', async () => {
    await expect((await stored()).sum({ axes: 0 } as never)).rejects.toMatchObject({
      details: { file: 'memory:x.af', array: 'x' },
    })
  })

  test('before anything is done', async () => {
    const one = await stored()
    await expect(one.append(0, [1, 2, 3], { singal: undefined, speling: 1 } as never)).rejects.toThrow('speling')
    expect(one.shape).toEqual([4, 3])
    await expect(hyperslab.create({ store: new MemoryStore(), path: 'y.af' }, { overwite: true } as never)).rejects.toThrow(
      "did you mean 'overwrite'?",
    )
  })
})

describe('checkOptions', () => {
  const checks: Record<string, Check> = { a: 'number', b: ['x', true], c: 'value', d: 'list' }

  test('takes what is right, and options that are undefined or inherited', () => {
    for (const options of [undefined, {}, { a: undefined, z: undefined }, { a: 1, b: 'x', c: null, d: [] }, { b: true }])
      expect(() => checkOptions('f', options, checks)).not.toThrow()
    expect(() => checkOptions('f', { d: new Uint8Array(1) }, checks)).not.toThrow()
    expect(() => checkOptions('f', Object.create({ z: 1 }), checks)).toThrow("no option 'z'")
    expect(() => checkOptions('f', { toString: 1 }, checks)).toThrow("no option 'toString'")
  })
})
