import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DiskArray } from '../../src/array/disk-array.ts'
import { allocate, type DType } from '../../src/core/dtype.ts'
import { isHyperslabError } from '../../src/core/errors.ts'
import { sizeOf } from '../../src/core/shape.ts'
import type { DataArray } from '../../src/dataset/data-array.ts'
import { Dataset } from '../../src/dataset/dataset.ts'
import { ChunkGrid } from '../../src/grid/chunks.ts'
import { boxShape } from '../../src/grid/range.ts'
import { slice } from '../../src/grid/slice.ts'
import { runs, seedOf, timeLimit } from '../support/budget.ts'
import { CountingSource } from '../support/counting-source.ts'
import { datasetsIn, type MemoryArray, type Step } from '../support/dataset-peer.ts'
import { expectPeer } from '../support/labelled.ts'

const { peer } = datasetsIn('operations', () => undefined)

/** Marks missing elements of integers, for which xarray has NaN. */
const FILL = -9

const TYPES = ['float64', 'float32', 'int16', 'int64', 'bool'] as const
type Type = (typeof TYPES)[number]

/** An array here, and what xarray is given. */
interface Case {
  readonly spec: MemoryArray
  readonly dtype: Type
  readonly chunks: readonly number[]
}

const DAYS = ['2001-01-30', '2001-01-31', '2001-02-01', '2001-02-03', '2001-02-04']

/**
 * Arrays of few values, some of which are missing, along dimensions of length 0 to 4 with labels in any
 * order.
 */
const cases: fc.Arbitrary<Case> = fc
  .record({
    dims: fc.subarray(['time', 'y', 'x'], { minLength: 1 }),
    lengths: fc.tuple(
      ...Array.from({ length: 3 }, () =>
        fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 2, max: 4 }) }, { weight: 1, arbitrary: fc.constantFrom(0, 1) }),
      ),
    ),
    chunks: fc.tuple(...Array.from({ length: 3 }, () => fc.integer({ min: 1, max: 3 }))),
    dtype: fc.constantFrom(...TYPES),
    missing: fc.constantFrom(0, 0, 0.3, 1),
    labels: fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 4, maxLength: 4 }),
    draws: fc.array(fc.tuple(fc.integer({ min: 0, max: 7 }), fc.double({ min: 0, max: 1, noNaN: true })), {
      minLength: 64,
      maxLength: 64,
    }),
  })
  .map(({ dims, lengths, chunks, dtype, missing, labels, draws }) => {
    const shape = lengths.slice(0, dims.length)
    const pool =
      dtype === 'bool'
        ? [0, 1]
        : dtype.startsWith('int')
          ? [0, 1, -1, 2, 5, 15, 25, -15]
          : [0, 0.5, 1.5, 2.5, -1.5, 3, 7.25, -0.25]
    const misses = dtype !== 'bool' && missing > 0
    const values = Array.from({ length: sizeOf(shape) }, (_, i) => {
      const [at, share] = draws[i]!
      return misses && share < missing ? null : pool[at % pool.length]!
    })
    const own = (dim: string, length: number): (number | string)[] => (dim === 'time' ? DAYS : labels).slice(0, length)
    const coords = Object.fromEntries(dims.map((dim, axis) => [dim, own(dim, shape[axis]!)]))
    const theirs = misses && dtype.startsWith('int') ? 'float64' : dtype
    return { spec: { dims, shape, dtype: theirs, values, coords }, dtype, chunks: chunks.slice(0, dims.length) }
  })

const sourceOf = ({ spec, dtype, chunks }: Case): CountingSource<DType> => {
  const data = allocate(dtype, spec.values.length)
  const fill = dtype.startsWith('float') ? Number.NaN : FILL
  spec.values.forEach((value, i) => {
    data[i] = (dtype === 'int64' ? BigInt(value ?? (fill as never)) : (value ?? fill)) as never
  })
  const isMissing = spec.values.includes(null)
  const fillValue = isMissing ? ((dtype === 'int64' ? BigInt(FILL) : fill) as never) : undefined
  const grid = ChunkGrid.regular(spec.shape, chunks.map((length, axis) => Math.max(1, Math.min(length, spec.shape[axis]!)))) // biome-ignore format: one line
  return new CountingSource<DType>({ dtype, shape: spec.shape, data } as never, grid, isMissing ? { fillValue: fillValue! } : {})
}

const coordsOf = (spec: MemoryArray) =>
  Object.fromEntries(
    Object.entries(spec.coords).map(([dim, labels]) => [
      dim,
      dim === 'time' && labels.length > 0 ? (labels as string[]).map((day) => new Date(day)) : (labels as number[]),
    ]),
  )

const arrayOf = (each: Case, source = sourceOf(each)): DataArray =>
  new Dataset({ v: { dims: each.spec.dims, data: new DiskArray(source as never) } }, { coords: coordsOf(each.spec) }).get('v')

type Options = {
  readonly [K in 'above' | 'ascending' | 'axis' | 'by' | 'ddof' | 'decimals' | 'dtype' | 'keys' | 'kind' | 'label' | 'max']: never
} & { readonly [K in 'fillValue' | 'min' | 'n' | 'name' | 'order' | 'skipMissing' | 'value']: never }

/** Calls of this package by the names of the operations. */
const OPERATIONS: Readonly<Record<string, (array: DataArray, options: Options) => DataArray | Promise<DataArray>>> = {
  any: (a, o) => a.any(o),
  all: (a, o) => a.all(o),
  argMin: (a, o) => a.argMin(o),
  argMax: (a, o) => a.argMax(o),
  idxMin: (a, o) => a.idxMin(o),
  idxMax: (a, o) => a.idxMax(o),
  cumsum: (a, { axis, skipMissing }) => a.cumsum(axis, { skipMissing: a.dtype === 'bool' ? true : skipMissing }),
  isnull: (a) => a.isnull(),
  notnull: (a) => a.notnull(),
  fillna: (a, { value }) => a.fillna(value),
  fillnaWith: (a, o) => a.fillna(a.mean(o)),
  where: (a, { above }) => a.where((value) => value > above),
  compare: (a, { kind, value }) => a[kind as 'lt'](value),
  compareWith: (a, { kind, axis }) => a[kind as 'lt'](a.mean({ axis })),
  mask: (a, { above, value, kind }) => {
    const masks = [a.gt(above), a.le(value).not()] as const
    return a.where(masks[0][kind as 'and'](masks[1]))
  },
  compute: (a, { kind }) => a[kind as 'abs'](),
  clip: (a, { min, max }) => a.clip(min, max),
  round: (a, { decimals }) => a.round(decimals),
  astype: (a, { dtype }) => a.astype(dtype),
  transpose: (a, { order }) => a.transpose(order),
  squeeze: (a) => a.squeeze(),
  expandDims: (a, { name, axis }) => a.expandDims(name, axis),
  sortBy: (a, { keys, ascending }) => a.sortBy(keys, { ascending }),
  diff: (a, { axis, n, label }) => a.diff(axis, { n, label }),
  shift: (a, { by, fillValue }) => a.shift(by, (fillValue as unknown) === undefined ? {} : { fillValue }),
  keep: (a, { kind, axis }) => a[kind as 'sum']({ axis, keepDims: true }),
  spread: (a, { kind, axis, ddof }) => a[kind as 'std']({ axis, ddof }),
  isel: (a, o) => a.isel(o),
}

/** Operations of an array with some dimensions. */
function stepsOf(dims: readonly string[]): fc.Arbitrary<Step> {
  const dim = fc.constantFrom(...(dims.length > 0 ? dims : ['none']))
  const some = fc.subarray([...dims], { minLength: 1 })
  const step = <T extends Record<string, fc.Arbitrary<unknown>>>(name: string, options: T): fc.Arbitrary<Step> =>
    fc
      .record(options, { requiredKeys: Object.keys(options).filter((key) => key !== 'fillValue') })
      .map((made) => [name, made as never])
  const kinds = fc.constantFrom('sum', 'mean', 'min', 'max', 'count', 'prod', 'std', 'median')
  const comparisons = fc.constantFrom('lt', 'le', 'gt', 'ge', 'eq', 'ne')
  return fc.oneof(
    ...['any', 'all', 'argMin', 'argMax', 'idxMin', 'idxMax'].map((name) => step(name, { axis: dim })),
    step('cumsum', { axis: dim, skipMissing: fc.boolean() }),
    ...['isnull', 'notnull', 'squeeze'].map((name) => step(name, {})),
    step('fillna', { value: fc.constantFrom(0, 3, 0.5) }),
    step('fillnaWith', { axis: some }),
    step('where', { above: fc.constantFrom(0, 1, 100) }),
    step('compare', { kind: comparisons, value: fc.constantFrom(0, 1, 2.5, 15) }),
    step('compareWith', { kind: comparisons, axis: some }),
    step('mask', { kind: fc.constantFrom('and', 'or'), above: fc.constantFrom(0, 1, 5), value: fc.constantFrom(0, 2.5) }),
    step('compute', { kind: fc.constantFrom('abs', 'sqrt', 'log', 'exp') }),
    fc
      .constantFrom<Record<string, number>>({ min: 1 }, { max: 2 }, { min: -1, max: 1 }, { min: 0.5 }, { min: 2, max: 1 })
      .map((o): Step => ['clip', o]),
    step('round', { decimals: fc.constantFrom(0, 1, -1) }),
    step('astype', { dtype: fc.constantFrom('float32', 'float64') }),
    fc.shuffledSubarray([...dims], { minLength: dims.length }).map((order): Step => ['transpose', { order }]),
    step('expandDims', { name: fc.constant('new'), axis: fc.integer({ min: 0, max: dims.length }) }),
    step('sortBy', { keys: fc.shuffledSubarray([...dims], { minLength: 1 }), ascending: fc.boolean() }),
    step('diff', { axis: dim, n: fc.integer({ min: 0, max: 3 }), label: fc.constantFrom('upper', 'lower') }),
    fc
      .tuple(dim, fc.integer({ min: -5, max: 5 }), fc.constantFrom({}, { fillValue: 0 }))
      .map(([d, n, fill]): Step => ['shift', { by: { [d]: n }, ...fill }]),
    step('keep', { kind: kinds, axis: some }),
    fc
      .tuple(fc.constantFrom('std', 'variance'), some, fc.constantFrom(0, 1, 2))
      .map(([kind, axis, ddof]): Step => ['spread', { kind, axis, ddof }]),
  )
}

const chains = cases.chain((each) =>
  fc.tuple(fc.constant(each), fc.array(stepsOf(each.spec.dims), { minLength: 1, maxLength: 3 })),
)

async function applied(array: DataArray, steps: readonly Step[]): Promise<DataArray> {
  let result = array
  for (const [name, options] of steps) result = await OPERATIONS[name]!(result, options as never)
  return result
}

/** Whether xarray computes in float32: for int16, too, once a value may be missing. */
const isSingle = ({ dtype }: Case, steps: readonly Step[]): boolean =>
  dtype === 'float32' || dtype === 'int16' || JSON.stringify(steps).includes('float32')

/** Whether this package alone refuses an operation: arithmetic of times, and an order by no labels. */
const isRefusal = (error: unknown): boolean =>
  (isHyperslabError(error, 'UnsupportedError') && /of times|of timestamp_ns/.test(error.message)) ||
  (isHyperslabError(error, 'InvalidArgumentError') && /no coordinate ".*" to sort by/.test(error.message))

test.skipIf(peer === undefined)(
  'chains of operations on arrays of every type, with missing values, are equal to those of xarray',
  async () => {
    let [equal, refusals] = [0, 0]
    await fc.assert(
      fc.asyncProperty(chains, async ([each, steps]) => {
        const theirs = await peer!.runOn(each.spec, steps)
        // If `ddof` equals the number of integers, numpy divides by 0.
        if ('refused' in theirs || theirs.values.includes('inf')) return void refusals++
        try {
          let array = await applied(arrayOf(each), steps)
          // Missing integers are NaN in xarray.
          if (array.array.missing.values.length > 0 && array.dtype !== 'timestamp_ns') array = array.astype('float64')
          await expectPeer(array, theirs, isSingle(each, steps) ? 1e-5 : 1e-12)
        } catch (error) {
          if (isRefusal(error)) return void refusals++
          throw new Error(`${JSON.stringify(each)} ${JSON.stringify(steps)}: ${(error as Error).stack}`)
        }
        equal++
      }),
      { numRuns: runs(1600), seed: seedOf('operations', 37), endOnFailure: true },
    )
    expect(equal).toBeGreaterThan(refusals)
  },
  timeLimit(300_000),
)

/** A dataset of variables with and without each dimension. */
const datasets = fc
  .record({ time: fc.integer({ min: 1, max: 5 }), y: fc.integer({ min: 1, max: 3 }), missing: fc.constantFrom(0, 0.3, 1), seed: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 40, maxLength: 40 }) }) // biome-ignore format: one line
  .map(({ time, y, missing, seed }): Record<string, Case> => {
    const coords = { time: DAYS.slice(0, time), y: [10, 20, 30].slice(0, y) }
    const variable = (dims: ('time' | 'y')[], dtype: Type, misses: boolean, from: number): Case => {
      const shape = dims.map((dim) => coords[dim].length)
      const values = Array.from({ length: sizeOf(shape) }, (_, i) => {
        const draw = seed[(from + 2 * i) % 40]!
        if (misses && seed[(from + 2 * i + 1) % 40]! < missing) return null
        return dtype === 'bool' ? draw < 0.5 : dtype === 'int16' ? Math.floor(draw * 7) - 3 : Math.floor(draw * 64) / 4
      })
      const own = Object.fromEntries(dims.map((dim) => [dim, coords[dim]]))
      return { spec: { dims, shape, dtype, values, coords: own }, dtype, chunks: shape.map(() => 2) }
    }
    return {
      a: variable(['time', 'y'], 'float64', true, 0),
      b: variable(['y'], 'float64', true, 5),
      i: variable(['time'], 'int16', false, 10),
      flag: variable(['time'], 'bool', false, 15),
    }
  })

const axes = fc.constantFrom(['time'], ['y'], ['time', 'y'])
const kinds = fc.constantFrom('mean', 'sum', 'min', 'max', 'count', 'std')
const datasetSteps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('mean', 'sum', 'min', 'max', 'std', 'variance', 'median', 'count', 'prod', 'all'), axis: axes }).map((o): Step => ['reduce', o]),
  fc.record({ q: fc.constantFrom([0.25], [0.1, 0.9]), axis: axes }).map((o): Step => ['quantile', o]),
  fc.record({ kind: kinds, key: fc.constantFrom('time.month', 'time.year') }).map((o): Step => ['groupBy', o]),
  fc.record({ kind: kinds, frequency: fc.constantFrom('2D', 'MS') }).map((o): Step => ['resample', o]),
  fc.record({ kind: fc.constantFrom('mean', 'sum', 'max', 'count'), windows: fc.constantFrom({ time: 2 }, { y: 2 }), center: fc.boolean(), minPeriods: fc.constant(1) }).map((o): Step => ['rolling', o]),
  fc.record({ kind: fc.constantFrom('mean', 'sum', 'min'), windows: fc.constantFrom({ time: 2 }, { time: 2, y: 2 }), boundary: fc.constant('trim') }).map((o): Step => ['coarsen', o]),
  fc.record({ variable: fc.constantFrom('i', 'b'), above: fc.constantFrom(0, 5) }).map((o): Step => ['whereVariable', o]),
  fc.constant<Step>(['fillna', { value: 0 }]),
) // biome-ignore format: one line

function appliedToDataset(ds: Dataset, [name, options]: Step): Dataset {
  const o = options as never as {
    kind: 'mean'
    q: number[]
    axis: string[]
    key: string
    frequency: string
    windows: Record<string, number>
    center: boolean
    minPeriods: number
    boundary: 'trim'
    variable: string
    above: number
    value: number
  }
  switch (name) {
    case 'reduce':
      return ds[o.kind]({ axis: o.axis })
    case 'quantile':
      return ds.quantile(o.q, { axis: o.axis })
    case 'groupBy':
      return ds.groupBy(o.key)[o.kind]()
    case 'resample':
      return ds.resample({ time: o.frequency })[o.kind]()
    case 'rolling':
      return ds.rolling(o.windows, { center: o.center, minPeriods: o.minPeriods })[o.kind]()
    case 'coarsen':
      return ds.coarsen(o.windows, { boundary: o.boundary })[o.kind]()
    case 'whereVariable':
      return ds.where(ds.get(o.variable).where((value) => value > o.above).notnull()) // biome-ignore format: one line
    default:
      return ds.fillna(o.value)
  }
}

/** Dimensions that a step is about. */
function dimsOf([name, options]: Step): readonly string[] {
  if (name === 'groupBy' || name === 'resample') return ['time']
  if (name === 'whereVariable') return options['variable'] === 'i' ? ['time'] : ['y']
  return (options['axis'] as string[]) ?? Object.keys((options['windows'] as object) ?? { time: 0, y: 0 })
}

const datasetOf = (variables: Readonly<Record<string, Case>>): Dataset => {
  const coords = Object.assign({}, ...Object.values(variables).map(({ spec }) => coordsOf(spec)))
  const arrays = Object.entries(variables).map(([name, each]) => [
    name,
    { dims: each.spec.dims, data: new DiskArray(sourceOf(each) as never) },
  ])
  return new Dataset(
    { ...Object.fromEntries(arrays), name: { dims: ['time'], data: DAYS.slice(0, coords['time'].length) } },
    { coords },
  )
}

test.skipIf(peer === undefined)(
  'operations on datasets are those of xarray for each variable that has the dimension',
  async () => {
    await fc.assert(
      fc.asyncProperty(datasets, datasetSteps, async (variables, step) => {
        const theirs = await peer!.runOnDataset(Object.fromEntries(Object.entries(variables).map(([name, { spec }]) => [name, spec])), [step]) // biome-ignore format: one line
        if ('refused' in theirs) return void expect(theirs.refused).toMatch(/numpy boolean subtract|zero-size array/)
        const ds = datasetOf(variables)
        const isMask = step[0] === 'whereVariable'
        const result = appliedToDataset(isMask ? ds.drop('name') : step[0] === 'rolling' ? ds.drop('name') : ds, step)
        const along = dimsOf(step)
        try {
          for (const [name, { spec }] of Object.entries(variables)) {
            const has = spec.dims.some((dim) => along.includes(dim))
            if (has) await expectPeer(result.get(name), theirs[name]!)
            else expect(await result.get(name).values(), name).toEqual(await ds.get(name).values())
          }
          // Text has counts alone; a coordinate along a dimension that is gone is gone.
          const drops = ['reduce', 'quantile', 'groupBy', 'resample', 'coarsen'].includes(step[0]) && along.includes('time') && !/count|all/.test(String(step[1]['kind'])) // biome-ignore format: one line
          if (drops) expect(Object.keys(result.variables)).not.toContain('name')
          if (step[0] === 'reduce' && along.includes('time')) expect(Object.keys(result.coords)).not.toContain('time')
        } catch (error) {
          throw new Error(`${JSON.stringify(variables)} ${JSON.stringify(step)}: ${(error as Error).stack}`)
        }
      }),
      { numRuns: runs(400), seed: seedOf('dataset operations', 41), endOnFailure: true },
    )
  },
  timeLimit(300_000),
)

/** An array along `time` and `y` over a source that counts its reads. */
function counted(shape: readonly [number, number], chunks: readonly [number, number]) {
  const data = Float64Array.from({ length: sizeOf(shape) }, (_, i) => (i % 5) - 2)
  const source = new CountingSource({ dtype: 'float64', shape, data }, ChunkGrid.regular(shape, chunks))
  const coords = { time: Array.from({ length: shape[0] }, (_, i) => -i), y: Array.from({ length: shape[1] }, (_, i) => i) }
  const array = new Dataset({ v: { dims: ['time', 'y'], data: new DiskArray(source as never) } }, { coords }).get('v')
  const elements = (): number => source.reads.reduce((sum, box) => sum + sizeOf(boxShape(box)), 0)
  return { source, array, elements }
}

const LAZY: Readonly<Record<string, (array: DataArray) => DataArray>> = {
  argMin: (a) => a.argMin({ axis: 'time' }),
  idxMax: (a) => a.idxMax({ axis: 'time' }),
  any: (a) => a.where((value) => value > 5).any({ axis: 'time' }),
  all: (a) => a.fillna(1).all({ axis: 'y' }),
  cumsum: (a) => a.cumsum('time'),
  isnull: (a) => a.isnull(),
  fillna: (a) => a.fillna(1),
  clip: (a) => a.clip(0, 1),
  round: (a) => a.round(1),
  astype: (a) => a.astype('float32'),
  transpose: (a) => a.transpose(),
  expandDims: (a) => a.expandDims('member'),
  keepDims: (a) => a.mean({ axis: 'time', keepDims: true }),
}

test.each(Object.entries(LAZY))('%s reads nothing before its values, and then each element once', async (_, apply) => {
  const { source, array, elements } = counted([9, 6], [2, 3])
  const result = apply(array)
  expect([result.dims.length > 0, source.reads.length]).toEqual([true, 0])
  await result.values()
  expect(elements()).toBe(54)
})

test('sortBy with labels in memory reads nothing, and with another array reads this array alone', async () => {
  const [own, key] = [counted([9, 6], [2, 3]), counted([9, 6], [2, 3])]
  const sorted = await own.array.sortBy('time')
  expect(own.source.reads).toEqual([])
  expect(Array.from(await sorted.coords['time']!.values())).toEqual([-8, -7, -6, -5, -4, -3, -2, -1, -0])
  await own.array.sortBy(key.array.isel({ y: 0 }))
  expect([own.source.reads.length, key.elements()]).toEqual([0, 9])
  await expect(own.array.sortBy(key.array)).rejects.toThrow(/a key of sortBy lies along one dimension/)
})

test('differences read the values of a part and one more, and of a whole each once', async () => {
  const { array, elements, source } = counted([8, 3], [4, 3])
  expect(await array.diff('time').isel({ time: slice(0, 3) }).values()).toHaveLength(9) // biome-ignore format: one line
  expect(elements()).toBe(12)
  source.reads.length = 0
  await array.diff('time').mean().get()
  expect(elements()).toBe(24)
})

test('cumulative sums of a part read the elements up to it, in reads as large as a chunk', async () => {
  const { array, elements, source } = counted([9, 6], [2, 3])
  const part = array.cumsum('time').isel({ time: [5], y: slice(3, 6) })
  expect(Array.from(await part.values())).toEqual(
    [3, 4, 5].map((y) => Array.from({ length: 6 }, (_, t) => ((6 * t + y) % 5) - 2).reduce((a, b) => a + b)),
  )
  expect(elements()).toBe(18)
  expect(Math.max(...source.reads.map((box) => sizeOf(boxShape(box))))).toBeLessThanOrEqual(18)
})

test('rounding keeps the sign of zero, and halves go to the even neighbour', async () => {
  const of = (data: number[]): DataArray => new Dataset({ v: { dims: ['x'], data } }).get('v')
  expect(Array.from(await of([-0.4, -0, 0.5, 1.5, 2.5, -2.5, 2 ** 53, Infinity, NaN]).round().values())).toEqual([-0, -0, 0, 2, 2, -2, 2 ** 53, Infinity, NaN]) // biome-ignore format: one line
  expect(Array.from(await of([1e308, 0.125, 15, 25]).round(-1).values())).toEqual([1e308, 0, 20, 20])
  expect(Array.from(await of([1e308, 0.125]).round(2).values())).toEqual([1e308, 0.12])
  expect(Array.from(await of([-0, 0]).isnull().values())).toEqual([0, 0])
})

test('missing values that are not skipped make results missing, also those of integers', async () => {
  const source = new CountingSource({ dtype: 'int16', shape: [3], data: Int16Array.of(1, -9, 3) }, ChunkGrid.regular([3], [2]), { fillValue: -9 }) // biome-ignore format: one line
  const v = new Dataset({ v: { dims: ['x'], data: new DiskArray(source as never) } }, { coords: { x: [10, 20, 30] } }).get('v')
  for (const kind of ['sum', 'mean', 'min', 'max', 'prod', 'std', 'median'] as const)
    expect(await v[kind]({ skipMissing: false }).get(), kind).toBeNaN()
  expect(Array.from(await v.cumsum('x', { skipMissing: false }).values())).toEqual([1, NaN, NaN])
  expect(Array.from(await v.coarsen({ x: 3 }).max({ skipMissing: false }).values())).toEqual([NaN])
  expect(Array.from(await v.groupBy({ x: [0, 15, 40] }).min({ skipMissing: false }).values())).toEqual([1, NaN]) // biome-ignore format: one line
  expect(await v.argMin({ skipMissing: false }).get()).toBe(1)
  // Filled integers stay integers, and the former missing value is one like others.
  const filled = v.fillna(-9)
  expect([filled.dtype, await filled.sum().get()]).toEqual(['int16', -5])
  expect(v.fillna(0.5).dtype).toBe('float64')
})

test('a value without a counterpart in another type is refused, and never replaced', async () => {
  const v = new Dataset({ v: { dims: ['x'], data: [1.5, NaN, 300] } }).get('v')
  await expect(v.astype('int16').values()).rejects.toThrow(/NaN is not a int16 value|not a int16/)
  await expect(v.fillna(0).astype('int8').values()).rejects.toThrow(/300/)
  await expect(v.astype('bool').values()).rejects.toThrow(/a missing value is neither true nor false/)
  expect(Array.from(await v.fillna(0).astype('bool').values())).toEqual([1, 0, 1])
  expect(() => v.fillna('x')).toThrow(/"x" is not a float64 value|x/)
  expect(() => v.fillna(new Date(0))).toThrow(/cannot become/)
  expect(() => v.clip()).toThrow(/clip takes a minimum, a maximum or both/)
})
