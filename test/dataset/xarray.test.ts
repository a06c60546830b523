import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isHyperslabError } from '../../src/core/errors.ts'
import type { Tensor } from '../../src/core/tensor.ts'
import { between } from '../../src/dataset/between.ts'
import { cos, type DataArray } from '../../src/dataset/data-array.ts'
import type { Dataset } from '../../src/dataset/dataset.ts'
import type { GroupedReductions } from '../../src/dataset/grouped-reductions.ts'
import type { LabelSelector } from '../../src/dataset/label-selectors.ts'
import { openDataset } from '../../src/dataset/open/open-dataset.ts'
import type { GroupKind } from '../../src/dataset/reductions.ts'
import { CFTime, NAT } from '../../src/dataset/time/instant.ts'
import { parseTimeLabel } from '../../src/dataset/time/labels.ts'
import { slice } from '../../src/grid/slice.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { runs } from '../support/budget.ts'
import { datasetsIn, type PeerArray, type Step } from '../support/dataset-peer.ts'

const { peer, folder } = datasetsIn('xarray', (folder, peer) => peer?.write(folder))
const NAMES = ['plain', 'packed', 'float', 'noleap', '360_day', 'julian'] as const
const FORMS = ['.nc', '.v2.zarr', '.v3.zarr'] as const
/** Chains of operations for each file, so that there are some 500 in all. */
const CHAINS = runs(40)

/** Numbers from 0 up to 1, the same for a seed every time. */
function mulberry(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}

type Kind = 'sum' | 'mean' | 'min' | 'max' | 'count' | 'std'

/** Does one operation here. */
function apply(array: DataArray, [name, options]: Step): DataArray {
  const o = options as never as {
    labels: Record<string, never>
    method: 'nearest'
    key: string
    kind: Kind
    q: number
    axis?: string[]
    operation: 'add'
    value: number
    frequency: string
    windows: Record<string, number>
    center?: boolean
    minPeriods?: number
    boundary: 'trim'
  }
  switch (name) {
    case 'sel': {
      const labels = Object.entries(o.labels).map(([dim, spec]): [string, LabelSelector] => {
        const range = (spec as { between?: [number, number] }).between
        return [dim, range ? between(...range) : (spec as LabelSelector)]
      })
      return array.sel(Object.fromEntries(labels), o.method ? { method: o.method } : {})
    }
    case 'reduce':
      return array[o.kind](o.axis ? { axis: o.axis } : {})
    case 'quantile':
      return array.quantile(o.value, { axis: o.axis! })
    case 'groupBy':
      return reducedGroups(array.groupBy(o.key), o)
    case 'anomaly':
      return array.sub(array.groupBy(o.key).mean())
    case 'resample':
      return reducedGroups(array.resample({ time: o.frequency }), o)
    case 'rolling':
      return reducedGroups(
        array.rolling(o.windows, { ...(o.center && { center: true }), ...(o.minPeriods && { minPeriods: o.minPeriods }) }),
        o,
      )
    case 'coarsen':
      return reducedGroups(array.coarsen(o.windows, { boundary: o.boundary }), o)
    case 'weighted':
      return array.weighted(cos(array.coords['lat']!))[o.kind as 'mean'](o.axis ? { axis: o.axis } : {})
    case 'scalar':
      return array[o.operation](o.value)
    default:
      throw new Error(`no step ${name}`)
  }
}

const reducedGroups = (
  groups: GroupedReductions<Record<GroupKind, DataArray>>,
  { kind, q, axis }: { kind: string; q: number; axis?: string[] },
): DataArray => {
  const options = axis ? { axis } : {}
  return kind === 'quantile' ? groups.quantile(q, options) : groups[kind as Kind | 'median'](options)
}

async function run(
  ds: Dataset,
  variable: string,
  steps: readonly Step[],
): Promise<{ array: DataArray; values: ArrayLike<unknown> }> {
  const array = steps.reduce(apply, ds.get(variable))
  const result = await array.get()
  const isTensor = typeof result === 'object' && result !== null && 'data' in result
  return { array, values: isTensor ? ((result as Tensor).data as ArrayLike<unknown>) : [result] }
}

/** Chains of operations, drawn from what a file has. */
function chain(ds: Dataset, random: () => number): { variable: string; steps: Step[] } {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const variable = pick(['tas', 'tas', 'tas', 'ua', 'orog'])
  const steps: Step[] = []
  let dims = [...ds.get(variable).dims]
  const labelled = (dim: string): readonly number[] => Array.from(ds.get(dim).variable.index!.values as ArrayLike<number>)
  const add = (name: string, options: Record<string, unknown>): void => void steps.push([name, options])
  if (dims.includes('time') && random() < 0.5) {
    const times = ds.get('time').variable.index!
    const text = times.show(times.at(Math.floor(random() * times.length)))
    const [label, isOne] = pick([[text.slice(0, 7), false], [text.slice(0, 4), false], [{ between: [text.slice(0, 7), '2002-06'] }, false]] as const) // biome-ignore format: one line
    add('sel', { labels: { time: label } })
    if (isOne) dims = dims.filter((dim) => dim !== 'time')
  }
  if (dims.includes('lat') && random() < 0.5) {
    const values = labelled('lat')
    const way = pick(['exact', 'list', 'range', 'nearest'] as const)
    if (way === 'exact') add('sel', { labels: { lat: pick(values) } })
    if (way === 'nearest') add('sel', { labels: { lat: pick(values) + 1.25 }, method: 'nearest' })
    if (way === 'list') add('sel', { labels: { lat: [pick(values), pick(values), pick(values)] } })
    if (way === 'range') {
      const [a, b] = [pick(values), pick(values)].sort((x, y) => x - y) as [number, number]
      add('sel', { labels: { lat: { between: [a, b] } } })
    }
    if (way === 'exact' || way === 'nearest') dims = dims.filter((dim) => dim !== 'lat')
  }
  if (random() < 0.25) add('scalar', { operation: pick(['add', 'sub', 'mul', 'div']), value: pick([2, 0.5, -3]) })
  // xarray cannot pad times of other calendars.
  const special = random()
  if (special < 0.4) {
    const dim = pick(dims.length > 0 ? dims : ['time'])
    const size = pick([2, 3])
    if (special < 0.1 && dims.includes('time'))
      add('resample', {
        frequency: pick(['MS', 'ME', 'QS-DEC', 'YS', '7D', '2MS']),
        kind: pick(['mean', 'max', 'count', 'std', 'median', 'quantile']),
        q: 0.9,
      })
    else if (special < 0.2 && dims.length > 0)
      add('rolling', {
        windows: { [dim]: size },
        kind: pick(['mean', 'sum', 'max', 'count', 'median', 'quantile']),
        q: 0.3,
        center: random() < 0.5,
        ...(random() < 0.5 && { minPeriods: 1 }),
      })
    else if (special < 0.3 && dims.length > 0)
      add('coarsen', {
        windows: { [dim]: size },
        kind: pick(['mean', 'sum', 'min', 'median', 'quantile']),
        q: 0.3,
        boundary: dim === 'time' ? 'trim' : pick(['trim', 'pad']),
      })
    else if (dims.includes('lat'))
      add('weighted', { kind: pick(['mean', 'sum']), axis: dims.filter((each) => each === 'lat' || random() < 0.5) })
    return { variable, steps }
  }
  const way = random()
  if (dims.includes('time') && way < 0.35) {
    const more = dims.filter((dim) => dim !== 'time' && random() < 0.4)
    const key = pick(['time.month', 'time.season', 'time.year'])
    add('groupBy', {
      key,
      kind: pick(['mean', 'sum', 'min', 'max', 'count', 'std', 'median', 'quantile']),
      q: 0.9,
      axis: ['time', ...more],
    })
  } else if (dims.includes('time') && way < 0.5) add('anomaly', { key: pick(['time.month', 'time.year']) })
  else if (dims.length > 0 && way < 0.58) {
    const q = pick([0.25, [0.1, 0.9]])
    add('quantile', { q, value: q, axis: [pick(dims)] })
  } else if (dims.length > 0) {
    const axis = random() < 0.3 ? undefined : dims.filter(() => random() < 0.6)
    add('reduce', { kind: pick(['mean', 'sum', 'min', 'max', 'count', 'std']), ...(axis && { axis }) })
  }
  return { variable, steps }
}

function expectSame(array: DataArray, values: ArrayLike<unknown>, theirs: PeerArray, isFloat32: boolean): void {
  expect(array.dims).toEqual(theirs.dims)
  expect(array.shape).toEqual(theirs.shape)
  expect(values.length).toBe(theirs.values.length)
  for (const [i, their] of theirs.values.entries()) {
    const own = Number(values[i])
    if (their === null) expect(own).toBeNaN()
    // xarray sums float32 in float32.
    else
      expect(Math.abs(own - (their as number))).toBeLessThanOrEqual(
        (isFloat32 ? 1e-4 : 1e-9) * Math.max(1, Math.abs(their as number)),
      )
  }
  for (const [name, coord] of Object.entries(theirs.coords)) {
    const own = array.coordinates.get(name)
    if (own?.index === undefined) {
      // Labels of a dimension may not get lost.
      expect(theirs.dims, name).not.toContain(name)
      continue
    }
    expect(own.dims).toEqual(coord.dims)
    const isTime = own.index.kind.calendar !== undefined
    const labels = Array.from(own.index.values, (label) => (isTime ? own.index!.show(label) : label))
    const shown = coord.values.map((value) => (isTime ? String(value).slice(0, 16) : value))
    expect(labels).toEqual(shown)
  }
}

/** The count of a period without times is 0 here, and NaN there. */
const counted = (theirs: PeerArray): PeerArray => ({ ...theirs, values: theirs.values.map((value) => value ?? 0) })

type Row = Readonly<Record<string, string>>

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

/** Rows by the names of columns; there is nothing to unquote. */
function parseCSV(text: string): Row[] {
  const [header, ...lines] = text.trimEnd().split('\n').map((line) => line.split(',')) // biome-ignore format: one line
  return lines.map((line) => Object.fromEntries(header!.map((name, i) => [name, line[i]!])))
}

/** Numbers and times of one notation. */
function field(text = ''): string {
  if (/^\d{4}-/.test(text))
    return text
      .replace(' ', 'T')
      .replace(/(T\d\d:\d\d):00$/, '$1')
      .replace('T00:00', '')
  return text === '' ? '' : String(Math.fround(Number(text)))
}

describe.skipIf(peer === undefined).each(NAMES)('%s', (name) => {
  test.each(FORMS)(`chains of operations on %s give what xarray gives`, async (form) => {
    const path = join(folder, `${name}${form}`)
    await using ds = await openDataset(path)
    expect([...ds.decodeErrors]).toEqual([])
    let answered = 0
    const random = mulberry(NAMES.indexOf(name) * 10 + FORMS.indexOf(form))
    for (let i = 0; i < CHAINS; i++) {
      const { variable, steps } = chain(ds, random)
      const theirs = await peer!.run(path, variable, steps)
      const what = `${variable} ${JSON.stringify(steps)}`
      if ('refused' in theirs) {
        const refused = await run(ds, variable, steps).then(() => false, isHyperslabError)
        if (!refused) throw new Error(`${what} is refused by xarray: ${theirs.refused}`)
        continue
      }
      answered++
      const isCount = steps.some(([name, options]) => name === 'resample' && options['kind'] === 'count')
      const { array, values } = await run(ds, variable, steps).catch((error: Error) => {
        throw new Error(`${what}: ${error.stack}`)
      })
      const isFloat32 = [variable, 'lat'].some((each) => ds.get(each).dtype === 'float32')
      try {
        expectSame(array, values, isCount ? counted(theirs) : theirs, isFloat32)
        // Windows of xarray have no quantiles of their own.
        if (steps.some(([name, { kind }]) => (name === 'rolling' || name === 'coarsen') && kind === 'quantile')) {
          await expect(array.toPython()).rejects.toThrow(/there is no code of xarray for quantile of/)
          continue
        }
        const code = await array.toPython()
        const again = await peer!.script(code)
        if ('refused' in again) throw new Error(`${code} fails: ${again.refused}`)
        expectSame(array, values, isCount ? counted(again) : again, isFloat32)
      } catch (error) {
        throw new Error(`${what}: ${(error as Error).message}`)
      }
    }
    expect(answered).toBeGreaterThan(CHAINS / 2)
  })

  test.each(FORMS)('scripts for %s do what was done here', async (form) => {
    await using ds = await openDataset(join(folder, `${name}${form}`))
    const tas = ds.get('tas')
    const times = ds.get('time').variable.index!
    const last = times.show(times.at(times.length - 1))
    const at = new CFTime(times.at(3) as bigint, times.kind.calendar!)
    const [south, north] = [-41, 62]
    const results: DataArray[] = [
      tas.sel({ time: [at, last], lat: between(south, north) }),
      tas.sel({ time: between(at, last) }).mean({ axis: 'time', skipMissing: false }),
      tas.sel({ lat: 43, lon: 19 }, { method: 'nearest', tolerance: 30 }).sel({ time: at }, { method: 'pad', tolerance: '2D' }),
      tas.isel({ time: slice(null, null, -3), lat: [0, 2, 1], lon: -1 }),
      tas.groupBy({ lat: [-90, 0, 45, 90] }).max(),
      tas.groupBy('lat').mean({ axis: ['lat', 'time'] }),
      tas.sub(tas.groupBy('time.season').mean()).std({ axis: 'time' }),
      tas.groupBy('time.month').mean().sub(tas).variance(),
      tas
        .mul(ds.get('orog'))
        .add(ds.coords['area']!)
        .median({ axis: ['lat', 'lon'] }),
      ds
        .sel({ time: times.show(times.at(0)).slice(0, 7) })
        .get('ua')
        .prod({ axis: 'level' }),
      ds.isel({ time: 2 }).rename({ tas: 'lambda', lat: 'is' }).drop('ua').get('lambda').rename('x y'),
      ds.setCoords('orog').get('ua'),
      (await ds.get('ua').interp({ lat: [1.5, -20.25], level: 700 })).sel({ lat: 1.5 }),
      cos(ds.get('lat')).div(Number.POSITIVE_INFINITY),
      tas.weighted(cos(tas.coords['lat']!)).sum({ axis: ['lon', 'lat'] }),
      ds.drop('ua').merge(ds.drop('tas', 'orog', 'seen')).get('ua').coarsen({ lat: 3, time: 4 }, { boundary: 'trim' }).sum(), // biome-ignore format: one line
    ]
    for (const array of results) {
      const code = await array.toPython()
      const theirs = await peer!.script(code)
      if ('refused' in theirs) throw new Error(`${code} fails: ${theirs.refused}`)
      const values = array.dims.length === 0 ? [await array.get()] : await array.values()
      try {
        expectSame(array, values as ArrayLike<unknown>, theirs, ['tas', 'lat'].some((each) => ds.get(each).dtype === 'float32')) // biome-ignore format: one line
      } catch (error) {
        throw new Error(`${code}: ${(error as Error).message}`)
      }
    }
  })

  test.each(FORMS)('means of times of %s are times', async (form) => {
    await using ds = await openDataset(join(folder, `${name}${form}`))
    const seen = ds.get('seen')
    const results = [
      seen.mean(),
      seen.mean({ axis: 'time' }),
      seen.mean({ axis: 'time', skipMissing: false }),
      seen.groupBy('time.year').mean(),
      seen.resample({ time: 'MS' }).mean(),
      seen.coarsen({ time: 2, level: 3 }).mean(),
      seen.sel({ level: 850 }).max(),
      ds.get('time').mean(),
    ]
    for (const array of results) {
      const code = await array.toPython()
      const theirs = await peer!.script(code)
      if ('refused' in theirs) throw new Error(`${code} fails: ${theirs.refused}`)
      const { calendar } = ds.get('time').variable.index!.kind
      const instant = (time: unknown): bigint =>
        time === null || time === NAT ? NAT : parseTimeLabel(time as CFTime | string | bigint, calendar!).start
      // Dates have milliseconds.
      const times = array.dtype === 'timestamp_ns' ? (await array.array.toTensor()).data : await array.dates()
      const [own, other] = [Array.from(times, instant), theirs.values.map(instant)]
      expect(own.length, code).toBe(other.length)
      // xarray sums floats, and cftime has microseconds.
      const isNear = (mean: bigint, i: number): boolean => (mean - other[i]!) ** 2n <= 10n ** 6n
      expect(own.filter((mean, i) => !isNear(mean, i)), code).toEqual([]) // biome-ignore format: one line
    }
  })

  test('text in long form has the rows and columns that pandas has', async () => {
    const path = join(folder, `${name}.nc`)
    await using ds = await openDataset(path)
    for (const variable of ['tas', 'ua', undefined]) {
      // All together are as many rows as all dimensions have positions: of some times.
      const [own, theirs] = [variable === undefined ? ds : ds.get(variable), await peer!.table(path, variable)]
      const [mine, other] = [parseCSV(await textOf(own.toCSV())), parseCSV(theirs)]
      expect(mine.length).toBe(other.length)
      expect(new Set(Object.keys(mine[0]!))).toEqual(new Set(Object.keys(other[0]!)))
      const key = (row: Row): string => ['time', 'level', 'lat', 'lon'].map((dim) => field(row[dim])).join()
      const rows = new Map(other.map((row) => [key(row), row]))
      for (const row of mine) {
        const found = rows.get(key(row)) ?? { missing: key(row) }
        for (const column of Object.keys(row)) if (field(row[column]) !== field(found[column])) expect(row).toEqual(found)
      }
    }
  })

  test.each(FORMS)('what xarray has written to %s is the same when it is written as a container', async (form) => {
    await using ds = await openDataset(join(folder, `${name}${form}`))
    await using raw = await openDataset(join(folder, `${name}${form}`), { decode: false })
    const place = { store: new MemoryStore(), path: 'x.af' }
    expect((await ds.write(place)).warnings).toEqual([])
    await using back = await openDataset(place)
    expect(back.toString()).toBe(ds.toString())
    await using rawBack = await openDataset(place, { decode: false })
    for (const [own, other] of [[ds, back], [raw, rawBack]] as const) // biome-ignore format: one line
      for (const array of [...Object.values(own.variables), ...Object.values(own.coords)]) {
        const found = other.get(array.name)
        expect(await found.values(), array.name).toEqual(await array.values())
        // Zarr encodes what is missing as text.
        const { _FillValue: fill, ...attrs } = array.attrs
        expect(found.attrs, array.name).toMatchObject(typeof fill === 'number' ? { _FillValue: fill, ...attrs } : attrs)
        expect(found.encoding, array.name).toEqual(array.encoding)
      }
  })
})
